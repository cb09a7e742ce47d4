"""The paper's figures on robustness: the most frequent labels are left out, and models show what is left.

By evaluation alone: the labels that are gone do not count, whoever gave them. With `--option retrain=yes` the
models are trained again as well, on corpora in which those labels do not exist.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial

from seq2set.config.catalog import MODELS
from seq2set.core.errors import InputError
from seq2set.core.text_utils import count_things
from seq2set.corpora.documents import Document
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.subset import open_reduced_corpus
from seq2set.experiments.analysis.comparison import RowKey, Summary, find_best_on_validation, summarize_rows
from seq2set.experiments.analysis.margins import (
    ABOVE,
    BELOW,
    NOT_BELOW,
    Contrast,
    Expectation,
    ModelPair,
    Pair,
    compare_pairs,
    compare_steps,
    estimate_contrasts,
    format_points,
    subtract_pairs,
)
from seq2set.experiments.options import Options
from seq2set.experiments.render.removal import RemovalStep, list_margins, make_removal_tables, plot_removal
from seq2set.experiments.render.report import Section
from seq2set.experiments.studies.study import ClaimRule, Study, StudyData, Variant, make_cells, make_variant
from seq2set.labels.labels import Labels

PAPER_STEPS, PAPER_LABELS = (10, 20, 30, 40, 50, 60), 103
"""How many labels the paper leaves out, and how many its corpus RCV1-V2 has."""

PAPER_RIVALS = ("br", "seq2seq")
"""The baselines that the paper draws the margin over."""


def list_steps(options: Options, labels: int) -> tuple[int, ...]:
    """Return how many labels to leave out in turn: as asked, or the paper's shares of the labels."""
    asked: tuple[int, ...] | None = options.read("steps")
    if asked is not None and asked[-1] >= labels:
        raise InputError(
            f"--option steps is '{options.extra['steps']}', but the corpus has {labels} labels; "
            f"at most {labels - 1} can be left out"
        )
    scaled = {round(step * labels / PAPER_LABELS) for step in PAPER_STEPS}
    steps = asked or tuple(sorted(step for step in scaled if 0 < step < labels))
    if not steps:
        raise InputError(
            f"the corpus has {count_things(labels, 'label')}; there are too few to leave any out"
        )
    return steps


def remove_labels(options: Options, corpus: PreparedCorpus, removed: tuple[str, ...]) -> PreparedCorpus:
    """Open the corpus without some labels, or make it; documents that keep no label are dropped."""
    gone = set(removed)

    def reduce(document: Document) -> Document | None:
        kept = tuple(label for label in document.labels if label not in gone)
        return document._replace(labels=kept) if kept else None

    name = f"{corpus.name}-without-{len(removed)}"
    how = {"labels left out": list(removed)}
    return open_reduced_corpus(corpus, options.out / "corpora" / name, reduce, name=name, how=how)


def _make_variants(options: Options) -> list[Variant]:
    """Return the rows of the comparison and, where asked for, as many more for each step."""
    corpus = options.open_corpus()
    labels = Labels.build(corpus.split("train").labels())
    found = [make_variant(options, model) for model in options.models]
    for step in list_steps(options, len(labels)):
        if options.read("retrain") == "yes":
            setting = f'data.corpus="{remove_labels(options, corpus, labels.names[:step]).folder}"'
            for model in options.models:
                cells = make_cells(options, model, f"{model}-without-{step}", setting)
                found.append(Variant(RowKey(model, str(step)), cells))
    return found


def measure_step(removed: int, rows: Sequence[Summary], labels: Collection[str] | None = None) -> RemovalStep:
    """Compare the models of one step, which were measured on the labels that are named, or on all."""
    baselines = [one for one in rows if one.is_baseline]
    best = find_best_on_validation(baselines)
    rivals = [one for one in baselines if one.model in PAPER_RIVALS or one is best]
    pairs = [Pair(one, other) for other in rivals for one in rows if not one.is_baseline]
    answers = rows[0].results[0].answers
    return RemovalStep(
        removed=removed,
        labels=len(answers.names) if labels is None else len(labels),
        occurrences=int(answers.counts(labels).actual.sum()),
        documents=len(answers.ids),
        summaries={one.model: one for one in rows},
        margins={ModelPair(*(row.model for row in one.pair)): one for one in compare_pairs(pairs)},
    )


def _report(data: StudyData) -> Iterator[Section]:
    labels = Labels.build(data.options.open_corpus().split("train").labels())
    steps = (0, *list_steps(data.options, len(labels)))
    rows = {step: [row for row in data.rows if int(row.key.variant or 0) == step] for step in steps}
    if whole := rows[0]:
        known = whole[0].results[0].answers.names
        gone = {step: set(labels.names[:step]) for step in steps}
        left = {step: [name for name in known if name not in gone[step]] for step in steps}
        done = [measure_step(step, summarize_rows(whole, labels=some), some) for step, some in left.items()]
        title = "Micro-F1 on the labels that are left"
        yield _report_steps(data, _EVALUATED, "remaining", title, done)
    if any(rows[step] for step in steps[1:]):
        done = [measure_step(step, summarize_rows(some)) for step, some in rows.items() if some]
        title = "Micro-F1 of models that were trained anew"
        yield _report_steps(data, _RETRAINED, "retrained", title, done)


_EVALUATED = (
    "The same models, fewer labels counted",
    "The models are trained on all labels. What remains of their micro-F1, and of the margins over the "
    "baselines, when the most frequent labels are left out of the measurement?",
)
_RETRAINED = (
    "Models that never saw the frequent labels",
    "The models are trained again on corpora from which the most frequent labels are gone. Documents that "
    "keep no label are dropped, from training and from the measurement, which is therefore on fewer "
    "documents than above. How do the models fare?",
)


def _report_steps(
    data: StudyData, question: tuple[str, str], name: str, title: str, steps: Sequence[RemovalStep]
) -> Section:
    tables, figures = make_removal_tables(name, title, steps), plot_removal(name, steps)
    unclaimed = [pair for pair in list_margins(steps) if pair.other not in PAPER_RIVALS]
    changes = _compare_margins(steps, unclaimed, "The margin")
    found = tuple(f"{one.text_with_interval()}, {one.verdict}." for one in changes)
    return Section(*question, found, tables, figures, data.judge(steps))


def _compare_ends(steps: Sequence[RemovalStep]) -> list[Contrast]:
    """Test by how much each model is better at the last step."""
    return compare_steps(steps[0].summaries, steps[-1].summaries)


def _compare_losses(steps: Sequence[RemovalStep]) -> list[Contrast]:
    """Test by how much more Seq2Seq loses than each other model."""
    first, last = steps[0].summaries, steps[-1].summaries
    changes = {model: Pair(last[model], row) for model, row in first.items() if model in last}
    if (own := changes.pop("seq2seq", None)) is None:
        return []
    loss = f"the loss of {own.ours.title} over that of"
    wanted = [(f"{loss} {one.ours.title}", subtract_pairs(one, own)) for one in changes.values()]
    return estimate_contrasts(wanted)


def _name_last(steps: Sequence[RemovalStep]) -> str:
    return f"without the {steps[-1].removed} most frequent labels: "


def _compare_margins(
    steps: Sequence[RemovalStep], pairs: Sequence[ModelPair], subject: str = "the margin"
) -> list[Contrast]:
    """Test how margins that are known at every step change from the first to the last."""
    wanted, known = [], list_margins(steps)
    for pair in (one for one in pairs if one in known):
        first, last = steps[0].margins[pair], steps[-1].margins[pair]
        ends = f"from {format_points(first.points)} to {format_points(last.points)} points"
        title = f"{subject} of {first.title}, {ends}, changes by"
        wanted.append((title, subtract_pairs(last.pair, first.pair)))
    return estimate_contrasts(wanted)


def _list_advantages(rival: str, says: str, expected: Expectation) -> Iterator[ClaimRule]:
    """Return what the paper says of the advantage over a baseline, of each of its own models."""
    for model, row in MODELS.items():
        if not row.is_baseline:
            text = f"the advantage of {row.title} over {MODELS[rival].title} {says}"
            yield ClaimRule(text, expected, partial(_compare_margins, pairs=[ModelPair(model, rival)]))


STUDY = Study(
    title="When the most frequent labels are left out",
    variants=_make_variants,
    name_row=lambda key: MODELS[key.model].title,  # the columns say what is left out
    more=_report,  # margins are of each step, and `MarginTable` of the rows as a whole
    claims=(
        ClaimRule("the performance of all models deteriorates", BELOW, _compare_ends, _name_last),
        ClaimRule("Seq2Seq loses more than the other methods", ABOVE, _compare_losses, _name_last),
        *_list_advantages("br", "does not decrease", NOT_BELOW),
        *_list_advantages("seq2seq", "becomes larger", ABOVE),
    ),
)
