"""Tune the decision rule of a trained model, and store it in the model's folder.

Shapes: N documents, L labels that the model knows, U labels of the split that it does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from seq2set.config.catalog import is_better
from seq2set.core.errors import CorpusError, InputError
from seq2set.core.progress import Progress, Silent
from seq2set.corpora.open_corpus import is_unsplit
from seq2set.corpora.seen_texts import Digests, Documents, SeenTexts, select_unseen
from seq2set.evaluation.measure import BATCH
from seq2set.inference.model_card import render_model_card
from seq2set.inference.model_folder import read_seen, renew_model
from seq2set.inference.predictor import Predictor
from seq2set.labels.best_rule import LEAST, TunedRule, find_best_rule, refuse_unknown, score_rule
from seq2set.labels.metrics import Counts
from seq2set.labels.rules import Rule, RuleKind
from seq2set.models.predictions import Request, Scores, withhold_scores
from seq2set.models.tagger import Tagger
from seq2set.workflows.evaluate import open_measured
from seq2set.workflows.train import describe_change
from seq2set.workflows.training_corpus import (
    TrainingCorpus,
    find_training_corpus,
    is_training_corpus,
    open_training_corpus,
    reopen_corpus,
)
from seq2set.workflows.training_data import load_training_data

PREVIOUS = "before_tuning"
"""Where a model keeps the rule that it had before it was tuned last, and what was recorded of it."""

_OF_RULE = ("validation", "per_label", "tuned")


class TuningDocuments(NamedTuple):
    """The documents to tune on, and their names for the model card."""

    data: str
    split: str
    part: Documents
    digests: Digests
    remarks: list[str]
    """What the user must know of them"""
    own: bool = False
    """Whether they are those that the training validated on."""


class ScoredDocuments(NamedTuple):
    """The scores that a model gives documents, and their true labels."""

    scores: Scores  # (N, L), -inf in documents of which the model knows no word
    right: csr_matrix  # (N, L + U)
    names: tuple[str, ...]
    """Of the L + U labels"""

    def counts(self, rule: Rule) -> Counts:
        """Count what a rule decides; labels that the model does not know are misses, as for `evaluate`."""
        return Counts.of_known(rule.decide(self.scores), self.right)


def open_documents(
    predictor: Predictor,
    trained: TrainingCorpus,
    seen: SeenTexts,
    data: str | None,
    split: str | None,
    progress: Progress,
) -> TuningDocuments:
    """Open what to tune on: a split, by default valid, of the model's own corpus or another one, or a file.

    Another plain file is taken whole where no split of it is named. Documents that the model was trained
    on are left out: those that it has memorised do not show where a threshold should lie.
    """
    named, split, part, fingerprint, own, remarks = _open_source(trained, data, split, progress)
    changed = describe_change(predictor.metadata, named, fingerprint)
    if own and changed is not None and data is None:
        raise CorpusError(
            f"{changed}; put it back as it was, or name the documents to tune on with --data", named
        )
    validated_on = split == "valid" and changed is None
    chosen = select_unseen(
        part,
        seen._replace(tuned=None),
        () if validated_on else ("trained",),
        same_corpus=changed is None,
        changed=changed if own else None,
    )
    if not len(chosen.part):
        raise CorpusError(
            f"the model was trained on all {len(part):,} documents, so none is left to tune on; name others "
            "with --data",
            named,
        )
    said = [*remarks, *chosen.overlap.sentences()]
    return TuningDocuments(named, split, chosen.part, chosen.digests(), said, validated_on)


class _OpenedSource(NamedTuple):
    name: str
    split: str
    part: Documents
    fingerprint: str
    own: bool
    remarks: Sequence[str] = ()
    """What the user must know of the corpus and was not told yet"""


def _open_source(
    trained: TrainingCorpus, data: str | None, split: str | None, progress: Progress
) -> _OpenedSource:
    own = data is None or is_training_corpus(trained, data)
    if data and not own and split is None and is_unsplit(data):
        whole = open_measured(trained, data, None)
        return _OpenedSource(whole.corpus, whole.split, whole.part, whole.fingerprint, own, whole.remarks)
    another = trained.describe_other(data)
    corpus = reopen_corpus(trained, data) if own else open_training_corpus(another)
    if own and split in (None, "valid"):
        # Without a validation split, these are the documents that the training set aside, the same again.
        aside = load_training_data(corpus, progress)[1]
        return _OpenedSource(corpus.name, "valid", aside, corpus.fingerprint, own)
    part = corpus.split(split or "valid")
    if not len(part):
        raise CorpusError(
            f"the split '{part.name}' is empty, so there is nothing to tune on; prepare the corpus with one "
            "(seq2set data prepare --valid 0.1), or name a file with --data, which is taken whole",
            corpus.folder,
        )
    return _OpenedSource(corpus.name, part.name, part, corpus.fingerprint, own, corpus.remarks)


def score_documents(tagger: Tagger, part: Documents, search: str, progress: Progress) -> ScoredDocuments:
    """Score every document once."""
    labels, scores, sets = tagger.labels.with_unseen(part.iter_labels()), [], []
    with progress.stage("score", len(part)) as advance:
        for documents in part.iter_batches(BATCH):
            answer = tagger.infer([document.text for document in documents], Request(search=search))
            if answer.rule is None:
                raise InputError(f"search is '{search}', which needs no rule; only 'marginal' can have one")
            scores.append(withhold_scores(answer.scores, answer.known))
            sets += [document.labels for document in documents]
            advance(len(documents))
    return ScoredDocuments(np.concatenate(scores), labels.indicator(sets), labels.names)


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
    split: str | None = None,
    search: str | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> TunedModel:
    """Find the rule of a kind that is best for a metric; put it into the model's folder where it is better.

    It is found on the validation split of the model's own corpus, on a split of another one, or on the
    whole of another plain file, without the documents that the model was trained on; see `find_best_rule` for
    the kinds. Labels that fewer than `LEAST` of the documents have take the threshold that is best for all
    labels together. Of a decoder's searches a rule decides `marginal` only.

    The present rule is kept unless the new one is better on documents held out in turn from its tuning, and
    not worse on all of them. A `dry_run` stores nothing; `undo_rule` gives the model its rule of before.
    """
    refuse_unknown(kind, metric)
    progress = progress or Silent()
    predictor = Predictor.open(model)
    tagger = predictor.tagger
    seen = read_seen(model)
    trained = find_training_corpus(model, predictor, columns)
    documents = open_documents(predictor, trained, seen, data, split, progress)
    for sentence in documents.remarks:
        progress.note(sentence)
    if not set(tagger.labels.names) & {label for labels in documents.part.iter_labels() for label in labels}:
        raise _build_refusal("none of the labels", documents)  # to give no label at all would look best
    scored = score_documents(tagger, documents.part, search or "marginal", progress)
    if np.isneginf(scored.scores).all():
        raise _build_refusal("no word", documents)  # every rule gives them the same, nothing
    found = find_best_rule(kind, scored.scores, scored.right, metric)
    _report(found, tagger, progress)
    before, after = (scored.counts(rule).metrics() for rule in (tagger.rule, found.rule))
    if reason := _find_reason_to_keep(found, tagger.rule, scored, metric):
        progress.note(reason)
        return TunedModel(tagger.rule.kind, tagger.rule, before, before, len(documents.part), kept=True)
    tuned = TunedModel(found.rule.kind, found.rule, before, after, len(documents.part))
    if not dry_run:
        _store(model, predictor, tuned, documents, metric, seen, scored)
    return tuned


def undo_rule(model: Path) -> Rule:
    """Give a model the rule that it had before it was tuned last, with the figures of then, and return it."""
    predictor = Predictor.open(model)
    metadata = dict(predictor.metadata)
    if PREVIOUS not in metadata:
        raise InputError(
            f"{model} was not tuned since its training or the last --undo; there is no rule to go back to"
        )
    previous = metadata.pop(PREVIOUS)
    metadata.pop("tuned")
    rule = Rule.from_dict(previous.pop("rule"))
    _renew(model, predictor, rule, metadata | previous)
    return rule


def _find_reason_to_keep(found: TunedRule, present: Rule, scored: ScoredDocuments, metric: str) -> str | None:
    """Return why the present rule is kept, or None where the one that was found is better."""
    if found.rule == present:
        return "the model has this rule already"
    now, then = (scored.counts(rule).metrics()[metric] for rule in (present, found.rule))
    held_out = found.held_out[found.rule.kind]
    fair = score_rule(present, scored.scores, scored.right, metric)
    if is_better(held_out, fair, metric) and not is_better(now, then, metric):
        return None
    return (
        f"a rule that gives {found.rule.describe()} is not better: {metric} {held_out:.4f} on documents held "
        f"out in turn and {then:.4f} on all, where the present rule has {fair:.4f} and {now:.4f}"
    )


def _build_refusal(known: str, documents: TuningDocuments) -> CorpusError:
    these = f"the model knows {known} of these {len(documents.part):,} documents"
    return CorpusError(f"{these}, so that there is nothing to tune on", documents.data)


def _store(
    model: Path,
    predictor: Predictor,
    tuned: TunedModel,
    documents: TuningDocuments,
    metric: str,
    seen: SeenTexts,
    scored: ScoredDocuments,
) -> None:
    renewed = documents.own and predictor.tagger.rule_decides(Request())
    record = {
        "metric": metric,
        "data": documents.data,
        "split": documents.split,
        "documents": tuned.documents,
        "before": tuned.before[metric],
        "after": tuned.after[metric],
        "validation_renewed": renewed,
    }
    previous = {name: predictor.metadata[name] for name in _OF_RULE if name in predictor.metadata}
    previous["rule"] = predictor.tagger.rule.to_dict()
    metadata: dict[str, Any] = predictor.metadata | {"tuned": record, PREVIOUS: previous}
    if renewed:
        metadata["validation"] = tuned.after
        per_label = scored.counts(tuned.rule).per_label(scored.names)
        metadata["per_label"] = [label._asdict() for label in per_label]
    _renew(model, predictor, tuned.rule, metadata, seen.add_tuned(documents.digests))


def _renew(
    model: Path, predictor: Predictor, rule: Rule, metadata: dict[str, Any], seen: SeenTexts | None = None
) -> None:
    state = predictor.tagger.state()
    facts = dict(state.fitted) | {"rule": rule.to_dict()}
    card = render_model_card(state.config, metadata, facts)
    renew_model(model, facts=facts, metadata=metadata, card=card, seen=seen)


def _report(found: TunedRule, tagger: Tagger, progress: Progress) -> None:
    if len(found.held_out) > 1:
        tried = ", ".join(f"{kind} {value:.4f}" for kind, value in found.held_out.items())
        progress.note(f"on documents held out in turn: {tried}")
    if found.rare:
        progress.note(
            f"labels in fewer than {LEAST} of the documents: {found.rare} of {len(tagger.labels)}; they take "
            "the threshold that is best for all labels together"
        )
    if not tagger.rule_decides(Request()):
        progress.note(
            f"the model searches by '{tagger.config.search.name}', which needs no rule; "
            "pass --search marginal to evaluate and predict by this one"
        )
