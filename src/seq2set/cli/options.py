"""What the verbs share: options that mean the same everywhere, and tables of names below the help."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

from seq2set.core.errors import InputError
from seq2set.core.names import load_named

if TYPE_CHECKING:
    from seq2set.config import Config, DataSettings

_DATA = "A file or folder of files (CSV, JSON, Excel, ...), a prepared corpus, or a known one."
Data = Annotated[str | None, typer.Option("--data", help=_DATA)]
RequiredData = Annotated[str, typer.Option("--data", help=_DATA)]
Model = Annotated[
    str | None, typer.Option("--model", metavar="MODEL", help="One of the models below.  [default: seq2set]")
]
Preset = Annotated[
    str | None,
    typer.Option("--preset", metavar="PRESET", help="One of the presets below.  [default: compact]"),
]
ConfigFile = Annotated[Path | None, typer.Option("--config", help="A TOML file of settings over the preset.")]
Assignments = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.NAME=VALUE", help="One setting; may be repeated."),
]
ModelFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run or a model folder.")]
Search = Annotated[
    str | None, typer.Option("--search", metavar="SEARCH", help="How to search a decoder, see below.")
]
Threshold = Annotated[float | None, typer.Option("--threshold", help="Return labels scoring at least this.")]
TopK = Annotated[int | None, typer.Option("--top-k", help="Return the k highest-scoring labels.")]
Runtime = Annotated[str, typer.Option("--runtime", metavar="RUNTIME", help="What runs the model, see below.")]
Engine = Annotated[str, typer.Option("--engine", metavar="ENGINE", help="Where to compute: local or ray.")]
Address = Annotated[
    str | None, typer.Option("--address", help="The Ray cluster: HOST:PORT or auto; by default a local one.")
]
JsonLines = Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")]


@dataclass(frozen=True)
class TextColumns:
    """How texts are read from a plain file: settings of the section `data`, as options of verbs that read.

    What is not given is as the settings say, or as the training had it.
    """

    text: Annotated[str | None, "The column that holds the text; several as a,b.  [default: text]"] = None
    id: Annotated[str | None, "The column that holds the identifiers.  [default: id]"] = None
    encoding: Annotated[str | None, "The character encoding of a plain file.  [default: utf-8]"] = None
    delimiter: Annotated[str | None, "What separates cells; by default what the header suggests."] = None
    sheet: Annotated[str | None, "The sheet of an Excel file; by default the first."] = None
    strip_html: Annotated[bool | None, "Remove HTML tags and entities from texts."] = None
    plain_quotes: Annotated[bool | None, "Read quotation marks in CSV and TSV files as letters."] = None


@dataclass(frozen=True)
class Columns(TextColumns):
    """How documents with labels and splits are read, as options of every verb that takes a corpus."""

    labels: Annotated[str | None, "The column that holds the labels.  [default: labels]"] = None
    separator: Annotated[
        str | None, "What separates labels that stand in one text; auto finds it.  [default: auto]"
    ] = None
    label_columns: Annotated[
        str | None, "Columns of zeros and ones, named after labels: a,b,c or a pattern such as 'is_*'."
    ] = None
    keep_missing: Annotated[
        bool | None, "Read `NaN`, `None`, `NA` and the like in a plain file as labels."
    ] = None
    group: Annotated[str | None, "The column whose equal values stay in one split."] = None
    split_column: Annotated[
        str | None, "The column that names each document's split; auto finds it.  [default: auto]"
    ] = None
    valid: Annotated[str | None, "Validation documents: a number, a share such as 0.1, or a file."] = None
    test: Annotated[str | None, "Test documents: a number, a share such as 0.1, or a file; 0 for none."] = (
        None
    )
    no_test: Annotated[bool | None, "No test split: learn from and tune on all documents."] = None


Settings = Mapping[str, str | int | None]
"""Settings by their names, as options give them; none where the option is not given"""


def name_columns(columns: Settings) -> dict[str, Any]:
    """Return the settings of the section `data` that the options for columns give."""
    given = {name: value for name, value in columns.items() if value is not None}
    if given.pop("no_test", None):
        if "test" in given:
            raise InputError("--no-test and --test are both given; give one of the two")
        given["test"] = "0"
    for name in ("valid", "test"):
        if name in given and Path(str(given[name])).exists():
            given[name] = str(Path(str(given[name])).absolute())  # a run is measured from other folders too
    return {"split" if name == "split_column" else name: value for name, value in given.items()}


def build_data(corpus: str, columns: Settings) -> DataSettings:
    """Return the section `data` that names a corpus, as the options for columns say."""
    from seq2set.config import build_config

    return build_config(assignments=merge_assignments((), columns, {"data.corpus": corpus})).data


def merge_assignments(
    assignments: Sequence[str] | None, columns: Settings, options: Settings | None = None
) -> list[str]:
    """Return what `--set` and other options assign; refuse a setting that both give."""
    named = {f"data.{name}": value for name, value in name_columns(columns).items()} | dict(options or {})
    given = {setting: value for setting, value in named.items() if value is not None}
    for assignment in assignments or ():
        setting = assignment.partition("=")[0].strip()
        if setting in given:
            names = {"data.corpus": "data", "data.split": "split-column"}
            name = names.get(setting, setting.rpartition(".")[2].replace("_", "-"))
            raise InputError(f"{setting} is given both by --{name} and by --set; give one of the two")
    # As TOML: JSON is the same for strings, numbers and truth values, but for a character that TOML escapes.
    written = [f"{setting}={json.dumps(value, ensure_ascii=False)}" for setting, value in given.items()]
    return [*(one.replace("\x7f", "\\u007f") for one in written), *(assignments or ())]


def read_begun(out: Path, preset: str | None) -> Config | None:
    """Return the settings of the run that goes on, if there is one: what is not named is as it was."""
    from seq2set.config import load_config
    from seq2set.config.run_folder import RunFolder

    begun = RunFolder(out).config
    if not begun.is_file():
        return None
    config = load_config(begun)
    if preset not in (None, config.preset):
        raise InputError(
            f"{out} was begun with other settings: preset: {config.preset} -> {preset}; resume with the "
            "same, or begin a new run"
        )
    return config


Rows = Mapping[str, str]
"""Names with one line each"""


def list_names(tables: Mapping[str, Callable[[], Rows]]) -> type[TyperCommand]:
    """Return a command whose help ends with tables of names, which are read when the help is printed."""

    class ListingCommand(TyperCommand):
        def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
            for title, read in tables.items():
                with formatter.section(title):
                    formatter.write_dl(list(read().items()))

    return ListingCommand


def read_summaries(table: str, column: str = "summary", **more: str) -> Callable[[], Rows]:
    """Return what reads the names and summaries of a table at `module:name`, or of `more` names."""

    def read() -> Rows:
        found = load_named(table)
        rows = found() if callable(found) else found  # some of a table
        return {name: getattr(row, column) for name, row in rows.items()} | more

    return read


def add_fields(settings: type, **names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a verb an option for each field of a dataclass that is annotated with a help text.

    The verb takes them as keyword arguments. `names` are the options that are not called as their fields.
    """
    types = get_type_hints(settings, include_extras=True)
    made = [
        _make_parameter(field.name, names.get(field.name, field.name), types[field.name], field.default)
        for field in fields(settings)
        if get_origin(types[field.name]) is Annotated
    ]

    def add(verb: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(verb, eval_str=True).parameters.values()
        first = [one for one in own if one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
        last = [one for one in own if one.kind is inspect.Parameter.KEYWORD_ONLY]
        parameters = [*first, *made, *last]
        verb.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        verb.__annotations__ = {one.name: one.annotation for one in parameters}
        return verb

    return add


def _make_parameter(name: str, option: str, annotated: Any, default: object) -> inspect.Parameter:
    kind, text = get_args(annotated)
    shown = "<name>" if any(get_origin(one) is list for one in get_args(kind)) else None
    as_option: Any = Annotated[kind, typer.Option(f"--{option.replace('_', '-')}", help=text, metavar=shown)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=as_option)
