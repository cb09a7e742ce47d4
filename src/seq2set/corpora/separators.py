"""Labels that are really several, joined by a sign at which they were not split.

A file whose labels stand as `a|b` reads without complaint where `;` is expected, and every combination is a
label then: a model learns next to nothing, and nothing says why.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from seq2set.corpora.readers.label_cells import looks_broken, looks_like_list

SIGNS = ("|", ",", "\t")
"""What people put between labels, besides `;`. A `/` more often leads from a label to a finer one."""


def overlooked_sign(label_sets: Iterable[Collection[str]]) -> str | None:
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
    pieces = {sign: {piece.strip() for label in labels for piece in label.split(sign)} for sign in SIGNS}
    sign = min(SIGNS, key=lambda one: len(pieces[one]))
    return sign if len(pieces[sign]) < len(labels) else None


def shown_sign(sign: str) -> str:
    """Return a sign as it is written in a shell."""
    return "$'\\t'" if sign == "\t" else f"'{sign}'"
