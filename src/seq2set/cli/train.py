"""`seq2set train`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seq2set.cli import idle_options, options

if TYPE_CHECKING:
    from seq2set.config import Config
    from seq2set.config.run_folder import RunFolder
    from seq2set.core.progress import Progress


@options.add_fields(options.Columns)
def train(
    out: Annotated[Path, typer.Option(help="The run folder to write.")],
    data: options.Data = None,
    model: options.Model = None,
    preset: options.Preset = None,
    config: options.ConfigFile = None,
    assignments: options.Assignments = None,
    begin_from: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="RUN",
            help="Begin with the weights, words and settings of this network; labels are matched by name.",
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="METRIC",
            help="Choose C and the kind of decision rule for this metric on validation, such as macro_f1.",
        ),
    ] = None,
    ensemble: Annotated[
        int | None,
        typer.Option(help="Train this many networks with different seeds, and average their scores."),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(help="Cross-validate on all documents first, for small corpora; then learn from all."),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Continue a run that was stopped; needs no other option than --out."),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the run that is in the folder.")] = False,
    **columns: Any,
) -> None:
    """Train a model on a corpus."""
    from seq2set.cli.console import RichProgress
    from seq2set.config import build_config
    from seq2set.core.hardware import get_rank
    from seq2set.workflows.train import train as run_training
    from seq2set.workflows.training_corpus import drop_absent_group

    rule = None if metric is None else "best"
    settings = {"data.corpus": data, "decision.metric": metric, "decision.rule": rule, "ensemble": ensemble}
    decided = {"preset": "--preset"} | ({} if model is None else {"model": "--model"})
    idle_options.refuse_settings(assignments, decided)
    merged = options.merge_assignments(assignments, columns, settings)
    base = _read_base(begin_from, preset, model)
    begun = options.read_begun(out, preset) if resume else None
    chosen = build_config(preset=preset, model=model, file=config, assignments=merged, base=begun or base)
    if base is not None and begun is None and not any(one.startswith("data.group") for one in merged):
        chosen = chosen.model_copy(update={"data": drop_absent_group(chosen.data)})
    idle_options.refuse_unread(chosen.data.corpus, columns, assignments)
    _refuse_ensemble(chosen, ensemble)
    progress = RichProgress()
    if get_rank() == 0 and (unread := idle_options.describe_unread(assignments, [chosen])):
        progress.note(unread)
    if get_rank() == 0 and (preset := _find_preset_with_vectors(chosen)):
        progress.note(f"a pretrained encoder is on this machine: --preset {preset} uses it, and is slower")
    run = run_training(
        chosen, out, resume=resume, force=force, folds=folds, progress=progress, begin_from=begin_from
    )
    if get_rank() == 0:  # it saves the model, which others may look for too early
        print_outcome(run, progress)


def _refuse_ensemble(config: Config, ensemble: int | None) -> None:
    from seq2set.config.catalog import find_model
    from seq2set.core.errors import InputError

    if ensemble is not None and ensemble > 1 and not find_model(config.model).network:
        raise InputError(f"--ensemble is {ensemble}, but {config.model} is no network: it is trained once")


def _find_preset_with_vectors(config: Config) -> str | None:
    """Return the preset that adds a pretrained encoder's vectors to the chosen one, if it would work here."""
    from seq2set.config.catalog import PRESETS, find_model
    from seq2set.config.loader import read_preset
    from seq2set.core.names import is_installed
    from seq2set.nn.pretrained.encoder_folder import is_present

    reads_features = "features" in find_model(config.model).sections
    if config.features.vectors or not reads_features or not is_installed("transformers"):
        return None
    above = (name for name, row in PRESETS.items() if row.adds_vectors and row.base == config.preset)
    return next((name for name in above if is_present(read_preset(name)["features"]["vectors"])), None)


def _read_base(begin_from: Path | None, preset: str | None, model: str | None) -> Config | None:
    from seq2set.core.errors import InputError
    from seq2set.workflows.starting_model import read_start_config

    if begin_from is None:
        return None
    for name, value in (("--preset", preset), ("--model", model)):
        if value is not None:
            raise InputError(
                f"{name} is {value}; with --from, model and settings are those of {begin_from}: leave it out"
            )
    return read_start_config(begin_from)


def print_outcome(run: RunFolder, progress: Progress) -> None:
    """Say how good the model is on validation, and what to type next."""
    from seq2set.config import load_config
    from seq2set.config.catalog import list_shown
    from seq2set.core.text_utils import count_things
    from seq2set.corpora.open_corpus import is_unsplit
    from seq2set.corpora.own_files import parse_size
    from seq2set.evaluation.results import describe_empty_labels
    from seq2set.inference.model_folder import read_metadata

    found = read_metadata(run.path)
    documents = count_things(found["corpus"]["valid"], "document")
    figures = ", ".join(
        f"{row.title} {found['validation'][name]:.{row.digits}f}"
        for name, row in list_shown().items()
        if name in found["validation"]
    )
    empty = describe_empty_labels({row["label"]: row["support"] for row in found.get("per_label", ())})
    progress.note("; ".join((f"validation, {documents}, on which the model was tuned: {figures}", *empty)))
    if "why" in (calibrated := found.get("calibrated", {})):  # earlier versions recorded nothing
        progress.note(f"scores are not calibrated: {calibrated['why']}")
    if "cross_validation" in found:
        _print_folds(found["cross_validation"])
        progress.note(f"the predictions of all folds are in {run.path / 'folds' / 'predictions.jsonl'}")
    progress.note(f"the model is in {run.model}; next:")
    place = shlex.quote(str(run.path))
    data = load_config(run.config).data
    untested = parse_size("test", str(data.test)) == 0 and is_unsplit(data.corpus)
    split = " --split valid" if untested else ""
    measure = "" if "cross_validation" in found else f"  seq2set evaluate {place}{split}\n"
    serve = f"\n  seq2set serve {place}" if not measure else ""
    progress.note(f'{measure}  seq2set predict {place} "a text"{serve}')


def _print_folds(found: dict[str, Any]) -> None:
    from seq2set.cli.console import print_table
    from seq2set.config.catalog import list_shown

    numbers = ("mean", "lowest", "highest", "together", "95 % interval")
    rows = []
    for name, row in list_shown().items():
        one = found["metrics"][name]
        values = (one["mean"], min(one["folds"]), max(one["folds"]), one["together"])
        bounds = " to ".join(f"{value:.{row.digits}f}" for value in one["interval"] or ()) or "–"
        rows.append((row.title, *(f"{value:.{row.digits}f}" for value in values), bounds))
    title = (
        f"{found['folds']} folds, {found['documents']:,} documents, each predicted by a model of the others"
    )
    print_table(("metric", *numbers), rows, numbers=numbers, title=title)
