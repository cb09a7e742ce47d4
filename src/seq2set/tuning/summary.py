"""What a study found: the best settings as a file to train with, tables of all trials, and a picture."""

from __future__ import annotations

from typing import NamedTuple

from seq2set.config import load_config, write_toml
from seq2set.errors import WorkError
from seq2set.runs import RunFolder
from seq2set.tuning.plot import draw_study
from seq2set.tuning.rows import TrialRow, best_row, trial_rows, write_tables
from seq2set.tuning.study import StudyFolder
from seq2set.tuning.trial import Bench


class Tuned(NamedTuple):
    """The best trial of a study, and where everything lies."""

    folder: StudyFolder
    metric: str
    rows: list[TrialRow]
    best: TrialRow

    @property
    def run(self) -> RunFolder:
        """The run folder of the best trial, with its model."""
        return self.folder.run(self.best.number)


def summarise(bench: Bench) -> Tuned:
    """Write the best settings, the tables and the picture of a study."""
    folder, metric, rows = bench.folder, bench.config.decision.metric, trial_rows(bench.study)
    best = best_row(rows, metric)
    write_tables(rows, folder.path)
    if best is None:
        reason = next((row.error for row in rows if row.error), "all were pruned")
        raise WorkError(f"none of the {len(rows)} trials in {folder.path} came to its end: {reason}")
    # A worker's share of the cores is no part of what was found.
    found = load_config(folder.run(best.number).config).model_copy(update={"threads": bench.config.threads})
    write_toml(found, folder.best)
    draw_study(rows, bench.space.parameters, metric, folder.path)
    return Tuned(folder, metric, rows, best)
