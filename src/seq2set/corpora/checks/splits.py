"""Splits that hold nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from seq2set.corpora.checks.check import Row
from seq2set.corpora.checks.finding import Finding
from seq2set.corpora.document import SPLITS

_WHY = {
    "train": "a model has nothing to learn from",
    "valid": "thresholds cannot be tuned and the best moment to stop training cannot be found",
    "test": "the quality of a model cannot be measured",
}


class EmptySplits:
    """Finds splits without a document."""

    def __init__(self) -> None:
        self._sizes: Counter[str] = Counter()

    def see(self, row: Row) -> None:
        """Take in one document."""
        self._sizes[row.split] += 1

    def findings(self) -> Iterator[Finding]:
        """Tell which splits are empty."""
        for split in SPLITS:
            if not self._sizes[split]:
                yield Finding(
                    code="empty-split",
                    level="error" if split == "train" else "warning",
                    what=f"the {split} split has no documents",
                    count=1,
                    examples=(split,),
                    why=_WHY[split],
                    todo=f"prepare the corpus again and set aside documents for {split}",
                )
