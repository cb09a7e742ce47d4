"""How a student is taught, and the record of it that its run keeps: whoever goes on is taught the same."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from seq2set.config.run_folder import TEACHER, RunFolder
from seq2set.core.errors import InputError
from seq2set.core.files import read_json
from seq2set.workflows.teacher import Teacher

FORMAT = 1
"""The version of the record's layout."""


@dataclass(frozen=True)
class Teaching:
    """How a student is taught."""

    unlabelled: tuple[str, ...] = ()
    """Files, patterns, folders or addresses of texts without labels"""
    folds: int = 4
    """How many models of the teacher's settings are trained to judge training documents; 0: none is, and
    these are taught by their labels alone"""
    share: float = 0.5
    """How much a teacher's word weighs beside the labels of training documents"""

    def __post_init__(self) -> None:
        if self.folds < 0 or self.folds == 1:
            raise InputError(f"folds is {self.folds}; it must be 0 or at least 2")
        if not 0 < self.share <= 1:
            raise InputError(f"share is {self.share}; it must lie above 0 and not above 1")
        if not self.folds and not self.unlabelled:
            raise InputError("folds is 0 and there are no texts without labels: nothing would be taught")


class TeachingRecord(BaseModel):
    """What a run keeps of its teacher."""

    model_config = ConfigDict(strict=True, frozen=True)

    format: int
    model: str
    path: str
    sha256: str
    folds: int
    share: float
    unlabelled: list[str]
    """Absolute, so that the run goes on from any folder"""
    texts: int
    taught: str
    """A fingerprint of all that is taught"""

    @classmethod
    def of(cls, teacher: Teacher, teaching: Teaching, texts: list[str]) -> TeachingRecord:
        """Return the record of a teaching that begins, with its texts without labels."""
        return cls(
            format=FORMAT,
            model=teacher.tagger.config.model,
            path=str(teacher.path),
            sha256=teacher.sha256,
            folds=teaching.folds,
            share=teaching.share,
            unlabelled=[one if "://" in one else str(Path(one).absolute()) for one in teaching.unlabelled],
            texts=len(texts),
            taught=hash_parts(teaching.folds, teaching.share, *texts),
        )

    def describe(self, texts: int) -> dict[str, Any]:
        """Return what the model remembers of it, which others may read: files by their names alone."""
        names = [one.rstrip("/").rpartition("/")[2] for one in self.unlabelled]
        return self.model_dump() | {"unlabelled": names, "texts": texts}


def hash_parts(*parts: Any) -> str:
    """Return a fingerprint of texts and numbers."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def read_teaching(out: Path) -> dict[str, Any]:
    """Return how the student of a run that goes on is taught; nothing where no run has begun."""
    begun = _read_record(out)
    if begun is None:
        return {}
    return {"unlabelled": tuple(begun.unlabelled), "folds": begun.folds, "share": begun.share}


def refuse_other_teaching(out: Path, now: TeachingRecord) -> None:
    """Refuse to go on with a run that is taught by another teacher, in another way, or by none."""
    begun = _read_record(out)
    if begun is None:
        if RunFolder(out).has_learnt():
            raise InputError(f"{out} holds a training without a teacher; name another --out")
        return
    what = {"sha256": "SHA-256 of the teacher", "taught": "fingerprint of the texts without labels"}
    for name in ("sha256", "folds", "share", "texts", "taught"):
        then, today = getattr(begun, name), getattr(now, name)
        if then != today:
            raise InputError(
                f"{out} was begun with another teacher or other texts: {what.get(name, name)}: "
                f"{then} -> {today}; resume with the same, or name another --out"
            )


def _read_record(out: Path) -> TeachingRecord | None:
    path = out / TEACHER
    if not path.is_file():
        return None
    try:
        found = TeachingRecord.model_validate(read_json(path))
    except ValueError as error:  # also of JSON, and of what is not as it must be
        raise InputError(f"{path} is damaged; name another --out") from error
    if found.format != FORMAT:
        raise InputError(
            f"{path} has format {found.format}, which a newer version wrote; this one reads format {FORMAT}"
        )
    return found
