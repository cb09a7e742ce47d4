"""The corpus of a training: opened as its settings say, and found again when the model is measured.

The settings hold what the user typed, which may be a path relative to a working directory that nobody knows
later. A run therefore records the absolute path as well, and a digest of the files: from another directory a
file of the same name is not taken for the run's own, and a copy of the own file is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from seq2set.config import Config, load_config
from seq2set.config.provenance import Provenance, read_provenance
from seq2set.config.run_folder import RunFolder, recall_defaults
from seq2set.config.schema import DataSettings
from seq2set.core.errors import CorpusError, InputError
from seq2set.core.text_utils import count_things, shorten
from seq2set.corpora.open_corpus import hash_content, list_formats, open_configured, read_headers
from seq2set.corpora.prepared import PreparedCorpus, is_prepared
from seq2set.corpora.readers import build_read_options
from seq2set.corpora.readers.cells.columns import clean_labels, has_column
from seq2set.corpora.readers.options import find_label_columns
from seq2set.inference.model_folder import find_model_folder, read_settings
from seq2set.inference.predictor import Predictor

UNSAID = {"split": "auto", "valid": "", "test": "", "encoding": DataSettings().encoding}
"""Settings of `data` for another corpus, where a training's own say nothing of it"""


class TrainingCorpus(NamedTuple):
    """The corpus that a model was trained on: how it was named, and what the run recorded of it."""

    data: DataSettings
    path: str = ""
    """Absolute; empty for a known corpus, and where nothing was recorded"""
    digest: str = ""
    """Of a plain file, or of the files of an AAPD folder"""
    fingerprint: str = ""
    """Of the corpus that was made of them"""
    columns: Mapping[str, str] | None = None
    """Settings of `data` that were asked for when the model is measured"""
    labels: Sequence[str] = ()
    """Of the model, each of which must have a column in another file where labels are columns"""

    def describe_other(self, corpus: str) -> DataSettings:
        """Return how another corpus is read, which need not have this one's groups, splits and encoding."""
        typed = self.columns or {}
        data = self.data.model_copy(update={"corpus": corpus, **UNSAID, **typed})
        # What an object of JSON leaves out it does not have.
        if not {"labels", "label_columns"} & set(typed) and "jsonl" not in list_formats(corpus):
            _refuse_missing_columns(data, self.labels)
        return data if "group" in typed else drop_absent_group(data)


def find_training_corpus(
    model: Path, predictor: Predictor, columns: Mapping[str, str] | None = None
) -> TrainingCorpus:
    """Say what a model was trained on; earlier versions, and models outside of a run, know its name only.

    `columns` are settings of `data`, such as `text`, for a file whose columns have other names.
    """
    data = predictor.tagger.config.data.model_copy(update=dict(columns or {}))
    fingerprint = str(predictor.metadata.get("corpus", {}).get("fingerprint", ""))
    begun, labels = _read_record(model), predictor.tagger.labels.names
    if begun is None or begun.fingerprint != fingerprint:
        return TrainingCorpus(data, fingerprint=fingerprint, columns=columns, labels=labels)
    return TrainingCorpus(data, begun.path, begun.digest, fingerprint, columns, labels)


def _refuse_missing_columns(data: DataSettings, labels: Sequence[str]) -> None:
    """Refuse a file whose labels are columns and that has none for a label: nobody may have looked for it."""
    headers = [one for one in read_headers(data) if find_label_columns(build_read_options(data), one)]
    missing = [label for label in labels if not all(has_column(clean_labels(one), label) for one in headers)]
    if len(missing) < len(labels) and missing:  # one without any has labels of another kind, or other labels
        said = f"the file has no column for {count_things(len(missing), 'label')} of the model: "
        advice = "add an empty one where no document has the label, or name those there are: --label-columns"
        raise CorpusError(f"{said}{shorten(', '.join(missing), 200)}; {advice}", data.corpus)


def describe_reading(data: DataSettings, corpus: PreparedCorpus) -> list[str]:
    """Say where the texts of a prepared corpus are read otherwise than the model reads what it is given."""
    is_plain = corpus.location is not None and corpus.location.digest  # files are read as the settings say
    if is_plain or corpus.was_stripped or not data.strip_html:
        return []
    return [
        f"the model reads texts without HTML, and those of {corpus.name} are taken as they stand: prepare it "
        "with --strip-html"
    ]


def drop_absent_group(data: DataSettings) -> DataSettings:
    """Return settings without the column of groups where files that they name do not have it."""
    headers = read_headers(data) if data.group and data.corpus else []
    there = bool(headers) and all(has_column(names, data.group) for names in headers)
    return data if there else data.model_copy(update={"group": ""})


def name_training_corpus(model: Path) -> str:
    """Return the path or the name of the corpus that a model was trained on; empty where neither is known."""
    begun = _read_record(model)
    return (begun.path if begun is not None else "") or read_settings(model).data.corpus


def _read_record(model: Path) -> Provenance | None:
    folder = find_model_folder(model).absolute()
    try:
        return read_provenance(folder.parent) if RunFolder(folder.parent).model == folder else None
    except InputError:  # a damaged record is none: the model itself is whole
        return None


def is_training_corpus(trained: TrainingCorpus, named: str) -> bool:
    """Say whether a name stands for the corpus that a model was trained on, in whatever way it is spelt."""
    path = Path(named)
    if not trained.path:
        typed = trained.data.corpus
        return bool(typed) and (named == typed or _is_same_file(path, Path(typed)))
    if _is_same_file(path, Path(trained.path)):
        return True
    if is_prepared(path):
        return PreparedCorpus.open(path).fingerprint == trained.fingerprint
    return bool(trained.digest) and hash_content(named) == trained.digest


def _is_same_file(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)


def reopen_corpus(trained: TrainingCorpus, named: str | None = None) -> PreparedCorpus:
    """Open the corpus that a model was trained on, or what was named and is known to be the same."""
    if named is None and trained.path and not (Path(trained.path).exists() or hash_content(trained.path)):
        # What has the corpus's name in this working directory will do, if it holds the same documents.
        try:
            corpus = open_training_corpus(trained.data)
        except InputError:
            corpus = None
        if corpus is None or corpus.fingerprint != trained.fingerprint:
            namesake = "" if corpus is None else f", and '{trained.data.corpus}' here is another one"
            raise InputError(
                "the corpus of the training cannot be opened, name one with --data: it is no longer at "
                f"{trained.path}{namesake}"
            )
        return corpus
    place = named or trained.path or trained.data.corpus
    try:
        return open_training_corpus(trained.data.model_copy(update={"corpus": place}))
    except InputError as error:
        raise InputError(
            f"the corpus of the training cannot be opened, name one with --data: {error}"
        ) from error


class Followed(NamedTuple):
    """The settings as a run was begun with them, and those by which its corpus is found now."""

    config: Config
    place: DataSettings


def follow_corpus(config: Config, out: Path, *, resume: bool, force: bool) -> Followed:
    """Find the corpus of a run that may go on, from whatever folder, and however its path is spelt now."""
    if force and resume:
        raise InputError("--force replaces a run and --resume goes on with it; give one of the two")
    if not resume:
        return Followed(config, config.data)
    run, begun = RunFolder(out), read_provenance(out)
    config = recall_defaults(run.config, config)
    if begun is None or not begun.path or not run.config.is_file():
        return Followed(config, config.data)
    typed, then = config.data.corpus, load_config(run.config).data.corpus
    if typed in ("", then) and not _is_same_file(Path(typed), Path(begun.path)):
        place = begun.path if Path(begun.path).exists() else typed
    elif _is_same_file(Path(typed), Path(begun.path)):
        place = typed
    else:
        return Followed(config, config.data)
    named = config.model_copy(update={"data": config.data.model_copy(update={"corpus": then})})
    return Followed(named, config.data.model_copy(update={"corpus": place}))


def adopt_reading(config: Config, corpus: PreparedCorpus) -> Config:
    """Return the settings of a model that is to read texts as those of its corpus were read."""
    if not corpus.was_stripped:
        return config
    return config.model_copy(update={"data": config.data.model_copy(update={"strip_html": True})})


def open_training_corpus(data: DataSettings) -> PreparedCorpus:
    """Open the corpus that the settings name."""
    if not data.corpus:
        raise InputError(
            "no corpus is named; pass --data with a folder, a file or the name of a known corpus"
        )
    return open_configured(data)
