"""The paper's figures on robustness: the most frequent labels are left out, and models show what is left.

By evaluation alone: the labels that are gone do not count, whoever gave them. With `--retrain` the
models are trained again as well, on corpora in which those labels do not exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from seq2set.experiments import compare
from seq2set.experiments.asked import asked_corpus
from seq2set.experiments.cells import Cell, CellResult
from seq2set.experiments.compare import row_cells
from seq2set.experiments.frequent_labels import corpus_without, removal_steps, training_labels
from seq2set.experiments.options import Options
from seq2set.experiments.own_numbers import own_choice
from seq2set.experiments.removal import Remainder, Step, measured
from seq2set.experiments.removal_tables import removal_figures, removal_tables
from seq2set.experiments.removal_verdicts import removal_claims, removal_remarks
from seq2set.experiments.sections import Section, every_training

TITLE = "When the most frequent labels are left out"


def cells(options: Options) -> list[Cell]:
    """Return the cells of the comparison and, where asked for, one more for each step."""
    found = compare.cells(options)
    corpus = asked_corpus(options)
    labels = training_labels(corpus)
    steps = removal_steps(options, len(labels))  # named wrongly, they are refused before the first training
    if _retrains(options):
        for step in steps:
            reduced = corpus_without(options, corpus, labels.names[:step])
            data = f'data.corpus="{reduced.folder}"'
            found += [c for m in options.models for c in row_cells(options, m, _row(m, step), data)]
    return found


def sections(options: Options, results: Sequence[CellResult]) -> list[Section]:
    """Measure on what is left, and say what became of the leads."""
    labels = training_labels(asked_corpus(options))
    steps = removal_steps(options, len(labels))
    whole = [one for one in results if one.row in options.models]
    found = []
    if whole:
        gone = {step: set(labels.names[:step]) for step in (0, *steps)}
        left = [Remainder(step, whole, _without(whole[0], some)) for step, some in gone.items()]
        found.append(_by_evaluation(_measured(left)))
    again = [Remainder(step, _retrained(options, results, step)) for step in steps]
    if any(one.results for one in again):
        found.append(_by_training(_measured([Remainder(0, whole), *again])))
    return [*found, every_training(results)]


def _retrains(options: Options) -> bool:
    return own_choice(options, "retrain", ("no", "yes")) == "yes"


def _row(model: str, step: int) -> str:
    return f"{model}-without-{step}"


def _without(result: CellResult, gone: set[str]) -> list[str]:
    return [name for name in result.answers.names if name not in gone]


def _retrained(options: Options, results: Sequence[CellResult], step: int) -> list[CellResult]:
    """Return the cells of one step under the names of their models."""
    models = {_row(model, step): model for model in options.models}
    return [replace(one, row=models[one.row]) for one in results if one.row in models]


def _measured(remainders: Sequence[Remainder]) -> list[Step]:
    return [measured(one) for one in remainders if one.results]


def _by_evaluation(steps: Sequence[Step]) -> Section:
    return Section(
        "The same models, fewer labels counted",
        "The models are trained on all labels. What remains of their micro-F1, and of the leads over the "
        "baselines, when the most frequent labels are left out of the measurement?",
        tuple(removal_remarks(steps)),
        removal_tables("remaining", "Micro-F1 on the labels that are left", steps),
        removal_figures("remaining", steps),
        tuple(removal_claims(steps)),
    )


def _by_training(steps: Sequence[Step]) -> Section:
    return Section(
        "Models that never saw the frequent labels",
        "The models are trained again on corpora from which the most frequent labels are gone. Documents "
        "that keep no label are dropped, from training and from the measurement, which is therefore on fewer "
        "documents than above. How do the models fare?",
        tuple(removal_remarks(steps)),
        removal_tables("retrained", "Micro-F1 of models that were trained anew", steps),
        removal_figures("retrained", steps),
        tuple(removal_claims(steps)),
    )
