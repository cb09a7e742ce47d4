"""A file that a client sends: kept on disk, not in memory, and read through before anything is answered.

It is received whole before the first result is sent, because a client that sends and one that reads at the
same time is rare, and waiting for each other would stop both.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from anyio.to_thread import run_sync
from fastapi import Request
from starlette.datastructures import UploadFile

from seq2set.corpora.document import Document
from seq2set.corpora.reading import ReadOptions, read_documents
from seq2set.errors import CorpusError
from seq2set.server.errors import ApiError
from seq2set.server.service import Service

FORMATS = {
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "jsonl": "application/x-ndjson",
}
"""The formats that are taken, and the type under which each is sent."""

_ENDINGS = {"ndjson": "jsonl", "json": "jsonl"} | {name: name for name in FORMATS}
_TYPES = {kind: name for name, kind in FORMATS.items()} | {"application/jsonl": "jsonl"}
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

    def checked(self, service: Service) -> int:
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


async def receive(request: Request, folder: Path, named: str | None, options: ReadOptions) -> Upload:
    """Write the file that a request carries, as a form's part or as the whole body, into a folder."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    path = folder / "upload"
    with path.open("wb") as target:
        if kind == "multipart/form-data":
            found = await _from_form(request, target) or named
        else:
            found = _known(named or _TYPES.get(kind))
            await _from_body(request, target)
    form = _known(named or found)
    return Upload(path.rename(path.with_suffix(f".{form}")), form, options)


def _known(form: str | None) -> str:
    if form is None:
        raise ApiError(415, f"the file's format is not known; send {', '.join(_TYPES)}, or name a format")
    return form


async def _from_form(request: Request, target: IO[bytes]) -> str | None:
    async with request.form(max_files=1, max_fields=1) as form:
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise ApiError(422, "the form has no file; send it as the field 'file'")
        await run_sync(shutil.copyfileobj, file.file, target)
        ending = (file.filename or "").rpartition(".")[2].lower()
        return _ENDINGS.get(ending) or _TYPES.get((file.content_type or "").partition(";")[0])


async def _from_body(request: Request, target: IO[bytes]) -> None:
    waiting = bytearray()
    async for block in request.stream():
        waiting += block
        if len(waiting) >= _BLOCK:
            await run_sync(target.write, bytes(waiting))
            waiting.clear()
    target.write(waiting)
