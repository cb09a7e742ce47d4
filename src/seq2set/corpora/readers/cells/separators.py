"""What stands between the labels of one cell, found in cells, and noticed where it was overlooked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from seq2set.corpora.readers.cells.label_cells import looks_broken, looks_like_list

SIGNS = (";", "|", "\n", "\t")
"""Signs that hardly ever stand inside a label: one that occurs separates."""

SEPARATORS = ("|", ",", "\t")
"""What people put between labels, besides `;`. A `/` more often leads from a label to a finer one."""

WEAK_SEPARATORS = ("/", "+", " ")
"""Signs that stand inside labels as well: they are noticed where what they cut off is a label by itself."""

REUSED = 0.75
"""Commas separate where at least this share of what they cut off occurs in other cells too."""


def find_separator(cells: Sequence[str]) -> str | None:
    """Return the sign at which label cells are to be split, or None where none can be told.

    Commas stand inside labels as well (`Heart Failure, Congestive`): they count where nearly all of the
    pieces are found again in other cells, alone or beside others.
    """
    plain = [cell for cell in cells if not looks_like_list(cell)]
    counts = {sign: sum(sign in cell for cell in plain) for sign in SIGNS}
    best = max(SIGNS, key=lambda sign: counts[sign])
    if counts[best]:
        return best
    joined = {cell for cell in plain if "," in cell}
    sets = [{piece.strip() for piece in cell.split(",")} for cell in set(plain)]
    held = Counter(piece for one in sets for piece in one)
    pieces = [piece for cell in joined for piece in map(str.strip, cell.split(",")) if piece]
    if not pieces or sum(held[piece] > 1 for piece in pieces) < REUSED * len(pieces):
        return None
    return ", " if all(cell.count(", ") == cell.count(",") for cell in joined) else ","


def guess_separator(label_sets: Iterable[Collection[str]]) -> str | None:
    """Return the sign at which labels should probably be split, or None.

    No document has two labels then, and splitting leaves fewer labels than there are. Labels in brackets are
    a list that could not be read: no sign would take the brackets off.
    """
    labels: set[str] = set()
    for label_set in label_sets:
        if len(label_set) > 1:
            return None
        labels.update(label_set)
    if any(looks_like_list(label) or looks_broken(label) for label in labels):
        return None
    pieces = {sign: {piece.strip() for label in labels for piece in label.split(sign)} for sign in SEPARATORS}
    sign = min(SEPARATORS, key=lambda one: len(pieces[one]))
    return sign if len(pieces[sign]) < len(labels) else _guess_weak_separator(labels)


def _guess_weak_separator(labels: Collection[str]) -> str | None:
    for sign in WEAK_SEPARATORS:
        joined = [label.split(sign) for label in labels if sign in label]
        pieces = [piece.strip() for parts in joined for piece in parts]
        if pieces and sum(piece in labels for piece in pieces) >= REUSED * len(pieces):
            return sign
    return None


def quote_separator(sign: str) -> str:
    """Return a sign as it is written in a shell."""
    return {"\t": "$'\\t'", "\n": "$'\\n'"}.get(sign, f"'{sign}'")
