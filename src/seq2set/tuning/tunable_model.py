"""A trained model that is tuned: the documents for it, what its folder keeps of the change, and the way back.

Whatever tuning changes in a model's folder is taken back in one step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from seq2set.core.errors import CorpusError, InputError
from seq2set.core.progress import Progress
from seq2set.corpora.carve import SHARE
from seq2set.corpora.open_corpus import is_unsplit
from seq2set.corpora.prepared import Split
from seq2set.corpora.seen_texts import Digests, Documents, SeenTexts, select_unseen
from seq2set.inference.model_card import render_model_card
from seq2set.inference.model_folder import read_seen, renew_model
from seq2set.inference.predictor import Predictor
from seq2set.labels.confidence.acceptance import Confidence
from seq2set.labels.rules import Rule
from seq2set.models.tagger import Tagger
from seq2set.workflows.evaluate import describe_cut_texts, open_measured
from seq2set.workflows.train import describe_change
from seq2set.workflows.training_corpus import (
    TrainingCorpus,
    describe_reading,
    find_training_corpus,
    is_training_corpus,
    open_training_corpus,
    reopen_corpus,
)
from seq2set.workflows.training_data import carve_validation, load_training_data, pool_documents

PREVIOUS = "before_tuning"
"""Where a model keeps what it had before it was tuned last, and what was recorded of it."""

_RECORDED = ("validation", "per_label", "tuned", "calibrated", "accepted")


class TuningDocuments(NamedTuple):
    """The documents to tune on, and their names for the model card."""

    data: str
    split: str
    part: Documents
    digests: Digests
    own: bool = False
    """Whether they are those that the training validated on."""
    groups: list[str] | None = None
    """Which of them belong together; None where nothing is known of it"""


class TunableModel(NamedTuple):
    """A model's folder, opened with the documents to tune on."""

    folder: Path
    predictor: Predictor
    seen: SeenTexts
    documents: TuningDocuments

    @classmethod
    def open(
        cls, folder: Path, data: str | None, columns: Mapping[str, str] | None, progress: Progress
    ) -> TunableModel:
        """Open a model with the validation split of its own corpus or of another one, or with a file.

        Another plain file is taken whole. Documents that the model was trained on are left out: those that it
        has memorised do not show where a threshold should lie.
        """
        predictor, seen = Predictor.open(folder), read_seen(folder)
        folds = predictor.metadata.get("cross_validation", {}).get("folds")
        source = _open_source(find_training_corpus(folder, predictor, columns), data, folds, progress)
        changed = describe_change(predictor.metadata, source.name, source.fingerprint)
        if changed is not None and data is None:
            raise CorpusError(
                f"{changed}; put it back as it was, or name the documents to tune on with --data", source.name
            )
        own = source.split == "valid" and changed is None
        # The training tuned on all of them but those that the model it began from had learnt.
        whole = own and not (source.carved and predictor.metadata.get("training", {}).get("began from"))
        chosen = select_unseen(
            source.part,
            seen._replace(tuned=None),
            () if whole else ("trained",),
            same_corpus=changed is None,
            changed=changed if source.own else None,
        )
        if not len(chosen.part):
            raise CorpusError(
                f"the model was trained on all {len(source.part):,} documents, so none is left to tune on; "
                "name others with --data",
                source.name,
            )
        cut = describe_cut_texts(predictor.tagger, chosen.part)
        for sentence in (*source.remarks, *chosen.overlap.sentences(), *cut):
            progress.note(sentence)
        part = source.part
        groups = part.groups() if isinstance(part, Split) else getattr(part, "groups", None)
        if groups is not None:
            groups = [one for one, stays in zip(groups, chosen.kept, strict=True) if stays]
        documents = TuningDocuments(source.name, source.split, chosen.part, chosen.digests, own, groups)
        return cls(folder, predictor, seen, documents)

    def store(self, tagger: Tagger, records: Mapping[str, Any]) -> None:
        """Put the model's new rule and confidence into its folder, with what is recorded of it."""
        present, metadata = self.predictor.tagger, self.predictor.metadata
        previous = {name: metadata[name] for name in _RECORDED if name in metadata}
        previous |= {"rule": present.rule.to_dict(), "confidence": present.confidence.to_dict()}
        metadata = {**metadata, **records, PREVIOUS: previous}
        if tagger.confidence.acceptance is None:
            metadata.pop("accepted", None)
        _renew(self.folder, tagger, metadata, self.seen.add_tuned(self.documents.digests))


class _OpenedSource(NamedTuple):
    name: str
    split: str
    part: Documents
    fingerprint: str
    own: bool
    remarks: Sequence[str] = ()
    """What the user must know of the corpus and was not told yet"""
    carved: bool = True
    """Whether they are others than a training learns from"""


def _open_source(
    trained: TrainingCorpus, data: str | None, folds: int | None, progress: Progress
) -> _OpenedSource:
    if data is None or is_training_corpus(trained, data):
        corpus = reopen_corpus(trained, data)
        # Where the training set them aside itself, they are the same again.
        if folds is None:
            found = load_training_data(corpus, progress)
        else:  # it learnt from all splits, after it was cross-validated
            found = carve_validation(pool_documents(corpus, folds), SHARE, corpus.seed)
        place = corpus.name, "valid", found.tune, corpus.fingerprint
        return _OpenedSource(*place, own=True, carved=found.is_carved)
    if is_unsplit(data):
        whole = open_measured(trained, data, None)
        return _OpenedSource(whole.corpus, whole.split, whole.part, whole.fingerprint, False, whole.remarks)
    corpus = open_training_corpus(trained.describe_other(data))
    part = corpus.split("valid")
    if not len(part):
        raise CorpusError(
            "the split 'valid' is empty, so there is nothing to tune on; prepare the corpus with one "
            "(seq2set data prepare --valid 0.1), or name a file with --data, which is taken whole",
            corpus.folder,
        )
    remarks = [*corpus.remarks, *describe_reading(trained.data, corpus)]
    return _OpenedSource(corpus.name, part.name, part, corpus.fingerprint, False, remarks)


def undo_rule(model: Path) -> Rule:
    """Give a model the rule and the calibration that it had before it was tuned last, and return the rule."""
    predictor = Predictor.open(model)
    metadata = dict(predictor.metadata)
    if PREVIOUS not in metadata:
        raise InputError(
            f"{model} was not tuned since its training or the last --undo; there is no rule to go back to"
        )
    previous = metadata.pop(PREVIOUS)
    for name in _RECORDED:
        metadata.pop(name, None)
    rule = Rule.from_dict(previous.pop("rule"))
    present = predictor.tagger.confidence
    # Folders of version 0.1.0 remember a rule alone.
    confidence = Confidence.from_dict(previous.pop("confidence", present.to_dict()))
    _renew(model, predictor.tagger.with_confidence(confidence, rule), metadata | previous)
    return rule


def _renew(model: Path, tagger: Tagger, metadata: Mapping[str, Any], seen: SeenTexts | None = None) -> None:
    state = tagger.state()
    card = render_model_card(state.config, metadata, state.fitted)
    renew_model(model, facts=state.fitted, metadata=metadata, card=card, seen=seen)
