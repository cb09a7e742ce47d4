"""What a user may ask of a known source."""

from __future__ import annotations

from dataclasses import dataclass, replace

from seq2set.corpora.splits import SplitPlan
from seq2set.errors import InputError, UnknownNameError


@dataclass(frozen=True)
class SourceOptions:
    """What a user may ask of a known source; None leaves the choice to the source.

    `split` names one of the source's splits. `valid` and `test` are numbers of documents or shares, and
    `seed` is the seed, of whatever part of the split is random. Labels of fewer than `min_label_documents`
    documents are dropped.
    """

    split: str | None = None
    valid: int | float | None = None
    test: int | float | None = None
    seed: int | None = None
    encoding: str | None = None
    min_label_documents: int | None = None

    def plan(self, default: SplitPlan) -> SplitPlan:
        """Return a source's split plan with the sizes and the seed that were asked for."""
        return replace(
            default,
            valid=default.valid if self.valid is None else self.valid,
            test=default.test if self.test is None else self.test,
            seed=default.seed if self.seed is None else self.seed,
        )

    def least_documents(self, default: int) -> int:
        """Return how many documents a label must have, by default as many as the source wants."""
        return default if self.min_label_documents is None else self.min_label_documents

    def chosen_split(self, source: str, known: tuple[str, ...] = ()) -> str | None:
        """Return the split asked for, or refuse a name that the source does not have."""
        if self.split is None or self.split in known:
            return self.split
        if not known:
            raise InputError(f"split is '{self.split}'; {source} has one split only, so name none")
        raise UnknownNameError(f"{source}'s split", self.split, known)


DEFAULT_SOURCE_OPTIONS = SourceOptions()
"""What is read where nothing is asked for."""
