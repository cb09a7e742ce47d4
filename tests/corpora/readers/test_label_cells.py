"""Labels in one cell: lists that programs wrote out."""

from __future__ import annotations

import pytest

from seq2set.corpora.readers.label_cells import written_list


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        (r'["a\/b", "c"]', ["a/b", "c"]),  # as PHP writes JSON
        ("[-1, 2]", [-1, 2]),
        ("['a', -2.5]", ["a", -2.5]),
        (r"['a\/b']", [r"a\/b"]),  # no escape of Python's, and no warning either
        ("[true, 'a']", None),
        ("[[1]]", None),
        ("{}", []),
        ("['a", None),
    ],
)
def test_lists_written_as_json_or_python(text: str, labels: list[object] | None) -> None:
    assert written_list(text) == labels
