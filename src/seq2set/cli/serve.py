"""`seq2set serve`."""

from __future__ import annotations

import logging
import os
from typing import Annotated, Any

import typer

from seq2set.cli import idle_options, options
from seq2set.server.settings import ServeSettings, read_key

LOOPBACK = ("127.", "localhost", "::1")


@options.add_fields(ServeSettings, queue_texts="queue")
def serve(
    context: typer.Context,
    model: options.ModelFolder,
    *,
    runtime: options.Runtime = "auto",
    access_log: Annotated[
        bool, typer.Option(help="Write one line per request to standard error, without texts.")
    ] = True,
    **settings: Any,
) -> None:
    """Serve a model: an HTTP API and a web page. A key in SEQ2SET_API_KEY is asked of every client."""
    from seq2set.core.errors import import_extra

    if settings["feedback"] is None:
        idle_options.refuse_idle(context, "without --feedback", "max_feedback_bytes")
    for needed in ("fastapi", "uvicorn", "prometheus_client", "python_multipart"):
        import_extra(needed, "serve")
    chosen = ServeSettings(key=read_key(), **settings)
    from seq2set.core.hardware import share_heap
    from seq2set.server.guards.access import ACCESS_LOG
    from seq2set.server.listen import serve as listen

    # oneDNN keeps code for the last 1,024 shapes of batches that it met, about 100 MB over thousands of
    # requests, which looks like a leak and is hardly used again. It reads this when it makes its first code.
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "32")
    share_heap()
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.WARNING)
    logging.getLogger(ACCESS_LOG).setLevel(logging.INFO if access_log else logging.ERROR)
    if chosen.key is None and not chosen.host.startswith(LOOPBACK):
        typer.echo(
            f"seq2set: {chosen.host} can be reached from other machines, and no key is set; "
            "set SEQ2SET_API_KEY to ask for one",
            err=True,
        )
    listen(model, runtime, chosen, typer.echo)
