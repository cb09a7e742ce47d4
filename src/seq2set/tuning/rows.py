"""The trials of a study as rows, and the tables that hold them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any, NamedTuple

import optuna
from optuna.trial import FrozenTrial, TrialState

from seq2set.files import write_json, write_text
from seq2set.metrics import is_better

STATES = {TrialState.COMPLETE: "complete", TrialState.PRUNED: "pruned", TrialState.FAIL: "failed"}
HEAD = ("trial", "state", "value", "looks", "seconds")


class TrialRow(NamedTuple):
    """What became of one trial."""

    number: int
    state: str
    value: float | None
    """The metric on validation; of a pruned trial, its last look."""
    looks: int
    seconds: float
    settings: dict[str, Any]
    error: str | None

    @property
    def score(self) -> float:
        """The value of a trial that is known to have one."""
        assert self.value is not None
        return self.value


def trial_rows(study: optuna.Study) -> list[TrialRow]:
    """Return the trials that came to an end, in the order of their numbers."""
    return [_row(trial) for trial in study.get_trials(deepcopy=False) if trial.state in STATES]


def best_row(rows: list[TrialRow], metric: str) -> TrialRow | None:
    """Return the best trial that came to its end, the first of equals; None where there is none."""
    done = [row for row in rows if row.state == "complete"]
    lower = is_better(0.0, 1.0, metric)
    return min(done, key=lambda row: row.score if lower else -row.score, default=None)


def write_tables(rows: list[TrialRow], folder: Path) -> None:
    """Write the trials as JSON, CSV and Markdown."""
    write_json(folder / "trials.json", [row._asdict() for row in rows])
    cells = [_cells(row) for row in rows]
    head = [*HEAD, *rows[0].settings]
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([head, *cells])
    write_text(folder / "trials.csv", stream.getvalue())
    lines = [head, ["---"] * len(head), *cells]
    write_text(folder / "trials.md", "".join(f"| {' | '.join(line)} |\n" for line in lines))


def shown(value: Any) -> str:
    """Return a setting's value as tables and pictures show it."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return value if isinstance(value, str) else json.dumps(value)


def _row(trial: FrozenTrial) -> TrialRow:
    about = trial.user_attrs
    value = None if trial.state == TrialState.FAIL else trial.value
    looks = len(trial.intermediate_values)
    seconds, error = about.get("seconds", 0.0), about.get("error")
    return TrialRow(trial.number, STATES[trial.state], value, looks, seconds, trial.params, error)


def _cells(row: TrialRow) -> list[str]:
    value = "" if row.value is None else f"{row.value:.4f}"
    plain = [str(row.number), row.state, value, str(row.looks), f"{row.seconds:.1f}"]
    return plain + [shown(setting) for setting in row.settings.values()]
