"""`seq2set bench`."""

from __future__ import annotations

import importlib
import json
from typing import Annotated

import typer

BENCHMARKS = ("decode", "encoder", "features", "metrics", "reward", "rl-step", "search", "serve")
"""One module of `seq2set.benchmarks` each, with underscores there for dashes here."""

SOAK = "soak"
"""No ratio, but a long run of the server with faults, which passes or fails."""


def bench(
    name: Annotated[str, typer.Argument(help=f"Which benchmark: {', '.join((*BENCHMARKS, SOAK))}.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure speed as a ratio, both sides in the same run."""
    from seq2set.core.errors import UnknownNameError

    if name == SOAK:
        _soak(as_json)
        return
    if name not in BENCHMARKS:
        raise UnknownNameError("benchmark", name, (*BENCHMARKS, SOAK))
    result = importlib.import_module(f"seq2set.benchmarks.{name.replace('-', '_')}").run()
    if as_json:
        typer.echo(json.dumps(result.to_dict()))
    else:
        typer.echo(
            f"{result.name}: {result.ratio:.2f} times as fast as {result.opponent} "
            f"({result.ours:.3f} s against {result.theirs:.3f} s; {result.shapes})"
        )
        if result.checks:
            typer.echo(f"checks: {result.checks}")


def _soak(as_json: bool) -> None:
    from seq2set.benchmarks.soak import run
    from seq2set.core.errors import WorkError

    result = run()
    typer.echo(json.dumps(result.to_dict()) if as_json else result.in_words())
    if not result.passed:
        raise WorkError("the soak failed: the server lost, leaked or wrongly answered something")
