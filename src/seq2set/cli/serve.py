"""`seq2set serve`."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Annotated

import typer

from seq2set.server.settings import ServeSettings, key_from_environment

DEFAULTS = ServeSettings()
LOOPBACK = ("127.", "localhost", "::1")


def serve(
    model: Annotated[Path, typer.Argument(metavar="RUN", help="A run or a model folder.")],
    host: Annotated[
        str, typer.Option(help="The address to listen on; the default is this machine only.")
    ] = DEFAULTS.host,
    port: Annotated[int, typer.Option(help="The port to listen on; 0 takes a free one.")] = DEFAULTS.port,
    feedback: Annotated[
        Path | None, typer.Option(help="Keep feedback in this database; none is kept without it.")
    ] = None,
    max_batch: Annotated[
        int, typer.Option(help="At most so many texts share a forward pass.")
    ] = DEFAULTS.max_batch,
    window_ms: Annotated[
        float, typer.Option(help="So long a text waits for others to share a forward pass with.")
    ] = DEFAULTS.window_ms,
    queue: Annotated[
        int, typer.Option(help="At most so many texts wait; beyond them 429.")
    ] = DEFAULTS.queue_texts,
    max_texts: Annotated[int, typer.Option(help="At most so many texts a request.")] = DEFAULTS.max_texts,
    max_text_chars: Annotated[
        int, typer.Option(help="At most so many characters a text.")
    ] = DEFAULTS.max_text_chars,
    max_body_bytes: Annotated[
        int, typer.Option(help="At most so many bytes a request.")
    ] = DEFAULTS.max_body_bytes,
    max_upload_bytes: Annotated[
        int, typer.Option(help="At most so many bytes a file.")
    ] = DEFAULTS.max_upload_bytes,
    max_uploads: Annotated[int, typer.Option(help="At most so many files at a time.")] = DEFAULTS.max_uploads,
    max_connections: Annotated[
        int, typer.Option(help="At most so many connections at a time.")
    ] = DEFAULTS.max_connections,
    answer_seconds: Annotated[
        float, typer.Option(help="So long a request may wait for its answer.")
    ] = DEFAULTS.answer_seconds,
    header_seconds: Annotated[
        float, typer.Option(help="So long a request's head may take.")
    ] = DEFAULTS.header_seconds,
    body_seconds: Annotated[
        float, typer.Option(help="So long a request's body may take.")
    ] = DEFAULTS.body_seconds,
    upload_seconds: Annotated[
        float, typer.Option(help="So long a file may take to arrive.")
    ] = DEFAULTS.upload_seconds,
    shutdown_seconds: Annotated[
        int, typer.Option(help="So long a server that stops finishes what it has accepted.")
    ] = DEFAULTS.shutdown_seconds,
    access_log: Annotated[
        bool, typer.Option(help="Write a line a request to standard error; it never holds a text.")
    ] = True,
) -> None:
    """Serve a model: an HTTP API and a web page. A key in SEQ2SET_API_KEY is asked of every client."""
    from seq2set.core.errors import import_extra

    for needed in ("fastapi", "uvicorn", "prometheus_client", "python_multipart"):
        import_extra(needed, "serve")
    settings = ServeSettings(
        host=host,
        port=port,
        key=key_from_environment(),
        feedback=feedback,
        max_batch=max_batch,
        window_ms=window_ms,
        queue_texts=queue,
        max_texts=max_texts,
        max_text_chars=max_text_chars,
        max_body_bytes=max_body_bytes,
        max_upload_bytes=max_upload_bytes,
        max_uploads=max_uploads,
        max_connections=max_connections,
        answer_seconds=answer_seconds,
        header_seconds=header_seconds,
        body_seconds=body_seconds,
        upload_seconds=upload_seconds,
        shutdown_seconds=shutdown_seconds,
    )
    _run(model, settings, access_log)


def _run(model: Path, settings: ServeSettings, access_log: bool) -> None:
    from seq2set.server.app import create_app
    from seq2set.server.limits import ACCESS_LOG
    from seq2set.server.listen import serve as listen
    from seq2set.server.service import open_served

    # oneDNN keeps code for the last 1,024 shapes of batches that it met, about 100 MB over thousands of
    # requests, which looks like a leak and is hardly used again. It reads this when it makes its first code.
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "32")
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.WARNING)
    logging.getLogger(ACCESS_LOG).setLevel(logging.INFO if access_log else logging.ERROR)
    if settings.key is None and not settings.host.startswith(LOOPBACK):
        typer.echo(
            f"seq2set: {settings.host} can be reached from other machines, and no key is set; "
            "set SEQ2SET_API_KEY to ask for one",
            err=True,
        )
    listen(lambda: create_app(open_served(model), settings), settings, typer.echo)
