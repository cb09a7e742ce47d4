"""`seq2set bench`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from seq2set.benchmarks import BENCHMARKS
from seq2set.core.names import describe_names, find_named, load_named


def bench(
    name: Annotated[str, typer.Argument(help=f"Which benchmark. {describe_names(BENCHMARKS)}.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure speed as a ratio, both sides in the same run."""
    from seq2set.core.errors import WorkError

    result = load_named(find_named("benchmark", name, BENCHMARKS).path)()
    typer.echo(json.dumps(result.to_dict()) if as_json else result.summarize())
    if result.failure:
        raise WorkError(result.failure)
