"""A folder of shards: predictions in files of steady names, and what is needed to continue after a kill.

::

    manifest.json            what the shards are made of and by, and whether all are there
    done.jsonl               a line per finished shard: name, documents, SHA-256
    part-00000-000000.jsonl  the first documents of the first file, and so on

The same job gives the same names and bytes, on any engine. A shard is written aside and renamed, and only
then recorded; whenever the work is killed, what is recorded is whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

import seq2set
from seq2set.core.disk import make_folder
from seq2set.core.errors import InputError, OutputError
from seq2set.core.files import (
    append_line,
    compute_sha256,
    hold_lock,
    read_json,
    report_output_errors,
    write_aside,
    write_json,
)
from seq2set.core.outputs import refuse_occupied
from seq2set.corpora.documents import Document
from seq2set.corpora.readers import ReadOptions
from seq2set.inference.engines.blocks import BLOCK, EngineSettings, request_to_plain
from seq2set.inference.model_folder import MANIFEST as MODEL_MANIFEST
from seq2set.inference.model_folder import find_model_folder, verify
from seq2set.inference.prediction_files import Layout, PredictedDocument, open_writer
from seq2set.workflows.prediction_input import InputFile

MANIFEST, DONE, LOCK = "manifest.json", "done.jsonl", ".lock"


class ShardKey(NamedTuple):
    """A shard: the number of its file among the input, and its own in that file."""

    file: int
    part: int


class ShardJob(NamedTuple):
    """What decides on the shards' bytes: a job with another description must not continue them."""

    description: dict[str, Any]
    format: str
    size: int

    @classmethod
    def describe(
        cls, settings: EngineSettings, options: ReadOptions, files: Sequence[InputFile], form: str, size: int
    ) -> ShardJob:
        """Describe a job; how many processes there are, and where, is no part of it."""
        if size < BLOCK or size % BLOCK:
            raise InputError(f"shard_size is {size}; it must be a multiple of {BLOCK}")
        folder = find_model_folder(settings.model)
        verify(folder)
        description = {
            "seq2set": seq2set.__version__,
            "model": compute_sha256(folder / MODEL_MANIFEST),
            "runtime": settings.runtime,
            "request": request_to_plain(settings.request),
            "columns": {one.name: getattr(options, one.name) for one in fields(options) if one.compare},
            "input": [file.to_dict() for file in files],
            "format": form,
            "shard_size": size,
        }
        return cls(description, form, size)

    def list_differences(self, other: dict[str, Any]) -> list[str]:
        """Name the parts in which another description differs."""
        return [name for name, value in self.description.items() if other.get(name) != value]

    def digest(self) -> str:
        """Return a text that differs where the description does."""
        return hashlib.sha256(json.dumps(self.description, sort_keys=True).encode()).hexdigest()

    def name(self, key: ShardKey) -> str:
        """Return the name of a shard's file."""
        return f"part-{key.file:05d}-{key.part:06d}.{self.format}"


@dataclass
class ShardFolder:
    """A folder that a job's shards are written into; `done` are the names of those that are finished."""

    path: Path
    job: ShardJob
    explain: bool
    marks: bool
    done: dict[str, int]
    """Finished shards by name, with their documents"""
    _key: ShardKey | None = None
    _rows: list[PredictedDocument] = field(default_factory=list)

    def list_left(
        self, blocks: Iterable[tuple[int, list[Document]]]
    ) -> Iterator[tuple[ShardKey, list[Document]]]:
        """Yield the blocks of shards that are not finished."""
        file, count = -1, 0
        for number, block in blocks:
            file, count = (number, 0) if number != file else (file, count + 1)
            key = ShardKey(file, count * BLOCK // self.job.size)
            if self.job.name(key) not in self.done:
                yield key, block

    def write(self, key: ShardKey, rows: Sequence[PredictedDocument]) -> None:
        """Add the rows of a block; the shard before is finished when the first of another comes."""
        if key != self._key:
            self._finish_shard()
        self._key = key
        self._rows += rows

    def finish(self) -> None:
        """Finish the last shard, and say in the manifest that all are there."""
        self._finish_shard()
        total = {"shards": len(self.done), "documents": sum(self.done.values())}
        write_json(self.path / MANIFEST, _build_manifest(self.job) | {"complete": True} | total)

    def _finish_shard(self) -> None:
        if self._key is None:
            return
        name, rows = self.job.name(self._key), self._rows
        columns = dict.fromkeys(column for row in rows for column in row.document.columns or ())
        layout = Layout(list(columns), self.explain, marks=self.marks)
        with (
            write_aside(self.path / name) as aside,
            aside.open("wb") as stream,
            open_writer(self.job.format, stream, layout) as writer,
        ):
            writer.write(rows)
            writer.close()
        documents = len(rows)
        line = {"name": name, "documents": documents, "sha256": compute_sha256(self.path / name)}
        append_line(self.path / DONE, json.dumps(line))
        self.done[name] = documents
        self._key, self._rows = None, []


@contextmanager
def open_shards(path: Path, job: ShardJob, *, marks: bool, force: bool) -> Iterator[ShardFolder]:
    """Begin a folder of shards, or continue one; refuse what another job has left, unless `force` is set."""
    refuse_occupied(path, force=True)  # only what is no folder, or lies in a model
    with report_output_errors(path):
        make_folder(path)
    if not (path / MANIFEST).exists() and not {one.name for one in path.iterdir()} <= {LOCK}:
        refuse_occupied(path)
    busy = f"another process writes shards into {path}; wait until it ends, or name another folder"
    with hold_lock(path / LOCK, busy=busy, seconds=0):
        if (path / MANIFEST).exists() and not _fits(path, job, force=force):
            # The record of the shards goes last but one: what is not recorded is not trusted.
            (path / DONE).unlink(missing_ok=True)
            for shard in path.glob("part-*-*.*"):
                shard.unlink()
            (path / MANIFEST).unlink()
        if not (path / MANIFEST).exists():
            write_json(path / MANIFEST, _build_manifest(job) | {"complete": False})
        explain = job.description["request"]["explain"]
        yield ShardFolder(path, job, explain, marks, dict(_read_done(path)))


def _build_manifest(job: ShardJob) -> dict[str, Any]:
    return {"format": 1, "digest": job.digest(), "job": job.description}


def _fits(path: Path, job: ShardJob, *, force: bool) -> bool:
    try:
        saved = read_json(path / MANIFEST)
        differences = job.list_differences(saved["job"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise OutputError(f"{path / MANIFEST} cannot be read; name another folder") from error
    if differences and not force:
        raise OutputError(
            f"{path} holds shards of a job with another {', '.join(differences)}; name another folder, or "
            "pass --force to remove them and begin again"
        )
    return not force


def _read_done(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the finished shards whose files are as they were recorded."""
    if not (path / DONE).exists():
        return
    for line in (path / DONE).read_bytes().split(b"\n"):
        try:
            record = json.loads(line)
            intact = compute_sha256(path / record["name"]) == record["sha256"]
        except (ValueError, OSError):  # a line that a kill has cut, or a shard that was removed
            continue
        if intact:
            yield record["name"], record["documents"]
