"""The paper's case study: documents on which the models disagree, with what each of them gave.

Two sets of labels differ by their Jaccard distance: the share of the labels in either that are not in both.
A document's disagreement is the mean distance over all pairs of models. Its score is that, lessened for long
texts, which nobody would read in a figure: times 120 over the number of words, where it has more than that.
The cases are drawn, with a seed, among the documents of the highest scores, ten times as many as are wanted;
those with fewer than two true labels are left aside, as they show nothing of labels that go together. Which
model is right is not looked at.

With `--option texts=hidden` the texts are left out, for corpora whose licence forbids to quote them.

Shapes: N documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from seq2set.config.catalog import MODELS
from seq2set.core.errors import InputError
from seq2set.experiments.analysis.comparison import list_units, measure_ratio, refuse_different_documents
from seq2set.experiments.analysis.margins import ABOVE, BELOW, Contrast, ModelPair, estimate_contrasts
from seq2set.experiments.analysis.statistics import Floats, MeasuredRatio
from seq2set.experiments.cells.predictions import Answers, Sets
from seq2set.experiments.options import Options
from seq2set.experiments.render.cases import Case, ErrorProfile, make_cases_table, make_profile_table
from seq2set.experiments.render.report import Section
from seq2set.experiments.studies.study import ClaimRule, Study, StudyData, Variant, make_plain_variants
from seq2set.labels.correlation import CorrelatedLabels

SHORT = 120
"""Words that a text may have before its score is lessened."""

POOL = 10
"""Documents to draw from, for each one that is wanted."""


def _make_variants(options: Options) -> list[Variant]:
    if len(options.models) < 2:
        raise InputError(f"--models has {options.models[0]} alone; it must name two models that can disagree")
    return make_plain_variants(options)


def _report(data: StudyData) -> Iterator[Section]:
    refuse_different_documents(data.results)
    train = data.options.open_corpus().split("train").labels()
    correlated = CorrelatedLabels(train, data.options.read("correlation"))
    yield _compare_as_a_whole(data, correlated)
    # Single documents settle no claim: those that are shown were chosen, to be read.
    cases = _make_cases(data, correlated)
    yield _show(data.options, cases)
    asked, table = "The same labels without colours, for texts.", make_cases_table(cases)
    yield Section("The cases once more", asked, tables=(table,))


def _take_first_seeds(data: StudyData) -> dict[str, Answers]:
    return {row.key.model: row.results[0].answers for row in data.rows}


def _compare_as_a_whole(data: StudyData, correlated: CorrelatedLabels) -> Section:
    answers, pairs = _take_first_seeds(data), correlated.pairs()
    profiles = {
        row.key.model: average_profiles([profile_errors(one.answers, pairs) for one in row.results])
        for row in data.rows
    }
    units = list_units(data.results)
    true_labels = float(np.diff(data.results[0].answers.actual.ends).mean())
    missed, kept = {}, {}
    for (model, _), _, results in data.rows:
        missed[model] = measure_ratio(results, [count_missed(one.answers) for one in results], units)
        if profiles[model].pairs is not None:
            counts = [count_pairs_kept(one.answers, pairs) for one in results]
            kept[model] = measure_ratio(results, counts, units)
    return Section(
        "How the models differ",
        "How often do the models give different sets, and what do they leave out? Distances between models "
        "are those of the first seed; the rest is the mean over seeds.",
        tuple(describe_agreement(measure_distances(answers))),
        (make_profile_table(profiles, true_labels),),
        claims=data.judge(Habits(missed, kept)),
    )


def measure_distances(answers: Mapping[str, Answers]) -> dict[ModelPair, Floats]:
    """Return how much each pair of models differs on each document, (N,) from 0 to 1."""
    names = list(dict.fromkeys(name for one in answers.values() for name in one.names))
    sets = {model: _align(one, names) for model, one in answers.items()}
    return {ModelPair(a, b): _measure_jaccard(sets[a], sets[b]) for a, b in combinations(sets, 2)}


def _align(answers: Answers, names: Sequence[str]) -> csr_matrix:
    """Return the sets with a column for each of the names, whatever order the model has them in."""
    places = {name: place for place, name in enumerate(names)}
    columns = np.array([places[name] for name in answers.names], np.int64)
    return answers.chosen._replace(labels=columns[answers.chosen.labels]).matrix(len(names))


def _measure_jaccard(one: csr_matrix, other: csr_matrix) -> Floats:
    both, mine, theirs = (
        np.asarray(matrix.sum(axis=1), np.float64).ravel() for matrix in (one.multiply(other), one, other)
    )
    either = mine + theirs - both
    distance: Floats = 1 - np.divide(both, either, out=np.ones_like(either), where=either > 0)
    return distance


def choose_cases(
    disagreement: Floats, words: Sequence[int], true_labels: Sequence[int], *, cases: int, seed: int
) -> list[int]:
    """Return the documents of the cases, the highest score first."""
    score = disagreement * np.minimum(1.0, SHORT / np.maximum(words, 1))
    allowed = np.asarray(true_labels) >= 2
    if allowed.sum() < cases:
        allowed[:] = True
    order = np.argsort(-score, kind="stable")
    pool = order[allowed[order]][: POOL * cases]
    drawn = np.random.default_rng(seed).choice(len(pool), min(cases, len(pool)), replace=False)
    return [int(pool[place]) for place in sorted(drawn)]


def profile_errors(answers: Answers, pairs: Iterable[tuple[str, str]]) -> ErrorProfile:
    """Measure one model's answers."""
    right, given, actual = (np.asarray(one, np.float64) for one in answers.counts())
    exact = (right == given) & (right == actual)
    kept, begun = count_pairs_kept(answers, pairs).sum(axis=0)
    return ErrorProfile(
        given=float(given.mean()),
        missed=float((actual - right).mean()),
        wrong=float((given - right).mean()),
        exact=float(exact.mean()),
        pairs=float(kept / begun) if begun else None,
    )


def average_profiles(found: Sequence[ErrorProfile]) -> ErrorProfile:
    """Return the mean over the trainings of one row."""
    known = [[value for value in column if value is not None] for column in zip(*found, strict=True)]
    return ErrorProfile(*(float(np.mean(column)) if column else None for column in known))  # type: ignore[arg-type]


def count_missed(answers: Answers) -> Floats:
    """Return how many true labels each document misses, and 1 for the document, (N, 2)."""
    right, _, actual = answers.counts()
    return np.stack([actual - right, np.ones(len(actual))], axis=1)


def count_pairs_kept(answers: Answers, pairs: Iterable[tuple[str, str]]) -> Floats:
    """Return of how many pairs of each document's true labels both, and at least one, were given, (N, 2)."""
    places = {name: place for place, name in enumerate(answers.names)}
    given, actual = (one.matrix(len(places)).toarray() > 0 for one in (answers.chosen, answers.actual))
    counts = np.zeros((len(actual), 2))
    for one, other in ((places[a], places[b]) for a, b in pairs if a in places and b in places):
        true = actual[:, one] & actual[:, other]
        counts[:, 0] += true & given[:, one] & given[:, other]
        counts[:, 1] += true & (given[:, one] | given[:, other])
    return counts


def describe_agreement(distances: Mapping[ModelPair, Floats]) -> list[str]:
    """Say how often the models differ, and which of them are the most and the least alike."""
    if not distances:
        return ["Only one model finished; nothing to compare."]
    apart = np.stack(list(distances.values()))  # (pairs, N)
    means = {pair: float(one.mean()) for pair, one in distances.items()}
    closest, farthest = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    found = (
        f"On {100 * (apart > 0).any(axis=0).mean():.0f} % of the {apart.shape[1]:,} documents the models do "
        f"not all give the same set; two models differ by a Jaccard distance of {apart.mean():.2f}."
    )
    if len(distances) == 1:
        return [found]
    return [
        found,
        f"The most alike are {_join(closest)} ({means[closest]:.2f}), the least alike {_join(farthest)} "
        f"({means[farthest]:.2f}).",
    ]


def _join(pair: ModelPair) -> str:
    return " and ".join(MODELS[model].title for model in pair)


def _name_labels(answers: Answers, sets: Sets, place: int) -> tuple[str, ...]:
    return tuple(answers.names[label] for label in sets.row(place))


def _make_cases(data: StudyData, correlated: CorrelatedLabels) -> list[Case]:
    options, answers = data.options, _take_first_seeds(data)
    first = next(iter(answers.values()))
    part = options.open_corpus().split(data.results[0].facts["split"])
    texts = dict(zip(part.ids(), part.texts(), strict=True))
    apart = list(measure_distances(answers).values())
    places = choose_cases(
        np.mean(apart, axis=0) if apart else np.zeros(len(first.ids)),
        [len(texts[one].split()) for one in first.ids],
        np.diff(first.actual.ends).tolist(),
        cases=options.read("cases"),
        seed=options.read("seed"),
    )
    shown, cases = options.read("texts") == "shown", []
    for number, place in enumerate(places, start=1):
        name, actual = first.ids[place], _name_labels(first, first.actual, place)
        given = {model: _name_labels(one, one.chosen, place) for model, one in answers.items()}
        letters = correlated.groups([label for labels in (actual, *given.values()) for label in labels])
        cases.append(Case(number, name, texts[name] if shown else None, actual, given, letters))
    return cases


def _show(options: Options, cases: Sequence[Case]) -> Section:
    return Section(
        "Cases",
        "What do the models give to documents on which they disagree? The score of a document is the mean "
        f"Jaccard distance between the models' sets, lessened for texts of more than {SHORT} words; those "
        f"that are shown were drawn among the highest, {POOL} times as many. Which model is right is not "
        "considered.",
        (
            "The labels stand in the order in which each model gave them; ✗ wrong, ○ missed. Labels of one "
            f"colour and letter go together (a correlation of at least {options.read('correlation'):g} on "
            "the training split).",
            "The page index.html shows the documents in colour; the table below has the same labels.",
        ),
        cases=tuple(cases),
    )


class Habits(NamedTuple):
    """What the paper reads from its three cases, of all documents and by model."""

    missed: Mapping[str, MeasuredRatio]
    """True labels missed per document"""
    kept: Mapping[str, MeasuredRatio]
    """How many pairs of labels that go together are given as a whole"""


def _compare_with_ours(rival: str, measured: Mapping[str, MeasuredRatio], unit: str) -> list[Contrast]:
    """Test by how much a baseline lies above each of the paper's own models."""
    ours = [model for model in measured if rival in measured and not MODELS[model].is_baseline]
    terms = {model: [(1.0, measured[rival]), (-1.0, measured[model])] for model in ours}
    titled = [(f"{MODELS[rival].title} over {MODELS[model].title}", found) for model, found in terms.items()]
    return estimate_contrasts(titled, unit)


STUDY = Study(
    title="Documents on which the models disagree",
    variants=_make_variants,
    more=_report,
    claims=(
        ClaimRule(
            "Seq2Seq ends too early and leaves more true labels out than the Seq2Sets",
            ABOVE,
            lambda habits: _compare_with_ours("seq2seq", habits.missed, "labels missed per 100 documents"),
        ),
        ClaimRule(
            "BR, unlike the Seq2Sets, fails to see which labels go together",
            BELOW,
            lambda habits: _compare_with_ours("br", habits.kept, "points of pairs given as a whole"),
        ),
    ),
)
