"""The paper's case study: documents on which the models disagree, with what each of them gave.

With `--option texts=hidden` the texts are left out, for corpora whose licence forbids to quote them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Literal, NamedTuple

import numpy as np

from seq2set.config.catalog import MODELS
from seq2set.core.errors import InputError
from seq2set.experiments.analysis.comparison import list_units, measure_ratio, refuse_different_documents
from seq2set.experiments.cells.predictions import Answers, Sets
from seq2set.experiments.options import Options
from seq2set.experiments.render.report import Section
from seq2set.experiments.render.tables import Column, Row, Table
from seq2set.experiments.studies.disagreement import (
    POOL,
    SHORT,
    average_profiles,
    choose_cases,
    count_missed,
    count_pairs_kept,
    describe_agreement,
    judge_cases,
    make_profile_table,
    measure_distances,
    profile_errors,
)
from seq2set.experiments.studies.study import Study, StudyData, Variant, make_plain_variants
from seq2set.labels.correlation import CorrelatedLabels

COLOURS = ("#a8d8f0", "#f7cf8a", "#98dcc4", "#ecc3da", "#f5ee9b", "#f3b896")
"""The colours of the letters A to F, after which they begin again: tints of Okabe's and Ito's."""


class Mark(NamedTuple):
    """A label as it stands in a case; the letter tells which labels go together, where any do."""

    label: str
    kind: Literal["true", "right", "wrong", "missed"]
    letter: str | None

    @property
    def sign(self) -> str:
        """What stands before a label that is wrong or missed."""
        return {"wrong": "✗ ", "missed": "○ "}.get(self.kind, "")

    @property
    def colour(self) -> str | None:
        """The colour of its letter; what is missed stays without."""
        if self.letter is None or self.kind == "missed":
            return None
        return COLOURS[ascii_uppercase.index(self.letter) % len(COLOURS)]

    def text(self) -> str:
        """Return the label with its signs, for print without colours."""
        return f"{self.sign}{self.label}{f' ({self.letter})' if self.letter else ''}"


@dataclass(frozen=True)
class Case:
    """One document with its labels in order."""

    number: int
    id: str
    text: str | None
    """None where texts are not to be shown"""
    actual: tuple[str, ...]
    given: Mapping[str, tuple[str, ...]]
    """What each model gave, in its order, by the model's title"""
    letters: Mapping[str, str]

    def lines(self) -> Iterator[tuple[str, list[Mark]]]:
        """Give the true labels, then a line per model: what it gave, and after that what it missed."""
        yield "True labels", [self._mark(label, "true") for label in self.actual]
        for model, labels in self.given.items():
            given = [self._mark(label, "right" if label in self.actual else "wrong") for label in labels]
            yield model, given + [self._mark(label, "missed") for label in self.actual if label not in labels]

    def _mark(self, label: str, kind: Literal["true", "right", "wrong", "missed"]) -> Mark:
        return Mark(label, kind, self.letters.get(label))


def _name_labels(answers: Answers, sets: Sets, place: int) -> tuple[str, ...]:
    return tuple(answers.names[label] for label in sets.row(place))


def _make_variants(options: Options) -> list[Variant]:
    if len(options.models) < 2:
        raise InputError(f"--models has {options.models[0]} alone; it must name two models that can disagree")
    return make_plain_variants(options)


def _report(data: StudyData) -> list[Section]:
    refuse_different_documents(data.results)
    train = data.options.open_corpus().split("train").labels()
    correlated = CorrelatedLabels(train, data.options.read("correlation"))
    cases = _make_cases(data, correlated)
    return [_compare_as_a_whole(data, correlated), _show(data.options, cases), _list(cases)]


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
        claims=tuple(judge_cases(missed, kept)),
    )


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
        given = {MODELS[model].title: _name_labels(one, one.chosen, place) for model, one in answers.items()}
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


def _list(cases: Sequence[Case]) -> Section:
    rows = []
    for case in cases:
        for place, (name, marks) in enumerate(case.lines()):
            labels = ", ".join(mark.text() for mark in marks) or "no label"
            rows.append(Row(f"{case.number}. {name}", (labels,), ruled=not place))
    ids = ", ".join(f"{case.number}: {case.id}" for case in cases)
    caption = f"✗ wrong, ○ missed; labels of one letter go together. The documents are {ids}."
    columns, rows_are = (Column("Labels in order"),), "Given by"
    table = Table("cases", "The cases as a table", columns, tuple(rows), caption, rows_are, worded=True)
    return Section("The cases once more", "The same labels without colours, for texts.", tables=(table,))


STUDY = Study(title="Documents on which the models disagree", variants=_make_variants, more=_report)
