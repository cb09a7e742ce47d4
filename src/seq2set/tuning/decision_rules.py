"""Tune the decision rule of a trained model, and store it in the model's folder.

Shapes: N documents, L labels that the model knows, U labels of the split that it does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from seq2set.config.catalog import SCORING, find_scoring_search, is_better
from seq2set.core.errors import CorpusError
from seq2set.core.progress import Progress, Silent
from seq2set.labels.best_rule import LEAST, TunedRule, find_best_rule, refuse_unknown, score_rule
from seq2set.labels.metrics import Counts
from seq2set.labels.rules import Rule, RuleKind
from seq2set.models.predictions import Request, Scores, is_decided_by_rule
from seq2set.models.tagger import Tagger
from seq2set.tuning.tunable_model import TunableModel, TuningDocuments
from seq2set.workflows.calibration import score_part


class ScoredDocuments(NamedTuple):
    """The scores that a model gives documents, and their true labels."""

    scores: Scores  # (N, L), -inf in documents of which the model knows no word
    right: csr_matrix  # (N, L + U)
    names: tuple[str, ...]
    """Of the L + U labels"""

    def counts(self, rule: Rule) -> Counts:
        """Count what a rule decides; labels that the model does not know are misses, as for `evaluate`."""
        return Counts.of_known(rule.decide(self.scores), self.right)


class TunedModel(NamedTuple):
    """The rule that a model has now, and its metrics on the documents to tune on, before and after."""

    kind: RuleKind
    rule: Rule
    before: dict[str, float]
    after: dict[str, float]
    documents: int
    kept: bool = False
    """Whether no better rule was found, so that the model has the one that it had"""


def tune_rule(
    model: Path,
    *,
    kind: str = "best",
    metric: str = "micro_f1",
    data: str | None = None,
    columns: Mapping[str, str] | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> TunedModel:
    """Find the rule of a kind that is best for a metric; put it into the model's folder where it is better.

    It is found on the validation split of the model's own corpus or of another one, or on the whole of
    another plain file, without the documents that the model was trained on; see `find_best_rule` for the
    kinds. Labels that fewer than `LEAST` of the documents have take the threshold that is best for all
    labels together. Of a decoder's searches a rule decides those only that give no set.

    The present rule is kept unless the new one is better (`balanced`: in macro-F1) on documents held out in
    turn from its tuning, and not worse on all of them. A `dry_run` stores nothing; `undo_rule` gives the
    model its rule of before.
    """
    refuse_unknown(kind, metric)
    progress = progress or Silent()
    opened = TunableModel.open(model, data, columns, progress)
    tagger, documents = opened.predictor.tagger, opened.documents
    if not set(tagger.labels.names) & {label for labels in documents.part.iter_labels() for label in labels}:
        raise _build_refusal("none of the labels", documents)  # to give no label at all would look best
    search = find_scoring_search(tagger.find_search(Request()))
    part = score_part(tagger, documents.part, search, progress)  # every document once
    names = tagger.labels.with_unseen(documents.part.iter_labels()).names
    scored = ScoredDocuments(part.withheld, part.right, names)
    if np.isneginf(scored.scores).all():
        raise _build_refusal("no word", documents)  # every rule gives them the same, nothing
    found = find_best_rule(
        kind,
        scored.scores,
        scored.right,
        metric,
        frequencies=tagger.labels.frequencies,
        groups=documents.groups,
    )
    _report(found, tagger, progress)
    before, after = (scored.counts(rule).metrics() for rule in (tagger.rule, found.rule))
    aim = "macro_f1" if kind == "balanced" else metric
    if reason := _find_reason_to_keep(found, tagger.rule, scored, metric, aim, documents.groups):
        progress.note(reason)
        return TunedModel(tagger.rule.kind, tagger.rule, before, before, len(documents.part), kept=True)
    tuned = TunedModel(found.rule.kind, found.rule, before, after, len(documents.part))
    if not dry_run:
        if tagger.confidence.acceptance is not None:
            progress.note(
                "which labels may be accepted unseen was found for another rule; run tune --thresholds "
                f"{model} --accept precision={tagger.confidence.acceptance.precision:g} again"
            )
        # What was tested for other labels than it gives now goes.
        changed = tagger.with_confidence(replace(tagger.confidence, acceptance=None), tuned.rule)
        opened.store(changed, _describe_change(tagger, tuned, documents, metric, scored))
    return tuned


def _find_reason_to_keep(
    found: TunedRule,
    present: Rule,
    scored: ScoredDocuments,
    metric: str,
    aim: str,
    groups: Sequence[str] | None,
) -> str | None:
    """Return why the present rule is kept, or None where the one that was found is better by `aim`."""
    if found.rule == present:
        return "the model has this rule already"
    now, then = (scored.counts(rule).metrics()[aim] for rule in (present, found.rule))
    held_out = (found.held_out if aim == metric else found.macro_f1)[found.kind]
    fair = score_rule(present, scored.scores, scored.right, metric, aim=aim, groups=groups)
    if is_better(held_out, fair, aim) and not is_better(now, then, aim):
        return None
    return (
        f"a rule that gives {found.rule.describe()} is not better: {aim} {held_out:.4f} on documents held "
        f"out in turn and {then:.4f} on all, where the present rule has {fair:.4f} and {now:.4f}"
    )


def _build_refusal(known: str, documents: TuningDocuments) -> CorpusError:
    these = f"the model knows {known} of these {len(documents.part):,} documents"
    return CorpusError(f"{these}, so that there is nothing to tune on", documents.data)


def _describe_change(
    tagger: Tagger, tuned: TunedModel, documents: TuningDocuments, metric: str, scored: ScoredDocuments
) -> dict[str, Any]:
    renewed = documents.own and is_decided_by_rule(tagger, Request())
    records: dict[str, Any] = {
        "tuned": {
            "metric": metric,
            "data": documents.data,
            "split": documents.split,
            "documents": tuned.documents,
            "before": tuned.before[metric],
            "after": tuned.after[metric],
            "validation_renewed": renewed,
        }
    }
    if renewed:
        records["validation"] = tuned.after
        per_label = scored.counts(tuned.rule).per_label(scored.names)
        records["per_label"] = [label._asdict() for label in per_label]
    return records


def _report(found: TunedRule, tagger: Tagger, progress: Progress) -> None:
    if len(found.held_out) > 1:
        tried = ", ".join(f"{kind} {value:.4f}" for kind, value in found.held_out.items())
        progress.note(f"on documents held out in turn: {tried}")
    if found.rare:
        progress.note(
            f"labels in fewer than {LEAST} of the documents: {found.rare} of {len(tagger.labels)}; they take "
            "the threshold that is best for all labels together"
        )
    if not is_decided_by_rule(tagger, Request()):
        progress.note(
            f"the model searches by '{tagger.config.search.name}', which needs no rule; "
            f"pass --search {SCORING} to evaluate and predict by this one"
        )
