"""The command `seq2set`: puts the verbs together; nothing heavy is imported until a verb runs.

Ctrl-C and a polite kill end every verb alike: what it started ends too, and one sentence says so.
"""

from __future__ import annotations

import atexit
import gc
import io
import logging
import os
import signal
import sys
import threading
from types import FrameType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import seq2set
from seq2set.cli import bench, distill, evaluate, experiment, export, predict, serve, train, tune
from seq2set.cli.data import TABLES, check, known, prepare, stats
from seq2set.cli.options import list_names, read_summaries
from seq2set.core.errors import InputError, Seq2SetError, StoppedError, explain_missing
from seq2set.core.processes import SIGNALS, end_pool
from seq2set.core.text_utils import make_printable

_OWN_PROCESS = object()
"""Told to the verbs by `run_process`, after which nothing comes but the end of the process"""


def _leave() -> None:
    """End a server's process at once: its time to stop may be over.

    To take the interpreter apart takes seconds on a busy machine, and libraries may wait for what they began.
    """
    logging.shutdown()
    sys.stdout.flush()
    os._exit(0)


_STOPPED_ELSE = "stopped before it was done; run it again"
_STOPPED = dict.fromkeys(("train", "tune", "distill"), "stopped; rerun with --resume to continue") | {
    "serve": "stopped before the server was ready; no request was answered",
    "bench": "stopped; what was being measured is not kept, run it again",
    "experiment": "stopped; rerun the same command to continue",
}
"""What is said of a verb that is told to stop and has no sentence of its own"""


class StoppableCommands(TyperGroup):
    """The command line's verbs, which both signals interrupt."""

    def invoke(self, ctx: Any) -> Any:
        """Run a verb."""
        asked: list[int] = []

        def stop(number: int, frame: FrameType | None) -> None:
            asked.append(number)
            signal.default_int_handler(number, frame)

        here = threading.current_thread() is threading.main_thread()  # only there may signals be handled
        # By itself SIGTERM ends a process on the spot, and leaves the processes that fit classifiers behind;
        # a shell's background job ignores SIGINT, and goes on doing so.
        heard = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        before = {number: signal.signal(number, stop) for number in heard} if here else {}
        try:
            result = super().invoke(ctx)
            if ctx.obj is _OWN_PROCESS and ctx.invoked_subcommand == "serve":
                _leave()
            return result
        except Seq2SetError:
            raise
        except (KeyboardInterrupt, Exception) as error:
            # An interrupt amid an import comes out of it as another exception (CPython 3.11: a TypeError).
            if not asked and not isinstance(error, KeyboardInterrupt):
                raise
            end_pool()
            raise StoppedError(_STOPPED.get(str(ctx.invoked_subcommand), _STOPPED_ELSE)) from error
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


app = typer.Typer(
    name="seq2set",
    cls=StoppableCommands,
    help="Assign sets of labels to texts.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
data = typer.Typer(name="data", help="Get, prepare, describe and check corpora.", no_args_is_help=True)
app.add_typer(data)

_CATALOG = "seq2set.config.catalog:"
_MODELS = {"Models": read_summaries(_CATALOG + "MODELS"), "Presets": read_summaries(_CATALOG + "PRESETS")}
_PARTS = {
    "Encoders (encoder.kind)": read_summaries(_CATALOG + "ENCODERS"),
    "Rewards (objective.reward)": read_summaries(_CATALOG + "REWARDS"),
}
_RUNTIMES = {"Runtimes": read_summaries(_CATALOG + "RUNTIMES")}
_SEARCHES = {"Searches": read_summaries(_CATALOG + "SEARCHES")}

data.command("list")(known.list_corpora)
data.command("clean")(known.clean)
data.command("prepare", cls=list_names(TABLES))(prepare.prepare)
data.command("stats", cls=list_names(TABLES))(stats.stats)
data.command("check", cls=list_names(TABLES))(check.check)
app.command("train", cls=list_names(_MODELS | _PARTS))(train.train)
app.command("evaluate", cls=list_names(_SEARCHES | _RUNTIMES))(evaluate.evaluate)
app.command("predict", cls=list_names(_SEARCHES | _RUNTIMES | predict.TABLES))(predict.predict)
app.command("tune", cls=list_names(_MODELS | tune.TABLES))(tune.tune)
app.command("distill", cls=list_names(_MODELS | _PARTS))(distill.distill)
app.command("experiment", cls=list_names(experiment.TABLES | _MODELS))(experiment.experiment)
app.command("serve", cls=list_names(_RUNTIMES))(serve.serve)
app.command("export")(export.export)
app.command("bench", cls=list_names(bench.TABLES))(bench.bench)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"seq2set {seq2set.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[  # noqa: ARG001 (its callback acts)
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop."),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
) -> None:
    """Assign sets of labels to texts."""
    if debug:
        os.environ["SEQ2SET_DEBUG"] = "1"


def run_process() -> None:
    """Run the command line in a process of its own, which may end with the command."""
    # A terminal that lacks a letter gets its number, as on stderr.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    # Pydantic looks for plugins among all that is installed, and this command has no use for any.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # Looking for cycles in what is left takes longer than some commands; the system takes all of it anyway.
    atexit.register(gc.freeze)
    main(alone=True)


def main(*, alone: bool = False) -> None:
    """Run the command line; errors become one sentence and an exit code.

    `alone` says that the process is the command's own: a server ends it at once when it has stopped.
    """
    try:
        # Refuse bytes that the locale has no characters for: no file can keep them, and no model knows them.
        for argument in sys.argv[1:]:
            if any("\ud800" <= character <= "\udfff" for character in argument):
                raise InputError(
                    f"the argument {argument!a} cannot be read in the encoding of the locale, "
                    f"{sys.getfilesystemencoding()}; set PYTHONUTF8=1 or a locale with UTF-8"
                )
        app(prog_name="seq2set", obj=_OWN_PROCESS if alone else None)  # the name also for python -m seq2set
    except (ModuleNotFoundError, Seq2SetError) as error:
        told = error if isinstance(error, Seq2SetError) else explain_missing(error)
        if told is None or os.environ.get("SEQ2SET_DEBUG"):
            raise
        for line in str(told).split("\n"):
            # It may repeat what stands in a stranger's file, which must not reach the terminal as a command.
            sys.stderr.write(f"seq2set: {make_printable(line)}\n")
        sys.exit(told.exit_code)
