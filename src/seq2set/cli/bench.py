"""`seq2set bench`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from seq2set.cli.idle_options import refuse_idle
from seq2set.cli.options import read_summaries

TABLES = {
    "Benchmarks": read_summaries("seq2set.benchmarks:BENCHMARKS", all="all ratios, as one page with plots")
}
"""What the help lists below the options."""


def bench(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="One of the benchmarks below.")],
    model: Annotated[
        Path | None, typer.Option("--model", help="A run or model to measure on, in place of a made one.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="Where `all` writes its page.")] = Path("benchmarks"),
    minutes: Annotated[
        float, typer.Option("--minutes", min=0, help="After how long `all` begins no other benchmark.")
    ] = 120,
    quick: Annotated[bool, typer.Option("--quick", help="Tiny sizes, to see that it runs.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure speed as a ratio, both sides in the same run."""
    from seq2set.benchmarks import ALL, refuse_model, run_benchmark
    from seq2set.core.errors import WorkError

    if model is not None:
        refuse_model(name)
    if name == ALL:
        from seq2set.benchmarks.page import PAGE, run_all
        from seq2set.cli.console import RichProgress

        found = run_all(RichProgress(), out, model=model, quick=quick, minutes=minutes)
        if as_json:
            typer.echo(json.dumps(found.to_dict()))
            return
        for ratio in found.ratios:
            typer.echo(f"{ratio.name}: {ratio.describe()}")
        typer.echo(f"all of it: {out / PAGE}")
        return
    refuse_idle(context, f"on {name}; they are for all", "out", "minutes")
    result = run_benchmark(name, model=model, quick=quick)
    typer.echo(json.dumps(result.to_dict()) if as_json else result.summarize())
    if result.failure:
        raise WorkError(result.failure)
