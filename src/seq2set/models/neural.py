"""A trained network in use: texts in, label sets out, by any of the searches and on any runtime.

What runs the network, torch or ONNX Runtime, is behind `RuntimeNetwork`; nothing here needs either.

Letters: N texts, B of them at a time, K hypotheses per text, S labels, L labels in all, T words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from seq2set.config import Config
from seq2set.config.catalog import SCORING, SEARCHES
from seq2set.config.schema import SearchSettings
from seq2set.core.errors import InputError
from seq2set.core.hardware import limit_threads
from seq2set.core.names import is_installed
from seq2set.core.tensor_files import Forms
from seq2set.labels.confidence.acceptance import UNCALIBRATED, Confidence
from seq2set.labels.labels import Labels
from seq2set.labels.rules import Rule
from seq2set.models.predictions import Inference, Request, choose_rule, decide, withhold
from seq2set.models.prior import PriorModel, has_prior
from seq2set.models.tagger import ModelState, Outline, Tensors
from seq2set.nn.decoding.prefixes import Symbols
from seq2set.nn.decoding.searches import SearchResult, count_hypotheses
from seq2set.nn.pretrained.vector_features import count_cut_vectors, describe_vectors
from seq2set.nn.text_reader import TextReader, open_tokens
from seq2set.text.batches import pad_documents
from seq2set.text.cut_texts import Cut
from seq2set.text.reasons import Evidence, TextWords
from seq2set.text.tfidf import encode_blocks
from seq2set.text.vocabulary import Words

if TYPE_CHECKING:
    from seq2set.nn.encoders import OwnTokens  # loads torch

WORDS_AT_A_TIME = 16_384
"""Bounds the memory of a batch, however long its texts are."""
CELLS_AT_A_TIME = 2**24
"""Bounds it too, however many labels there are: texts x hypotheses x labels."""

NETWORK = "network/"
"""What the names of a network's own tensors begin with"""


class RuntimeOutput(Protocol):
    """What a network made of a batch of documents."""

    def search(self, name: str, settings: SearchSettings, least: int = 0) -> SearchResult:
        """Search the label sets by the search of this name, each of at least `least` labels."""

    def attributions(self, sequences: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """Return what each word adds to the logit of each label of sequences (B, S): (B, S, T)."""


class RuntimeNetwork(Protocol):
    """A network on a runtime."""

    @property
    def decodes(self) -> bool:
        """Whether there is a decoder to search; without one, scores are all there is."""

    @property
    def max_labels(self) -> int | None:
        """How many labels a decoder may emit."""

    def read(
        self,
        ids: npt.NDArray[np.int64],
        lengths: npt.NDArray[np.int64],
        margins: npt.NDArray[np.float32] | None = None,
    ) -> RuntimeOutput:
        """Read documents (B, T) of `lengths` (B,) words, with a prior's margins (B, L) where there is one."""

    def tensors(self) -> Tensors:
        """Return its weights."""


class _Block(NamedTuple):
    """Texts that are read together, by their numbers among all texts."""

    places: npt.NDArray[np.int64]
    output: RuntimeOutput
    known: npt.NDArray[np.bool_]
    """Whether a word of each text is known (B,)"""
    margins: npt.NDArray[np.float32] | None = None
    """Of the prior (B, L)"""


class ScoredSets(NamedTuple):
    """Each label's score (N, L) and, of a network with a decoder, the sets (N, K, L) behind it."""

    scores: npt.NDArray[np.float32]
    drawn: npt.NDArray[np.bool_]
    known: npt.NDArray[np.bool_]
    """Whether a word of each text is known (N,)"""


@dataclass(frozen=True)
class NeuralTagger:
    """A trained network with everything that prediction needs."""

    config: Config
    words: Words
    labels: Labels
    network: RuntimeNetwork
    prior: PriorModel | None
    rule: Rule
    confidence: Confidence = UNCALIBRATED
    own: OwnTokens | None = None
    """The encoder's own tokens, where it does not read words"""

    @property
    def decodes(self) -> bool:
        """Whether the network has a decoder."""
        return self.network.decodes

    def with_confidence(self, confidence: Confidence, rule: Rule) -> NeuralTagger:
        """Return the same model with other probabilities, and a rule that fits them."""
        return replace(self, confidence=confidence, rule=rule)

    def infer(self, texts: Sequence[str], request: Request) -> Inference:
        """Search each text's label set, and score every label."""
        name, rule = self.find_search(request), self._rule(request)
        scores = np.zeros((len(texts), len(self.labels)), np.float32)
        chosen: list[npt.NDArray[np.intp]] = [np.empty(0, np.intp)] * len(texts)
        evidence: list[list[tuple[Evidence, ...]]] = [[] for _ in texts]
        known, margins = np.zeros(len(texts), bool), None if self.prior is None else np.zeros_like(scores)
        with limit_threads(self.config.threads):
            for block in self._blocks(texts, count_hypotheses(name, self.config.search)):
                found = block.output.search(name, self.config.search, request.min_labels)
                found = found._replace(scores=self.confidence.calibrate(name, found.scores, block.margins))
                scores[block.places], known[block.places] = found.scores, block.known
                if margins is not None:
                    margins[block.places] = block.margins
                given = withhold(self._choose_labels(found, request), block.known, request)
                for place, labels in zip(block.places, given, strict=True):
                    chosen[place] = labels
                if request.explain:
                    self._explain(block, texts, chosen, evidence, request.words_per_label)
        calibrated, accepted = name in self.confidence.calibrators, self.confidence.find_acceptance(name)
        reasons = evidence if request.explain else None
        return Inference(scores, chosen, reasons, rule, known, calibrated, accepted, margins)

    def draw_sets(self, texts: Sequence[str]) -> ScoredSets:
        """Score every label by its marginal, and return the sets that a decoder drew for that."""
        scores = np.zeros((len(texts), len(self.labels)), np.float32)
        drawn = np.zeros((len(texts), self.config.search.samples, len(self.labels)), bool)
        known = np.zeros(len(texts), bool)
        with limit_threads(self.config.threads):
            for block in self._blocks(texts, self.config.search.samples):
                found = block.output.search(SCORING, self.config.search)
                scores[block.places], known[block.places] = found.scores, block.known
                if found.drawn is not None:
                    drawn[block.places] = found.drawn
        return ScoredSets(scores, drawn, known)

    def count_cut(self, texts: Sequence[str]) -> Cut:
        """Count the texts that the network, or what makes vectors for the prior, does not read to the end."""
        vectors = Cut() if self.prior is None else count_cut_vectors(self.prior.features, texts)
        return self._reader.read(texts).cut + vectors

    @property
    def _reader(self) -> TextReader:
        return TextReader.build(self.config, self.words, self.own)

    def find_search(self, request: Request) -> str:
        """Return the search that a request uses; without a decoder each label's score is its marginal."""
        return (request.search or self.config.search.name) if self.decodes else SCORING

    def _rule(self, request: Request) -> Rule | None:
        """Return the rule that decides; a search that gives a set by itself leaves it nothing to decide."""
        search = self.find_search(request)
        if not SEARCHES[search].decides:
            return choose_rule(self.rule, request, len(self.labels))
        for name, value in (("threshold", request.threshold), ("top_k", request.top_k)):
            if value is not None:
                raise InputError(f"{name} is {value}, but search is '{search}'; it must be '{SCORING}' then")
        return None

    def _blocks(self, texts: Sequence[str], held: int) -> Iterator[_Block]:
        """Read texts of about the same length together, not more at once than fits into memory.

        A text takes the memory of the hypotheses that are `held` of it.
        """
        blocks = list(encode_blocks(self.words, texts))
        every = [one for block in blocks for one in np.split(block.ids, block.offsets[1:-1])]
        encoded, known, _ = self._reader.read(texts, every)
        margins = None
        if self.prior is not None:  # which reads the whole text, and words that have no vector
            margins, also_known = self.prior.read(blocks, texts)
            known |= also_known
        most = max(1, CELLS_AT_A_TIME // (held * (len(self.labels) + 1)))
        for index in _group_by_length(encoded, most):
            prior = None if margins is None else margins[index]
            output = self.network.read(*pad_documents(encoded, index), prior)
            yield _Block(index, output, known[index], prior)

    def _choose_labels(self, found: SearchResult, request: Request) -> list[npt.NDArray[np.intp]]:
        if found.sequences is None:
            return decide(found.scores, self.rule, request)
        return [row[: request.max_labels] for row in found.sequences]

    def _explain(
        self,
        block: _Block,
        texts: Sequence[str],
        chosen: list[npt.NDArray[np.intp]],
        evidence: list[list[tuple[Evidence, ...]]],
        most: int,
    ) -> None:
        """Name the words that add most to each label's logit.

        What the prior adds is exact and, measured by taking words away, says more than what the decoder read,
        which counts where there is no prior, and for labels that have no classifier in it.
        """
        needed = any((chosen[place] >= self._classifiers).any() for place in block.places)
        read = self._read_words(block, chosen) if needed else None
        for row, place in enumerate(block.places):
            words, given = TextWords.read(self.words, texts[place]), chosen[place].tolist()
            priors = self._weigh_prior(texts[place], given)
            added_by = None if read is None else self._reader.add_up(texts[place], words.spans, read[row])
            for step, (label, prior) in enumerate(zip(given, priors, strict=True)):
                added = added_by[step] if prior is None and added_by is not None else prior
                assert added is not None
                name = self.labels.names[label]
                evidence[place].append(words.pick_evidence(words.sum_words(added), name, most))

    @property
    def _classifiers(self) -> int:
        """How many of the labels, the first ones, have a classifier in the prior."""
        return 0 if self.prior is None else self.prior.scorer.weights.shape[1]

    def _read_words(self, block: _Block, chosen: Sequence[npt.NDArray[np.intp]]) -> npt.NDArray[np.float32]:
        """Return what each word that the network read adds to each label, (B, S, T)."""
        longest = max(len(chosen[place]) for place in block.places)
        padded = np.full((len(block.places), longest), Symbols(len(self.labels)).pad, np.int64)
        for labels, place in zip(padded, block.places, strict=True):
            labels[: len(chosen[place])] = chosen[place]
        return block.output.attributions(padded)

    def _weigh_prior(self, text: str, labels: Sequence[int]) -> Iterator[npt.NDArray[np.float64] | None]:
        """Yield what each word adds to each label by the prior, or None where that has no classifier.

        The network multiplies it by a number of the label, which all its words share.
        """
        if self.prior is None:
            yield from repeat(None, len(labels))
            return
        for label, added in zip(labels, self.prior.attributions(text, labels), strict=True):
            yield added if label < self._classifiers else None

    def state(self) -> ModelState:
        """Return what is saved of it."""
        tensors = {NETWORK + name: value for name, value in self.network.tensors().items()}
        facts: dict[str, Any] = {"rule": self.rule.to_dict(), "max_labels": self.network.max_labels}
        facts |= {"confidence": self.confidence.to_dict()}
        if self.prior is not None:
            tensors |= {**self.prior.scorer.tensors("prior/"), **self.prior.features.tensors("prior/")}
            facts |= describe_vectors(self.prior.features)
        files: dict[str, str] = {}
        if self.own is not None:
            facts, files = facts | self.own.facts(), self.own.files()
        return ModelState(self.config, self.words, self.labels, tensors, facts, files)

    @classmethod
    def list_forms(cls, outline: Outline, runtime: str) -> Forms:
        """Return the forms of what is saved of it; graphs have the network's own numbers in them."""
        forms = dict(PriorModel.list_forms(outline)) if has_prior(outline.config) else {}
        if runtime == "onnx" or not is_installed("torch"):
            return forms
        from seq2set.models.network import list_network_forms  # torch, late

        config, words, labels, fitted = outline
        own = list_network_forms(config, words, labels, fitted["max_labels"])
        return forms | {NETWORK + name: form for name, form in own.items()}

    @classmethod
    def from_state(cls, state: ModelState) -> NeuralTagger:
        """Restore from a saved state."""
        from seq2set.models.network import restore_networks  # torch, late

        sizes = len(state.words), len(state.labels), state.fitted["max_labels"]
        return cls.from_network(state, restore_networks(state.config, *sizes, list_network_weights(state)))

    @classmethod
    def from_network(cls, state: ModelState, network: RuntimeNetwork) -> NeuralTagger:
        """Restore from a saved state, on the runtime of a network."""
        prior = PriorModel.from_state(state) if has_prior(state.config) else None
        rule, own = Rule.from_dict(state.fitted["rule"]), open_tokens(state.config)
        confidence = Confidence.from_dict(state.fitted.get("confidence"))
        return cls(state.config, state.words, state.labels, network, prior, rule, confidence, own)


def list_network_weights(state: ModelState) -> dict[str, npt.NDArray[Any]]:
    """Return the network's own tensors by their names in it."""
    names = (name for name in state.tensors if name.startswith(NETWORK))
    return {name.removeprefix(NETWORK): state.tensors[name] for name in names}


def _group_by_length(encoded: Sequence[npt.NDArray[np.int32]], most: int) -> Iterator[npt.NDArray[np.int64]]:
    lengths = np.array([max(1, len(one)) for one in encoded], np.int64)
    order = np.argsort(lengths, kind="stable")
    start = 0
    for end in range(1, len(order) + 1):
        full = end - start == most
        if end == len(order) or full or (end + 1 - start) * lengths[order[end]] > WORDS_AT_A_TIME:
            yield order[start:end]
            start = end
