"""The run folder: settings, history, checkpoints and the model of one training."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from seq2set.config import Config, build_config, load_config, validate, write_toml
from seq2set.config.loader import differ_only_in, list_changes, merge_settings, nest_setting, walk_settings
from seq2set.config.provenance import RECORD, Provenance, read_provenance, write_provenance
from seq2set.config.run_locks import LOCK, check_lock
from seq2set.core.disk import make_folder
from seq2set.core.errors import ConfigError, InputError
from seq2set.core.files import (
    append_line,
    report_output_errors,
    update_keys,
    write_folder_aside,
    write_json,
    write_text,
)
from seq2set.core.outputs import refuse_occupied

Watch = Callable[[int, dict[str, Any]], None]
"""Is told of every record of a run's history, with its number from 1; may raise to end the run."""

TEACHER = "teacher.json"
"""The record of the teacher of a run that a student is taught in."""

ENCODER = "encoder.json"
"""The record of the pretrained encoder that the network of a run reads with."""

PARTS = (
    "model",
    "checkpoints",
    "members",
    "start",
    "folds",
    "teacher",
    "tensorboard",
    "history.jsonl",
    TEACHER,
    ENCODER,
    RECORD,
)
"""What a run holds beside its settings."""

FORMER = {"data.separator": ";", "search.samples": 8, "prior.terms": "given"}
"""What version 0.1.0 recorded where nobody chose; today the preset has another default."""

HOW = ("threads:", "workers:", "encoder.cache_gigabytes:")
"""Settings of how a run works and not of what it learns, which may change within one"""


class RunFolder:
    """Where everything of one run lies."""

    def __init__(self, path: Path, watch: Watch | None = None):
        self.path, self.watch = path, watch
        self.config = path / "config.toml"
        self.history = path / "history.jsonl"  # one JSON object per line
        self.checkpoints = path / "checkpoints"  # what a stopped run goes on from
        self.beginning = self.checkpoints / "beginning.safetensors"  # where the last of several phases began
        self.start_model = path / "start"  # a copy of the model that the training begins from, if any
        self.teacher = path / "teacher"  # what a teacher said
        self.encoder = path / ENCODER
        self.model = path / "model"  # the finished one

    @classmethod
    def start(
        cls,
        path: Path,
        config: Config,
        *,
        provenance: Provenance | None = None,
        resume: bool = False,
        force: bool = False,
        watch: Watch | None = None,
        begin_from: Path | None = None,
        teacher: Mapping[str, Any] | None = None,
    ) -> RunFolder:
        """Begin a run in an empty folder, or go on with one whose settings and documents are the same.

        With `force` a run that is there is replaced; what else lies in its folder stays. A model folder to
        `begin_from` is copied, so that the run can be resumed whatever becomes of it. The record of a
        `teacher` is kept.
        """
        run = cls(path, watch)
        if resume and run.config.is_file():
            refuse_changes(path, run.config, config)
            if provenance is not None:
                run.check_documents(provenance)
            # A line that a crash cut off would spoil the one that comes after it.
            run.truncate(len(run.records()))
        elif force and run.config.is_file():
            run._remove()
        elif run.config.is_file():
            raise InputError(
                f"{path} holds a run already; pass --resume to go on with it, --force to replace it, or name "
                "another folder"
            )
        elif force and path.is_dir() and any(not one.name.startswith(LOCK) for one in path.iterdir()):
            raise InputError(
                f"{path} is not empty and holds no run; --force replaces runs only, name another folder"
            )
        elif not run._was_killed_early():
            refuse_occupied(path)
        with report_output_errors(path):
            make_folder(run.checkpoints)
        if provenance is not None and not run.has_learnt():
            write_provenance(path, provenance)
        run._keep_teacher(teacher)
        if begin_from is not None and not run.start_model.is_dir():
            with write_folder_aside(run.start_model) as aside:
                shutil.copytree(begin_from, aside, dirs_exist_ok=True)
        if not run.config.is_file():
            write_toml(config, run.config)  # last: it says that the run has begun
        return run

    def _keep_teacher(self, record: Mapping[str, Any] | None) -> None:
        path = self.path / TEACHER
        if record is not None:
            write_json(path, record)
        elif not self.config.is_file():  # of a run that was killed while it began
            path.unlink(missing_ok=True)

    def open_member(self, number: int) -> RunFolder:
        """Return where the network of this number, from 0, of an ensemble is trained; the first is here."""
        if number == 0:
            return self
        member = RunFolder(self.path / "members" / str(number + 1))
        with report_output_errors(member.path):
            member.checkpoints.mkdir(parents=True, exist_ok=True)
        member.truncate(len(member.records()))
        return member

    def _remove(self) -> None:
        with report_output_errors(self.path):
            for name in (*PARTS, self.config.name):  # last what says that it is a run
                found = self.path / name
                if found.is_dir():
                    shutil.rmtree(found)
                else:
                    found.unlink(missing_ok=True)

    def check_documents(self, now: Provenance) -> None:
        """Refuse to go on with documents other than those that the run was begun on."""
        begun = read_provenance(self.path)
        if begun is None and self.has_learnt():
            raise InputError(
                f"{self.path} has no {RECORD}, so that the documents that it was begun on are unknown; name "
                "another --out"
            )
        if begun is not None and begun.documents != now.documents:
            raise InputError(
                f"{self.path} was begun on other documents: {begun.train:,} to learn from, {begun.valid:,} "
                f"to tune on, {begun.labels:,} labels (fingerprint {begun.documents}); {now.corpus} now has "
                f"{now.train:,}, {now.valid:,} and {now.labels:,} (fingerprint {now.documents}); put the "
                "corpus back as it was, or name another --out"
            )

    def stands_on(self, documents: Provenance) -> bool:
        """Say whether the run is known to have been begun on these documents."""
        begun = read_provenance(self.path)
        return begun is not None and begun.documents == documents.documents

    def has_learnt(self) -> bool:
        """Say whether there is anything in the folder that was learnt from documents."""
        return self.model.is_dir() or self.history.is_file() or any(self.checkpoints.glob("*.safetensors"))

    def _was_killed_early(self) -> bool:
        """Say whether the folder holds what comes before the settings and nothing else."""
        if not self.path.is_dir() or any(path.is_file() for path in self.checkpoints.rglob("*")):
            return False
        early = ("checkpoints", RECORD, TEACHER, self.start_model.name, LOCK, f".{self.config.name}.")
        return all(any(name in path.name for name in early) for path in self.path.iterdir())

    def differs_only_in(self, sections: tuple[str, ...], config: Config) -> bool:
        """Say whether the run's settings differ from others, and in nothing but these sections."""
        return self.config.is_file() and differ_only_in(sections, load_config(self.config), config)

    def log(self, record: dict[str, Any]) -> None:
        """Add a line to the history."""
        check_lock(self.path)
        append_line(self.history, json.dumps(record, ensure_ascii=False))
        if self.watch is not None:
            self.watch(len(self.records()), record)

    def records(self) -> list[dict[str, Any]]:
        """Return the history so far; a last line cut off by a crash is passed over."""
        if not self.history.is_file():
            return []
        try:
            lines = self.history.read_text(encoding="utf-8").split("\n")
        except UnicodeDecodeError as error:
            raise InputError(f"{self.history} is damaged: it is not UTF-8; begin a new run") from error
        return [self._read_record(line, number) for number, line in enumerate(lines[:-1], start=1)]

    def _read_record(self, line: str, number: int) -> dict[str, Any]:
        try:
            record = update_keys(json.loads(line))
        except (RecursionError, ValueError):
            record = None
        if not isinstance(record, dict):
            raise InputError(f"{self.history}, line {number}: the record is damaged; begin a new run")
        return record

    def truncate(self, count: int) -> None:
        """Keep the first `count` records of the history."""
        if self.history.is_file():
            text = self.history.read_text(encoding="utf-8")
            kept = "".join(line + "\n" for line in text.split("\n")[:count])
            if kept != text:
                write_text(self.history, kept)


def find_kept_weights(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Say which phase and update gave the weights that a training kept; models without phases keep none."""
    last = records[-1] if records else {}
    return {"phase": last["best_phase"], "update": last["best_update"]} if "best_update" in last else {}


def recall_defaults(begun_with: Path, config: Config) -> Config:
    """Return settings with the former defaults of the file that a folder was begun with, if there is one.

    What was begun goes on as it was begun, although a default is another one since.
    """
    if not begun_with.is_file():
        return config
    preset = build_config(preset=config.preset)
    begun, today = (dict(walk_settings(one.model_dump())) for one in (load_config(begun_with), preset))
    values = config.model_dump()
    now = dict(walk_settings(values))
    for key, former in FORMER.items():
        if begun[key] == former and now[key] == today[key]:
            values = merge_settings(values, nest_setting(key, former))
    return validate(values)


def refuse_changes(folder: Path, begun_with: Path, config: Config) -> None:
    """Refuse to go on in a folder with settings other than those in the file that it was begun with."""
    changes = list_changes(load_config(begun_with), recall_defaults(begun_with, config))
    changed = [one for one in changes if not one.startswith(HOW)]
    if changed:
        faults = [f"{folder} was begun with other settings: {change}" for change in changed]
        raise ConfigError([*faults[:-1], f"{faults[-1]}; resume with the same, or begin a new run"])
