"""The most frequent labels left out: of the measurement, or of the corpus that models are trained on.

The paper's figures on robustness: the most frequent labels are left out, and models show what is left.

By evaluation alone: the labels that are gone do not count, whoever gave them. With `--retrain` the
models are trained again as well, on corpora in which those labels do not exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from seq2set.core.errors import InputError
from seq2set.corpora.documents import Document
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.subset import open_reduced_corpus
from seq2set.experiments.cells.cell import Cell, CellResult
from seq2set.experiments.options import Options, own_choice, own_numbers
from seq2set.experiments.render.report import Section, every_training
from seq2set.experiments.run import asked_corpus
from seq2set.experiments.studies import compare
from seq2set.experiments.studies.compare import row_cells
from seq2set.experiments.studies.removal_tables import (
    Remainder,
    Step,
    measured,
    removal_claims,
    removal_figures,
    removal_remarks,
    removal_tables,
)
from seq2set.labels.labels import Labels

PAPER_STEPS, PAPER_LABELS = (10, 20, 30, 40, 50, 60), 103
"""How many labels the paper leaves out, and how many its corpus RCV1-V2 has."""


def training_labels(corpus: PreparedCorpus) -> Labels:
    """Return the labels of the training split, the most frequent first."""
    return Labels.build(corpus.split("train").labels())


def removal_steps(options: Options, labels: int) -> tuple[int, ...]:
    """Return how many labels to leave out in turn: as asked, or the paper's shares of the labels."""
    asked = own_numbers(options, "steps")
    if asked is not None and asked[-1] >= labels:
        raise InputError(
            f"--option steps is '{options.extra['steps']}', but the corpus has {labels} labels; "
            f"at most {labels - 1} can be left out"
        )
    scaled = {round(step * labels / PAPER_LABELS) for step in PAPER_STEPS}
    steps = asked or tuple(sorted(step for step in scaled if 0 < step < labels))
    if not steps:
        raise InputError(f"the corpus has {labels} labels; there are too few to leave any out")
    return steps


def corpus_without(options: Options, corpus: PreparedCorpus, removed: tuple[str, ...]) -> PreparedCorpus:
    """Open the corpus without some labels, or make it; documents that keep no label are dropped."""
    gone = set(removed)

    def reduce(document: Document) -> Document | None:
        kept = tuple(label for label in document.labels if label not in gone)
        return document._replace(labels=kept) if kept else None

    name = f"{corpus.name}-without-{len(removed)}"
    how = {"labels left out": list(removed)}
    return open_reduced_corpus(corpus, options.out / "corpora" / name, reduce, name=name, how=how)


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
