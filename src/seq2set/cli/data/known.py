"""`seq2set data list` and `seq2set data clean`: the known corpora, and the cache."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from seq2set.core.text_utils import format_size


def list_corpora(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> None:
    """List the known corpora, how to get each, and what is cached."""
    from seq2set.corpora.cache import list_cached, locate_cached
    from seq2set.corpora.prepared import is_prepared
    from seq2set.corpora.sources import SOURCES

    there = list_cached()
    sizes = {one.name: one.bytes for one in there if is_prepared(one.path)}
    if as_json:
        for name, source in SOURCES.items():
            # `obtained` is what earlier versions call `how_to_get`.
            how = {"how_to_get": source.how_to_get, "obtained": source.how_to_get}
            row = {"name": name, "title": source.title, **how, "licence": source.licence}
            cached = str(locate_cached(name)) if name in sizes else None
            typer.echo(json.dumps(row | {"cached": cached, "bytes": sizes.get(name, 0)}))
        return

    from seq2set.cli.console import print_table

    rows = [
        (name, source.title, source.how_to_get, format_size(sizes[name]) if name in sizes else "no")
        for name, source in SOURCES.items()
    ]
    rows += [
        (one.name, "prepared here", "", format_size(sizes[one.name]))
        for one in there
        if one.name in sizes.keys() - SOURCES.keys() and not one.is_copy
    ]
    print_table(("name", "what", "how to get it", "cached"), rows)
    copies = [one for one in there if one.is_copy]
    if copies:
        size = format_size(sum(one.bytes for one in copies))
        typer.echo(
            f"copies of plain files, vectors and states of texts: {len(copies)}, {size}; "
            "seq2set data clean deletes them"
        )


def clean(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="An entry of the cache; without any, copies of plain files, vectors and states of texts.",
        ),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option(
            "--all", help="Delete known corpora and encoders too, which may have to be fetched again."
        ),
    ] = False,
) -> None:
    """Empty the cache. No file of yours is touched; copies of them are made again when they are read."""
    from seq2set.core.errors import InputError
    from seq2set.corpora.cache import clean_cache, get_cache_folder, list_cached

    if names and everything:
        raise InputError(f"--all deletes everything, and {', '.join(names)} is named; give one of the two")
    there = {one.name: one.bytes for one in list_cached()}
    for name in names or ():
        if name not in there:
            known = ", ".join(sorted(there)) or "nothing"
            raise InputError(f"'{name}' is not in the cache {get_cache_folder()}; it holds {known}")
    gone = clean_cache(names or (), everything=everything)
    for one in gone:
        typer.echo(f"deleted {one.name} ({format_size(there[one.name])})")
    typer.echo(f"{format_size(sum(there[one.name] for one in gone))} freed in {get_cache_folder()}")
