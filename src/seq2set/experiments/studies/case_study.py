"""The paper's case study: documents on which the models disagree, with what each of them gave.

With `--option texts=hidden` the texts are left out, for corpora whose licence forbids to quote them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from seq2set.core.errors import InputError
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.experiments.analysis.comparison import measured, refuse_different_documents, units_of
from seq2set.experiments.analysis.margins import Claim
from seq2set.experiments.analysis.statistics import Floats, Measured
from seq2set.experiments.cells.cell import Cell, CellResult
from seq2set.experiments.cells.predictions import Answers
from seq2set.experiments.model_names import title_of
from seq2set.experiments.options import Options, own_choice, own_number, own_share
from seq2set.experiments.render.report import Section, every_training
from seq2set.experiments.render.tables import Column, Row, Table
from seq2set.experiments.run import asked_corpus
from seq2set.experiments.studies import compare
from seq2set.experiments.studies.case_picture import case_plot
from seq2set.experiments.studies.cases import Case, make_case
from seq2set.experiments.studies.disagreement import (
    POOL,
    SHORT,
    Habits,
    agreement_verdicts,
    choose,
    distances,
    habit_claims,
    habits,
    habits_table,
    mean_habits,
    missed,
    pairs_kept,
)
from seq2set.labels.correlation import THRESHOLD, CorrelatedLabels

TITLE = "Documents on which the models disagree"

CASES, SEED = 3, 1
"""How many documents are shown, as in the paper, and the seed that draws them."""


def cells(options: Options) -> list[Cell]:
    """Return the cells of the comparison: nothing else is trained."""
    if len(options.models) < 2:
        raise InputError(f"--models has {options.models[0]} alone; it must name two models that can disagree")
    _shows_texts(options)
    own_number(options, "cases", CASES)
    own_number(options, "seed", SEED)
    own_share(options, "correlation", THRESHOLD)
    return compare.cells(options)


def sections(options: Options, results: Sequence[CellResult]) -> list[Section]:
    """Show how the models differ, and documents on which they do."""
    refuse_different_documents(results)
    answers: dict[str, Answers] = {}
    for one in results:
        answers.setdefault(one.row, one.answers)  # of several seeds the first one speaks
    corpus = asked_corpus(options)
    correlated = CorrelatedLabels(
        corpus.split("train").labels(), own_share(options, "correlation", THRESHOLD)
    )
    pairs = correlated.pairs()
    rows = {row: [one for one in results if one.row == row] for row in answers}
    found = {row: mean_habits([habits(one.answers, pairs) for one in cells]) for row, cells in rows.items()}
    cases = _cases(options, answers, correlated, corpus, results[0].facts["split"])
    claims = habit_claims(
        {row: _measured(cells, missed) for row, cells in rows.items()},
        {
            row: _measured(cells, lambda one: pairs_kept(one, pairs))
            for row, cells in rows.items()
            if found[row].pairs is not None
        },
    )
    whole = _as_a_whole(answers, found, claims)
    return [whole, _shown(options, cases), _listed(cases), every_training(results)]


def _measured(results: Sequence[CellResult], parts: Callable[[Answers], Floats]) -> Measured:
    return measured(results, [parts(one.answers) for one in results], units_of(results))


def _cases(
    options: Options,
    answers: Mapping[str, Answers],
    correlated: CorrelatedLabels,
    corpus: PreparedCorpus,
    split: str,
) -> list[Case]:
    first = next(iter(answers.values()))
    part = corpus.split(split)
    texts = dict(zip(part.ids(), part.texts(), strict=True))
    apart = list(distances(answers).values())
    places = choose(
        np.mean(apart, axis=0) if apart else np.zeros(len(first.ids)),
        [len(texts[one].split()) for one in first.ids],
        np.diff(first.actual.ends).tolist(),
        cases=own_number(options, "cases", CASES),
        seed=own_number(options, "seed", SEED),
    )
    named = {title_of(row): one for row, one in answers.items()}
    shown = [texts[first.ids[place]] if _shows_texts(options) else None for place in places]
    return [
        make_case(number, place, named, text, correlated)
        for number, (place, text) in enumerate(zip(places, shown, strict=True), start=1)
    ]


def _shows_texts(options: Options) -> bool:
    return own_choice(options, "texts", ("shown", "hidden")) == "shown"


def _as_a_whole(
    answers: Mapping[str, Answers], found: Mapping[str, Habits], claims: Sequence[Claim]
) -> Section:
    first = next(iter(answers.values()))
    true_labels = float(np.diff(first.actual.ends).mean())
    return Section(
        "How the models differ",
        "How often do the models give different sets, and what do they leave out? Of several seeds, the "
        "first one speaks of the distances between models, and the rest is their mean.",
        tuple(agreement_verdicts(distances(answers))),
        (habits_table(found, true_labels),),
        claims=tuple(claims),
    )


def _shown(options: Options, cases: Sequence[Case]) -> Section:
    threshold = own_share(options, "correlation", THRESHOLD)
    caption = (
        "The labels stand in the order in which each model gave them; ✗ wrong, ○ missed. Labels of one "
        f"colour and letter go together (a correlation of at least {threshold:g} on the training split)."
    )
    return Section(
        "Cases",
        "What do the models give to documents on which they disagree? The score of a document is the mean "
        f"Jaccard distance between the models' sets, lessened for texts of more than {SHORT} words; those "
        f"that are shown were drawn among the highest, {POOL} times as many. Who is right played no part.",
        figures=tuple(case_plot(case, caption) for case in cases),
    )


def _listed(cases: Sequence[Case]) -> Section:
    rows = [
        Row(
            f"{case.number}. {name}",
            (", ".join(mark.text() for mark in marks) or "no label",),
            ruled=not place,
        )
        for case in cases
        for place, (name, marks) in enumerate(case.lines())
    ]
    ids = ", ".join(f"{case.number}: {case.id}" for case in cases)
    table = Table(
        "cases",
        "The cases as a table",
        (Column("Labels in order"),),
        tuple(rows),
        f"✗ wrong, ○ missed; labels of one letter go together. The documents are {ids}.",
        rows_are="Given by",
        worded=True,
    )
    return Section("The cases once more", "The same labels without colours, for texts.", tables=(table,))
