"""`seq2set data list`."""

from __future__ import annotations

import json
from typing import Annotated

import typer


def list_corpora(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> None:
    """List the known corpora, how to get each, and what is cached."""
    from seq2set.corpora.open_corpus import locate_cached
    from seq2set.corpora.prepared import is_prepared
    from seq2set.corpora.sources import SOURCES

    cached = {name: folder for name in SOURCES if is_prepared(folder := locate_cached(name))}
    if as_json:
        for name, source in SOURCES.items():
            # `obtained` is what earlier versions call `how_to_get`.
            how = {"how_to_get": source.how_to_get, "obtained": source.how_to_get}
            row = {"name": name, "title": source.title, **how, "licence": source.licence}
            typer.echo(json.dumps(row | {"cached": str(cached[name]) if name in cached else None}))
        return

    from seq2set.cli.console import print_table

    rows = [
        (name, source.title, source.how_to_get, "yes" if name in cached else "no")
        for name, source in SOURCES.items()
    ]
    print_table(("name", "what", "how to get it", "cached"), rows)
