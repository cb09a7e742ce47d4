"""What a study tells while it runs: a sentence a trial, and the best so far."""

from __future__ import annotations

import optuna

from seq2set.progress import Advance, Progress
from seq2set.tuning.rows import TrialRow, best_row, trial_rows


class Told:
    """Tells of trials that came to an end since it was last called."""

    def __init__(self, study: optuna.Study, metric: str, advance: Advance, progress: Progress):
        self.study, self.metric, self.advance, self.progress = study, metric, advance, progress
        self.seen: set[int] = set()

    @property
    def count(self) -> int:
        """How many trials came to an end."""
        return len(self.seen)

    def __call__(self) -> None:
        """Look into the study, and tell."""
        for row in self.catch_up():
            self.progress.note(_sentence(row, self.metric))

    def catch_up(self) -> list[TrialRow]:
        """Move on by the trials that are new, and return them."""
        rows = trial_rows(self.study)
        best = best_row(rows, self.metric)
        new = [row for row in rows if row.number not in self.seen]
        self.seen |= {row.number for row in new}
        if new:
            self.advance(len(new), f"best {best.score:.4f} (trial {best.number})" if best else "")
        return new


def _sentence(row: TrialRow, metric: str) -> str:
    if row.state == "complete":
        return f"trial {row.number}: {metric} {row.value:.4f} after {row.seconds:.0f} s"
    if row.state == "pruned":
        return f"trial {row.number}: given up after {row.looks} looks, worse than half of the others"
    return f"trial {row.number}: failed, {row.error}"
