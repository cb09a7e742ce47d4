"""The study: a folder with settings, a search space, and a database of trials that processes share.

::

    study.json    the corpus that the study was begun on
    config.toml   the settings that every trial starts from
    space.toml    the settings that trials vary
    study.db      the trials: their settings, validation scores and states
    corpus/       the corpus with a validation split, where one had to be carved
    trials/0000   one run folder per trial
    best.toml     the settings of the best trial, once all are done, with tables and a plot beside it
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import optuna
import tomli_w
from optuna.trial import TrialState

from seq2set.config import Config, load_config, write_toml
from seq2set.config.catalog import METRICS
from seq2set.config.provenance import read_provenance, refuse_other_corpus
from seq2set.config.run_folder import RunFolder, refuse_changes
from seq2set.core.disk import make_folder
from seq2set.core.errors import ConfigError, InputError
from seq2set.core.files import report_output_errors, write_json, write_text
from seq2set.core.outputs import refuse_occupied
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.inference.model_folder import read_metadata
from seq2set.tuning.space import Space, read_shipped_space, read_space

FORMAT = 1
"""The version of the layout of `study.json`."""
COMPLETE_BEFORE_PRUNING, LOOKS_BEFORE_PRUNING = 5, 2
"""A median of fewer trials, or a first score, says too little to prune a trial."""
DATABASE_SECONDS = 60
"""How long a process waits while others write to the database."""


class StudyFolder:
    """The paths of one study, as they stand above."""

    def __init__(self, path: Path):
        self.path, self.record, self.config = path, path / "study.json", path / "config.toml"
        self.space, self.corpus, self.best = path / "space.toml", path / "corpus", path / "best.toml"

    def run(self, number: int) -> RunFolder:
        """Return the run folder of a trial."""
        return RunFolder(self.path / "trials" / f"{number:04}")

    def name_worker_log(self, number: int) -> Path:
        """Return the file for the output of a worker process."""
        return self.path / f"worker-{number + 1}.log"

    def lock(self, name: str) -> Path:
        """Return a file for processes to lock."""
        return self.path / f".{name}.lock"


def start_study(
    folder: StudyFolder,
    config: Config,
    space: Path | None,
    corpus: PreparedCorpus,
    carve: float | None = None,
    *,
    resume: bool,
) -> Space:
    """Create a study in an empty folder, or resume one with the same settings, corpus and share to carve."""
    if folder.config.is_file():
        if not resume:
            raise InputError(
                f"{folder.path} holds a study already; pass --resume to continue it, or name another folder"
            )
        refuse_changes(folder.path, folder.config, config)
        _refuse_other_source(folder, corpus, carve)
        begun = read_space(folder.space, config)
        if space and read_space(space, config).parameters != begun.parameters:
            sentence = "was created with a different search space; pass the same --space"
            raise ConfigError([f"{folder.path} {sentence}"])
        return begun
    chosen = read_space(space, config) if space else read_shipped_space(config)
    refuse_occupied(folder.path)
    with report_output_errors(folder.path):
        make_folder(folder.path)
    facts = {"corpus": corpus.name, "fingerprint": corpus.fingerprint, "carve": carve}
    write_json(folder.record, {"format": FORMAT, **facts})
    write_text(folder.space, tomli_w.dumps(chosen.source))
    write_toml(config, folder.config)
    return chosen


def refuse_other_trials(folder: StudyFolder, corpus: PreparedCorpus) -> None:
    """Refuse a corpus other than that of earlier trials, which could not be compared with the next."""
    for path in sorted(folder.path.glob("trials/*")):
        if (begun := read_provenance(path)) is not None:
            refuse_other_corpus(folder.path, begun.fingerprint, corpus.name, corpus.fingerprint)
        elif RunFolder(path).model.is_dir():
            trained = read_metadata(path)["corpus"]["fingerprint"]
            refuse_other_corpus(folder.path, trained, corpus.name, corpus.fingerprint)


def _refuse_other_source(folder: StudyFolder, corpus: PreparedCorpus, carve: float | None) -> None:
    if not folder.record.is_file():  # created by an earlier version
        if carve is None:
            refuse_other_trials(folder, corpus)
        return
    try:
        begun = json.loads(folder.record.read_text(encoding="utf-8"))
        fingerprint, share = begun["fingerprint"], begun["carve"]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{folder.record} is damaged; name another --out") from error
    refuse_other_corpus(folder.path, fingerprint, corpus.name, corpus.fingerprint)
    if share != carve:
        raise ConfigError([f"{folder.path} was created with --carve {share:g}; pass the same"])


@contextmanager
def open_study(folder: StudyFolder) -> Iterator[optuna.Study]:
    """Open the database of a study, and make it where there is none."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = optuna.storages.RDBStorage(
        f"sqlite:///{folder.path.resolve() / 'study.db'}",
        engine_kwargs={"connect_args": {"timeout": DATABASE_SECONDS}},
    )
    try:
        yield optuna.create_study(
            storage=storage,
            study_name="seq2set",
            direction=find_direction(load_config(folder.config).decision.metric),
            pruner=optuna.pruners.MedianPruner(COMPLETE_BEFORE_PRUNING, LOOKS_BEFORE_PRUNING),
            load_if_exists=True,
        )
    finally:
        storage.remove_session()
        storage.engine.dispose()


def find_direction(metric: str) -> Literal["minimize", "maximize"]:
    """Return the direction in which a metric improves, in optuna's words."""
    return "minimize" if METRICS[metric].better == "lower" else "maximize"


def build_sampler(seed: int, number: int, parameter: int) -> optuna.samplers.TPESampler:
    """Return the sampler of one parameter of one trial, both given by their numbers.

    Each has a seed of its own, so that a study that was stopped continues as if it had not been, even if
    that was between the draws of a trial's values.
    """
    state = np.random.SeedSequence(seed, spawn_key=(number, parameter)).generate_state(1)
    return optuna.samplers.TPESampler(seed=int(state[0]))


def list_stale_trials(study: optuna.Study) -> list[int]:
    """List the trials that were running when the study was stopped; no other process may work on it."""
    running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
    return [trial.number for trial in running]


STATES = {TrialState.COMPLETE: "complete", TrialState.PRUNED: "pruned", TrialState.FAIL: "failed"}


class TrialRow(NamedTuple):
    """The outcome of one trial."""

    number: int
    state: str
    value: float | None
    """The metric on validation; of a pruned trial, its last score"""
    looks: int
    seconds: float
    settings: dict[str, Any]
    error: str | None

    @property
    def score(self) -> float:
        """The value of a trial that is known to have one."""
        assert self.value is not None
        return self.value


def list_trials(study: optuna.Study) -> list[TrialRow]:
    """Return the trials that ended, in the order of their numbers."""
    rows = []
    for trial in study.get_trials(deepcopy=False):
        if (state := STATES.get(trial.state)) is not None:
            value = None if state == "failed" else trial.value
            about, looks = trial.user_attrs, len(trial.intermediate_values)
            seconds, error = about.get("seconds", 0.0), about.get("error")
            rows.append(TrialRow(trial.number, state, value, looks, seconds, trial.params, error))
    return rows


def find_best(rows: list[TrialRow], metric: str) -> TrialRow | None:
    """Return the best complete trial, the first of equals, or None."""
    done = [row for row in rows if row.state == "complete"]
    lower = METRICS[metric].better == "lower"
    return min(done, key=lambda row: row.score if lower else -row.score, default=None)


def write_tables(rows: list[TrialRow], folder: Path) -> None:
    """Write the trials as JSON, CSV and Markdown."""
    write_json(folder / "trials.json", [row._asdict() for row in rows])
    cells = []
    for row in rows:
        value = "" if row.value is None else f"{row.value:.4f}"
        plain = [str(row.number), row.state, value, str(row.looks), f"{row.seconds:.1f}"]
        cells.append(plain + [format_value(setting) for setting in row.settings.values()])
    head = ["trial", "state", "value", "looks", "seconds", *rows[0].settings]
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([head, *cells])
    write_text(folder / "trials.csv", stream.getvalue())
    lines = [head, ["---"] * len(head), *cells]
    write_text(folder / "trials.md", "".join(f"| {' | '.join(line)} |\n" for line in lines))


def format_value(value: Any) -> str:
    """Return a setting's value as tables and plots show it."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return value if isinstance(value, str) else json.dumps(value)
