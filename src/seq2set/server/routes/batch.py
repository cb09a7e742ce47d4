"""`POST /v1/batch`: a file of texts in, results in the same format out, as they are computed."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator
from contextlib import ExitStack, aclosing, closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from seq2set.corpora.readers import ReadOptions
from seq2set.server.answers import LabelRequest
from seq2set.server.schemas import Search, describe_errors
from seq2set.server.service import Service, get_service
from seq2set.server.uploads import SENT, DelimitedRows, JsonRows, Upload, make_row_writer, receive

PATH = "/v1/batch"
TOTAL = "X-Total-Documents"
"""The header that says how many results will come."""

router = APIRouter(tags=["predict"])
_FILE = {"type": "string", "format": "binary"}
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {"type": "object", "properties": {"file": _FILE}, "required": ["file"]}
            },
            **{kind: {"schema": _FILE} for kind in SENT.values()},
        },
    }
}
_RESULTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Results in the format of the file.",
        "content": {kind: {"schema": {"type": "string"}} for kind in SENT.values()},
        "headers": {TOTAL: {"schema": {"type": "integer"}, "description": "How many results will come."}},
    }
}


@router.post(
    PATH,
    response_class=StreamingResponse,
    openapi_extra=_BODY,
    responses=_RESULTS | describe_errors(400, 401, 403, 408, 413, 415, 421, 422, 429, 500, 503),
)
async def batch(
    request: Request,
    file_format: Annotated[
        Literal["csv", "tsv", "jsonl"] | None,
        Query(alias="format", description="By default as the file's name or type says."),
    ] = None,
    text: Annotated[str, Query(description="The column that holds the text.")] = "text",
    id_column: Annotated[str, Query(alias="id", description="The column that holds the identifiers.")] = "id",
    encoding: Annotated[str, Query(description="The character encoding of the file.")] = "utf-8",
    separator: Annotated[
        str, Query(min_length=1, max_length=10, description="The separator of labels in a table.")
    ] = ";",
    search: Search | None = None,
    threshold: Annotated[float | None, Query(ge=0, le=1)] = None,
    top_k: Annotated[int | None, Query(ge=1, le=10**6)] = None,
    max_labels: Annotated[int | None, Query(ge=1, le=10**6)] = None,
    min_labels: Annotated[int, Query(ge=0, le=10**6)] = 0,
    explain: bool = False,
) -> StreamingResponse:
    """Label every text of a CSV, TSV or JSON lines file; a file with a fault is refused whole."""
    wanted = LabelRequest(threshold, max_labels, min_labels, search, explain, top_k=top_k)
    options = ReadOptions(text=text, id=id_column, labels=None, encoding=encoding)
    service = get_service(request)
    with ExitStack() as held:
        folder = held.enter_context(tempfile.TemporaryDirectory(prefix="seq2set-"))
        upload = await receive(request, Path(folder), file_format, options)
        held.enter_context(service.upload_slot())  # not before: a client that stalls must not hold it
        names = service.model.labels.names
        writer = make_row_writer(
            upload.format, separator, names, explain=explain, marks=service.model.accepts
        )
        total = await run_sync(upload.check, service)
        wanted = replace(wanted, digits=writer.digits)
        # What the model cannot do is refused before the answer begins.
        await service.batcher.submit([""], wanted)
        results, headers = _label(service, upload, wanted, writer), {TOTAL: str(total)}
        # From here on the answer lets go of what is held.
        return StreamedResults(results, held.pop_all(), SENT[upload.format], headers)


class StreamedResults(StreamingResponse):
    """Results that are computed while they are sent; what they hold is let go however the sending ends."""

    def __init__(
        self, results: AsyncGenerator[bytes, None], held: ExitStack, media_type: str, headers: dict[str, str]
    ):
        super().__init__(results, media_type=media_type, headers=headers)
        self._results, self._held = results, held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the results."""
        with self._held:
            async with aclosing(self._results):
                await super().__call__(scope, receive, send)


async def _label(
    service: Service, upload: Upload, wanted: LabelRequest, writer: JsonRows | DelimitedRows
) -> AsyncGenerator[bytes, None]:
    """Answer one full batch after the other, so that memory holds no more than one."""
    size = service.settings.max_batch
    yield writer.head
    try:
        with closing(upload.documents()) as documents:  # type: ignore[type-var]
            while block := await run_sync(lambda: list(islice(documents, size))):
                answers = await service.batcher.submit_patiently([one.text for one in block], wanted)
                yield await run_sync(writer.rows, block, answers)
    except Exception:
        yield writer.failure
        raise
