"""`seq2set bench`."""

from __future__ import annotations

import json
from typing import Annotated

import typer


def _list_benchmarks() -> dict[str, str]:
    from seq2set.benchmarks import BENCHMARKS

    return {name: row.summary for name, row in BENCHMARKS.items()}


TABLES = {"Benchmarks": _list_benchmarks}
"""What the help lists below the options."""


def bench(
    name: Annotated[str, typer.Argument(metavar="NAME", help="One of the benchmarks below.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure speed as a ratio, both sides in the same run."""
    from seq2set.benchmarks import BENCHMARKS
    from seq2set.core.errors import WorkError
    from seq2set.core.names import find_named, load_named

    result = load_named(find_named("benchmark", name, BENCHMARKS).path)()
    typer.echo(json.dumps(result.to_dict()) if as_json else result.summarize())
    if result.failure:
        raise WorkError(result.failure)
