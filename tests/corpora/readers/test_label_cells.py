"""Labels in one cell: lists that programs wrote out."""

from __future__ import annotations

import pytest

from seq2set.corpora.readers.cells.label_cells import looks_broken, parse_bare_list, parse_list


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        (r'["a\/b", "c"]', ["a/b", "c"]),  # as PHP writes JSON
        ("[-1, 2]", [-1, 2]),
        ("['a', -2.5]", ["a", -2.5]),
        (r"['a\/b']", [r"a\/b"]),  # no escape of Python's, and no warning either
        ("['a', nan]", ["a", None]),  # as pandas writes a missing label
        ("['a', null]", ["a", None]),
        ("['a', -'b']", None),
        ("[true, 'a']", None),
        ("[[1]]", None),
        ("{}", []),
        ("['a", None),
        ("set()", []),
        ("frozenset({'a'})", ["a"]),
        ("array(['a', 'b'], dtype=object)", ["a", "b"]),
        ("set(" * 20_000 + ")" * 20_000, None),
    ],
)
def test_lists_written_as_json_or_python(text: str, labels: list[object] | None) -> None:
    assert parse_list(text) == labels


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("[a, b]", ["a", "b"]),
        ("[Adult]", ["Adult"]),
        ("[men's health, rock 'n' roll]", ["men's health", "rock 'n' roll"]),
        ("[a, 2]", ["a", "2"]),
        ("[a, , b]", None),
        ("[a; b]", None),
        ("['a', b]", None),
        ("[f(x), b]", None),
        ("(a, b)", None),  # brackets that labels may have as well
        ("[]", None),
    ],
)
def test_lists_of_words_without_quotation_marks(text: str, labels: list[str] | None) -> None:
    assert parse_bare_list(text) == labels


@pytest.mark.parametrize(
    "text",
    [
        "['a', 'b",
        '["a"',
        "[a, b",
        "'a', 'b']",
        "(a, b)",
        "('a',",
        "{'a': 1}",
        "[x for x in 'ab']",
        "[[1]]",
        "set('ab')",
        "array(['a',",
    ],
)
def test_cells_that_look_like_lists_and_are_none_are_noticed(text: str) -> None:
    assert (parse_list(text), parse_bare_list(text)) == (None, None)
    assert looks_broken(text)


@pytest.mark.parametrize(
    "text", ["", "a", "(misc)", "{other}", "[R] Research", "Research [R]", "f(x)", "set theory", "a (b, c)"]
)
def test_labels_with_brackets_are_labels(text: str) -> None:
    assert (parse_list(text), parse_bare_list(text)) == (None, None)
    assert not looks_broken(text)
