"""How faithful reasons are: what becomes of a label's score without its words, and with them alone.

Words are taken away from a text in the order in which the model names them for a label: 1, 5, 10, 20 and 50
per cent of the text's different words, each with all its occurrences. The mean fall of the score is the
*comprehensiveness* of the reasons: high where the words named are the ones that count. Where only these words
are left, the mean fall is the *sufficiency*: low where they are enough. Both are areas over the perturbation
curve (DeYoung et al., ERASER, 2020). As many words drawn at random say what any words would do.

Shapes: C labels of documents, P points of the curve.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from seq2set.core.text_utils import Span
from seq2set.labels.intervals import Interval, find_reach
from seq2set.models.predictions import Inference, Request
from seq2set.models.tagger import Tagger
from seq2set.text.reasons import EVERY_WORD, Evidence
from seq2set.text.vocabulary import Words

POINTS = (0.01, 0.05, 0.1, 0.2, 0.5)
"""Which shares of a text's different words are taken away or left."""
LABELS = 3
"""Maximum labels per document, drawn at random: a long set must not weigh more."""
_TEXTS_AT_A_TIME = 4096

Reals = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class WordedText:
    """A text and the words in it."""

    text: str
    places: list[Span]
    names: list[str]
    """The word at each place, in lower case"""

    @classmethod
    def read(cls, words: Words, text: str) -> WordedText:
        """Find the words of a text; marks are none."""
        spans = [span for span in words.spans(text) if any(map(str.isalnum, text[span.start : span.end]))]
        return cls(text, spans, [text[start:end].lower() for start, end in spans])

    @property
    def different(self) -> list[str]:
        """Each word once, in the order of the text."""
        return list(dict.fromkeys(self.names))

    def erase(self, gone: Collection[str]) -> str:
        """Return the text without all occurrences of these words."""
        parts, end = list[str](), 0
        for (start, stop), name in zip(self.places, self.names, strict=True):
            if name in gone:
                parts.append(self.text[end:start])
                end = stop
        return "".join([*parts, self.text[end:]])

    def list_named(self, evidence: Iterable[Evidence]) -> list[str]:
        """Return the words that evidence names, in its order; phrases give theirs one by one."""
        named: dict[str, None] = {}
        for one in evidence:
            for (start, stop), name in zip(self.places, self.names, strict=True):
                if one.start <= start and stop <= one.end:
                    named.setdefault(name)
        return list(named)


class Ranking(NamedTuple):
    """The words of a document that are named for one of its labels, the strongest first."""

    document: int
    label: int
    words: Sequence[str]


class Falls(NamedTuple):
    """By how much scores fall on the average over the curve, (C,) each."""

    comprehensiveness: Reals
    sufficiency: Reals


class Figure(NamedTuple):
    """A mean over documents with its 95 % interval."""

    value: float
    interval: Interval

    @classmethod
    def of(cls, values: Reals, documents: Ints) -> Figure:
        """Average values (C,) within their documents (C,), then over these; the interval is by t."""
        _, of = np.unique(documents, return_inverse=True)
        means = np.bincount(of, values) / np.bincount(of)
        mean, error = float(means.mean()), float(means.std()) / len(means) ** 0.5
        reach = error * find_reach(len(means)) if len(means) > 1 else np.inf
        return cls(mean, Interval(mean - reach, mean + reach))


@dataclass(frozen=True)
class Faithfulness:
    """How faithful a model's reasons are, and what they cost."""

    documents: int
    labels: int
    """How many labels of these documents were explained"""
    cost: float
    """How many times the CPU time of a prediction one with reasons takes"""
    comprehensiveness: Figure
    sufficiency: Figure
    random_comprehensiveness: Figure
    random_sufficiency: Figure

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        figures = {name: value for name, value in vars(self).items() if isinstance(value, Figure)}
        return {
            "documents": self.documents,
            "labels": self.labels,
            **{name: round(figure.value, 6) for name, figure in figures.items()},
            "intervals": {name: figure.interval.list_bounds() for name, figure in figures.items()},
            "cost": round(self.cost, 2),
        }


def measure_faithfulness(
    tagger: Tagger, texts: Sequence[str], request: Request | None = None
) -> Faithfulness | None:
    """Measure the reasons that a model gives for its labels of texts; nothing where it gives none."""
    plain = replace(request or Request(), explain=False)
    explained = replace(plain, explain=True)
    began = time.process_time()
    tagger.infer(texts, plain)
    between = time.process_time()
    tagger.infer(texts, explained)
    cost = (time.process_time() - between) / max(between - began, 1e-9)
    worded = [WordedText.read(tagger.words, text) for text in texts]
    generator = np.random.default_rng(1)
    found = tagger.infer(texts, replace(explained, words_per_label=EVERY_WORD))
    rankings = list(_rank_named(worded, found, generator))
    if not rankings:
        return None
    documents = np.array([one.document for one in rankings])
    own = measure_rankings(tagger, worded, rankings, plain)
    drawn = measure_rankings(tagger, worded, rank_random(worded, rankings, generator), plain)
    figures = (Figure.of(falls, documents) for falls in (*own, *drawn))
    return Faithfulness(len(np.unique(documents)), len(rankings), cost, *figures)


def _rank_named(
    texts: Sequence[WordedText], found: Inference, generator: np.random.Generator
) -> Iterator[Ranking]:
    """Give what is named for some labels of each document; a label without a word says nothing."""
    evidence = found.evidence or [[] for _ in texts]
    for document, (labels, reasons) in enumerate(zip(found.chosen, evidence, strict=True)):
        drawn = np.sort(generator.permutation(len(labels))[:LABELS]).tolist()
        for place in drawn:
            words = texts[document].list_named(one for one in reasons[place] if one.weight > 0)
            if words:
                yield Ranking(document, int(labels[place]), words)


def measure_rankings(
    tagger: Tagger, texts: Sequence[WordedText], rankings: Sequence[Ranking], request: Request
) -> Falls:
    """Return how far scores fall without the ranked words, and with these alone."""
    label = np.array([one.label for one in rankings], np.int64)
    document = np.array([one.document for one in rankings], np.int64)
    before = score_texts(tagger, [one.text for one in texts], request)[document, label]
    falls = []
    for keep in (False, True):
        changed = []
        for one in rankings:
            text, different = texts[one.document], texts[one.document].different
            for share in POINTS:
                taken = set(one.words[: max(1, round(share * len(different)))])
                changed.append(text.erase(set(different) - taken if keep else taken))
        columns = np.repeat(label, len(POINTS))
        after = score_cells(tagger, changed, columns, request).reshape(-1, len(POINTS))  # (C, P)
        falls.append((before[:, None] - after).mean(axis=1))
    return Falls(*falls)


def score_texts(tagger: Tagger, texts: Sequence[str], request: Request) -> Reals:
    """Return every label's score for every text."""
    return np.asarray(tagger.infer(texts, request).scores, np.float64)


def score_cells(tagger: Tagger, texts: Sequence[str], columns: Ints, request: Request) -> Reals:
    """Return one label's score for each text, and hold all labels' scores of a few texts only."""
    parts = [np.zeros(0)]
    for start in range(0, len(texts), _TEXTS_AT_A_TIME):
        block = slice(start, start + _TEXTS_AT_A_TIME)
        scores = score_texts(tagger, texts[block], request)
        parts.append(scores[np.arange(len(scores)), columns[block]])
    return np.concatenate(parts)


def rank_random(
    texts: Sequence[WordedText], rankings: Sequence[Ranking], generator: np.random.Generator
) -> list[Ranking]:
    """Return as many words for each label as it has, drawn from the text at random."""
    found = []
    for document, label, words in rankings:
        drawn = generator.permutation(texts[document].different)[: len(words)]
        found.append(Ranking(document, label, drawn.tolist()))
    return found
