"""`seq2set data list`."""

from __future__ import annotations

import json
from typing import Annotated

import typer


def list_corpora(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")] = False,
) -> None:
    """List the known corpora, how each is had, and what is cached."""
    from seq2set.corpora.open_corpus import locate_cached
    from seq2set.corpora.prepared import is_prepared
    from seq2set.corpora.sources import SOURCES, find_source

    found = [(find_source(name), locate_cached(name)) for name in SOURCES]
    rows = [(source, folder if is_prepared(folder) else None) for source, folder in found]
    if as_json:
        for source, folder in rows:
            plain = {"name": source.name, "title": source.title, "obtained": source.obtained}
            typer.echo(json.dumps(plain | {"licence": source.licence, "cached": folder and str(folder)}))
        return

    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("name", "what", "how it is had", "cached", box=box.SIMPLE_HEAD)
    for source, folder in rows:
        # Plain text: brackets, as in seq2set[demo], are not markup here.
        cells = (source.name, source.title, source.obtained, "yes" if folder else "no")
        table.add_row(*map(Text, cells))
    Console().print(table)
