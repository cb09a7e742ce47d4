"""A file that a client sends: kept on disk, checked before anything is answered, and labelled in its format.

It is received whole before the first result is sent, because a client that sends and one that reads at the
same time is rare, and waiting for each other would stop both.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from anyio.to_thread import run_sync
from fastapi import Request
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from seq2set.core.errors import CorpusError, InputError
from seq2set.corpora.documents import Document
from seq2set.corpora.readers import FORMATS, ReadOptions, read_documents
from seq2set.server.answers import INTERNAL
from seq2set.server.errors import ApiError, make_error_body
from seq2set.server.service import Service

SENT = {name: row.media_types[0] for name, row in FORMATS.items() if row.media_types}
"""The formats that are taken, and the type under which each is sent."""

_ENDINGS = {suffix: name for name in SENT for suffix in FORMATS[name].suffixes}
_TYPES = {kind: name for name in SENT for kind in FORMATS[name].media_types}
_BLOCK = 2**20


@dataclass(frozen=True)
class Upload:
    """A file that was received."""

    path: Path
    format: str
    options: ReadOptions

    def documents(self) -> Iterator[Document]:
        """Give its documents one by one."""
        return read_documents(self.path, self.options)

    def check(self, service: Service) -> int:
        """Read it through once and count its documents; refuse it whole where a line is wrong."""
        count = 0
        try:
            for document in self.documents():
                count += 1
                service.check_text(document.text, f"the text of document '{document.id[:100]}'")
        except CorpusError as error:
            # The file's place on this machine is none of the client's business.
            sentence = str(error).replace(str(self.path), "the file")
            raise ApiError(422, sentence.replace("--encoding", "encoding")) from error
        return count


def rehearse_reading() -> None:
    """Read a file of each format: what is loaded and taken for that is not left to the first upload."""
    text = "a" * 2**17
    contents = dict.fromkeys(_DELIMITERS, f"text\n{text}\n") | {"jsonl": json.dumps({"text": text})}
    with tempfile.TemporaryDirectory(prefix="seq2set-") as folder:
        for name, content in contents.items():
            path = Path(folder) / f"upload.{name}"
            path.write_text(content)
            for _ in Upload(path, name, ReadOptions(labels=None)).documents():
                pass


async def receive(request: Request, folder: Path, named: str | None, options: ReadOptions) -> Upload:
    """Write the file that a request carries, as a form's part or as the whole body, into a folder."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    path = folder / "upload"
    with path.open("wb") as target:
        if kind == "multipart/form-data":
            found = await _receive_form(request, target) or named
        else:
            found = _require(named or _TYPES.get(kind))
            await _receive_body(request, target)
    form = _require(named or found)
    return Upload(path.rename(path.with_suffix(f".{form}")), form, options)


def _require(form: str | None) -> str:
    if form is None:
        raise ApiError(415, f"the file's format is not known; send {', '.join(_TYPES)}, or name a format")
    return form


async def _receive_form(request: Request, target: IO[bytes]) -> str | None:
    try:
        async with request.form(max_files=1, max_fields=1) as form:
            file = form.get("file")
            if not isinstance(file, UploadFile):
                raise ApiError(422, "the form has no file; send it as the field 'file'")
            await run_sync(shutil.copyfileobj, file.file, target)
            ending = Path(file.filename or "").suffix.lower()
            return _ENDINGS.get(ending) or _TYPES.get((file.content_type or "").partition(";")[0])
    except HTTPException as error:
        if isinstance(error, ApiError):
            raise
        raise ApiError(400, f"the form cannot be read: {str(error.detail)[:200]}") from error


async def _receive_body(request: Request, target: IO[bytes]) -> None:
    waiting = bytearray()
    async for block in request.stream():
        waiting += block
        if len(waiting) >= _BLOCK:
            await run_sync(target.write, bytes(waiting))
            waiting.clear()
    target.write(waiting)


_DELIMITERS = {"csv": ",", "tsv": "\t"}


class JsonRows:
    """One object per line, as `seq2set predict --json` prints them."""

    head = b""
    failure = json.dumps(make_error_body("internal", INTERNAL)).encode() + b"\n"
    """The last line of results that break off."""
    digits: int | None = 6

    def rows(self, documents: Sequence[Document], answers: Sequence[bytes]) -> bytes:
        """Write results."""
        found = ({"id": one.id, **json.loads(line)} for one, line in zip(documents, answers, strict=True))
        lines = (json.dumps(one, ensure_ascii=False) + "\n" for one in found)
        return "".join(lines).encode("utf-8", "replace")


class DelimitedRows:
    """A table with the columns id, labels, scores and note; labels and scores are joined by a separator.

    Where the model says which labels may be accepted without a look, there is a column of marks, too.
    """

    failure = b""
    digits = None  # a table has six that count, which may be further behind the point

    def __init__(self, delimiter: str, separator: str, *, marks: bool):
        self._delimiter, self._separator, self._marks = delimiter, separator, marks
        self.head = self._format([("id", "labels", "scores", "note", *(("marks",) if marks else ()))])

    def rows(self, documents: Sequence[Document], answers: Sequence[bytes]) -> bytes:
        """Write results."""
        rows, join = [], self._separator.join
        for document, answer in zip(documents, answers, strict=True):
            found = json.loads(answer)
            labels = join(one["label"] for one in found["labels"])
            scores = join(f"{one['score']:.6g}" for one in found["labels"])
            marks = [join(one.get("mark", "") for one in found["labels"])] if self._marks else []
            rows.append((document.id, labels, scores, found.get("note", ""), *marks))
        return self._format(rows)

    def _format(self, rows: Sequence[Sequence[str]]) -> bytes:
        stream = io.StringIO()
        csv.writer(stream, delimiter=self._delimiter).writerows(rows)
        return stream.getvalue().encode("utf-8", "replace")


def make_row_writer(
    name: str, separator: str, labels: Sequence[str], *, explain: bool, marks: bool = False
) -> JsonRows | DelimitedRows:
    """Return what writes results in a format; refuse what the format cannot hold."""
    if name not in _DELIMITERS:
        return JsonRows()
    if explain:
        raise InputError(
            f"explain is true, but a {name.upper()} file has no place for words; send JSON lines"
        )
    unclear = next((label for label in labels if separator in label), None)
    if unclear is not None:
        raise InputError(f"separator is '{separator}', which is part of the label '{unclear}'; pass another")
    return DelimitedRows(_DELIMITERS[name], separator, marks=marks)
