"""The paper's figures on robustness: the most frequent labels are left out, and models show what is left.

By evaluation alone: the labels that are gone do not count, whoever gave them. With `--option retrain=yes` the
models are trained again as well, on corpora in which those labels do not exist.
"""

from __future__ import annotations

from collections.abc import Sequence

from seq2set.config.catalog import MODELS
from seq2set.core.errors import InputError
from seq2set.core.text_utils import count_things
from seq2set.corpora.documents import Document
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.subset import open_reduced_corpus
from seq2set.experiments.analysis.comparison import RowKey, summarize_rows
from seq2set.experiments.analysis.margins import (
    ABOVE,
    BELOW,
    NOT_BELOW,
    Claim,
    Contrast,
    ModelPair,
    Pair,
    estimate_contrasts,
    format_points,
    judge_claims,
    subtract,
    subtract_pairs,
)
from seq2set.experiments.options import Options
from seq2set.experiments.render.report import Section
from seq2set.experiments.studies.removal_tables import (
    RemovalStep,
    list_margins,
    make_removal_tables,
    measure_step,
    plot_removal,
)
from seq2set.experiments.studies.study import Study, StudyData, Variant, make_cells, make_plain_variants
from seq2set.labels.labels import Labels

PAPER_STEPS, PAPER_LABELS = (10, 20, 30, 40, 50, 60), 103
"""How many labels the paper leaves out, and how many its corpus RCV1-V2 has."""

_CLAIMED = {"seq2seq": ("becomes larger", ABOVE), "br": ("does not decrease", NOT_BELOW)}
"""What the paper says of the advantage over a baseline, and how its change must be for that."""


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
    found = make_plain_variants(options)
    for step in list_steps(options, len(labels)):
        if options.read("retrain") == "yes":
            setting = f'data.corpus="{remove_labels(options, corpus, labels.names[:step]).folder}"'
            for model in options.models:
                cells = make_cells(options, model, f"{model}-without-{step}", setting)
                found.append(Variant(RowKey(model, str(step)), cells))
    return found


def _report(data: StudyData) -> list[Section]:
    labels = Labels.build(data.options.open_corpus().split("train").labels())
    steps = (0, *list_steps(data.options, len(labels)))
    rows = {step: [row for row in data.rows if int(row.key.variant or 0) == step] for step in steps}
    found = []
    if whole := rows[0]:
        known = whole[0].results[0].answers.names
        gone = {step: set(labels.names[:step]) for step in steps}
        left = {step: [name for name in known if name not in gone[step]] for step in steps}
        done = [measure_step(step, summarize_rows(whole, labels=some), some) for step, some in left.items()]
        found.append(_report_steps(_EVALUATED, "remaining", "Micro-F1 on the labels that are left", done))
    if any(rows[step] for step in steps[1:]):
        done = [measure_step(step, summarize_rows(some)) for step, some in rows.items() if some]
        found.append(
            _report_steps(_RETRAINED, "retrained", "Micro-F1 of models that were trained anew", done)
        )
    return found


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


def _report_steps(question: tuple[str, str], name: str, title: str, steps: Sequence[RemovalStep]) -> Section:
    tables, figures = make_removal_tables(name, title, steps), plot_removal(name, steps)
    changes = [change for _, change in _compare_margins(steps, claimed=False)]
    found = tuple(f"T{one.text_with_interval()[1:]}, {one.verdict}." for one in changes)
    return Section(*question, found, tables, figures, tuple(_judge(steps)))


def _judge(steps: Sequence[RemovalStep]) -> list[Claim]:
    """Judge what the paper says by how the models fare from the first step to the last."""
    first, last = steps[0], steps[-1]
    changes = {
        model: Pair(last.summaries[model], row)
        for model, row in first.summaries.items()
        if model in last.summaries
    }
    where = f"without the {last.removed} most frequent labels: "
    falls = estimate_contrasts([(MODELS[model].title, subtract(*pair)) for model, pair in changes.items()])
    found = judge_claims("the performance of all models deteriorates", falls, BELOW, where)
    found += judge_claims("Seq2Seq loses more than the other methods", _compare_losses(changes), ABOVE, where)
    for pair, change in _compare_margins(steps, claimed=True):
        said, expected = _CLAIMED[pair.other]
        found += judge_claims(f"the advantage of {first.margins[pair].title} {said}", [change], expected)
    return found


def _compare_losses(changes: dict[str, Pair]) -> list[Contrast]:
    """Test by how much more Seq2Seq loses than each other model."""
    if "seq2seq" not in changes:
        return []
    loss = f"the loss of {MODELS['seq2seq'].title} over that of"
    wanted = [
        (f"{loss} {MODELS[model].title}", subtract_pairs(change, changes["seq2seq"]))
        for model, change in changes.items()
        if model != "seq2seq"
    ]
    return estimate_contrasts(wanted)


def _compare_margins(steps: Sequence[RemovalStep], *, claimed: bool) -> list[tuple[ModelPair, Contrast]]:
    """Test how margins change from the first step to the last: those that the paper claims, or the others."""
    pairs = [pair for pair in list_margins(steps) if (pair.other in _CLAIMED) is claimed]
    wanted = []
    for pair in pairs:
        first, last = steps[0].margins[pair], steps[-1].margins[pair]
        ends = f"from {format_points(first.points)} to {format_points(last.points)} points"
        title = f"the margin of {first.title}, {ends}, changes by"
        wanted.append((title, subtract_pairs(last.pair, first.pair)))
    return list(zip(pairs, estimate_contrasts(wanted), strict=True))


STUDY = Study(
    title="When the most frequent labels are left out",
    variants=_make_variants,
    name_row=lambda key: MODELS[key.model].title,  # the columns say what is left out
    more=_report,
)
