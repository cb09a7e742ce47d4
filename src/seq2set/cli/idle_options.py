"""Options that have no effect where they stand: each is refused by its name, so that nobody relies on it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from seq2set.core.errors import InputError
from seq2set.core.text_utils import join_names

if TYPE_CHECKING:
    from seq2set.cli.options import Settings
    from seq2set.config import Config


def refuse_idle(context: typer.Context, why: str, *names: str) -> None:
    """Refuse those of some options that were typed, by the names of their values, and say why."""
    options = {one.name: one.opts[0] for one in context.command.params}
    given = [options[name] for name in names if _is_typed(context, name)]
    if given:
        _refuse(given, why)


def mention_search(context: typer.Context, models: Iterable[Path]) -> None:
    """Say that a search has no effect where no model has a decoder; scripts name one for all models."""
    from seq2set.config.catalog import find_model
    from seq2set.inference.model_folder import read_model_name

    if _is_typed(context, "search"):
        names = list(dict.fromkeys(map(read_model_name, models)))
        if not any("decoder" in find_model(name).sections for name in names):
            typer.echo(
                f"--search has no effect on {join_names(names)}, without a decoder to search", err=True
            )


def _is_typed(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _refuse(given: Sequence[str], why: str, advice: str = "leave {it} out") -> None:
    has, it = ("has", "it") if len(given) == 1 else ("have", "them")
    raise InputError(f"{join_names(given)} {has} no effect {why}; {advice.format(it=it)}")


def name_option(name: str) -> str:
    """Return an option by the name of its value."""
    return f"--{name.replace('_', '-')}"


def refuse_unread(
    corpus: str | None, columns: Settings, assignments: Iterable[str] | None = None, *, texts: bool = False
) -> None:
    """Refuse options and settings for reading files that make no difference to a corpus.

    With `texts` there are other files beside it, of which columns are read.
    """
    from seq2set.corpora.open_corpus import is_settled, list_formats
    from seq2set.corpora.readers import OPTIONS_OF_FORMATS

    given = {name: value for name, value in columns.items() if value is not None}
    _refuse_beside_files(given)
    keys = [one.partition("=")[0].strip() for one in assignments or ()]
    read = [key for key in keys if key.startswith("data.") and key != "data.corpus"]
    if not corpus or not (given or read):
        return
    if is_settled(corpus):
        _refuse_settled(corpus, given, read, texts=texts)
    elif OPTIONS_OF_FORMATS & given.keys() and not texts:
        named = [str(given[name]) for name in ("valid", "test") if name in given]
        refuse_misread(set().union(*map(list_formats, [corpus, *named])), given)


def _refuse_beside_files(given: Settings) -> None:
    """Refuse what other options for reading leave nothing to do."""
    if "split_column" in given:
        for name in ("valid", "test"):
            if Path(str(given.get(name, ""))).is_file():
                _refuse(["--split-column"], f"beside --{name} with a file, which is that split")
    if "label_columns" in given:
        named = [name_option(name) for name in ("labels", "separator") if name in given]
        if named:
            _refuse(named, "beside --label-columns, which name the labels")


def _refuse_settled(corpus: str, given: Settings, settings: Sequence[str], *, texts: bool) -> None:
    from dataclasses import fields

    from seq2set.cli.options import TextColumns

    used = {one.name for one in fields(TextColumns)} if texts else set()
    options = [name_option(name) for name in given if name not in used]
    typed = [f"--set {key}" for key in settings if key.partition(".")[2] not in used]
    if options or typed:
        _refuse(
            [*options, *typed],
            f"on {corpus}, a corpus that is prepared or known, whose texts, labels and splits are fixed",
            "leave {it} out, or prepare the raw files again: "
            f"{' '.join(['seq2set data prepare NAME --from PATH', *options])} ...",
        )


def refuse_misread(formats: Collection[str], columns: Settings) -> None:
    """Refuse options for reading files that none of some formats has a use for."""
    from seq2set.corpora.readers import FORMATS, OPTIONS_OF_FORMATS

    read = {option for name in formats for option in FORMATS[name].reads}
    given = [name for name, value in columns.items() if value is not None]
    vain = [name for name in given if name in OPTIONS_OF_FORMATS - read]
    if formats and vain:
        titles = join_names([FORMATS[name].title for name in sorted(formats)])
        _refuse(list(map(name_option, vain)), f"on files in the format {titles}")


def refuse_settings(assignments: Iterable[str] | None, options: Mapping[str, str], by: str = "--set") -> None:
    """Refuse `--set` for what only options decide, each with its option."""
    for assignment in assignments or ():
        setting = assignment.partition("=")[0].strip()
        if setting in options:
            raise InputError(f"{by} {setting} has no effect; pass {options[setting]}")


def describe_unread(assignments: Iterable[str] | None, configs: Sequence[Config]) -> str | None:
    """Say which settings that were typed no model of some reads; None where there are none."""
    from seq2set.config.catalog import reads
    from seq2set.config.loader import list_setting_names

    keys = dict.fromkeys(one.partition("=")[0].strip() for one in assignments or ())
    known = set(list_setting_names())
    vain = [
        key
        for key in keys
        if key in known and not any(reads(one.model, key, one.encoder.kind) for one in configs)
    ]
    if not vain:
        return None
    models = join_names(list(dict.fromkeys(one.model for one in configs)))
    return f"{join_names(vain)} {'has' if len(vain) == 1 else 'have'} no effect on {models}"
