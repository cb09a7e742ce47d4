from __future__ import annotations

import pytest

from seq2set.corpora.readers.cells.separators import guess_separator, quote_separator


@pytest.mark.parametrize(
    ("labels", "sign"),
    [
        (["a|b", "a", "b"], "|"),
        (["a|b", "b|c", "c|a", "a|b|c"], "|"),
        (["a, b", "b, c", "a, c", "c, b"], ","),
        (["a\tb", "b\tc", "a\tc", "c\tb"], "\t"),
        (["a", "b", "c"], None),
        (["Smith, John", "Smith, Jane", "Doe, John"], None),  # four names, of three people
        (["sport/tennis", "sport/golf", "sport"], None),
        (["bug/login", "bug", "login", "login/bug/mobile", "mobile"], "/"),
        (["#bug #login", "#bug", "#login"], " "),
        (["machine learning", "machine vision", "vision"], None),
        (["a|b"], None),
        ([], None),
    ],
)
def test_a_sign_is_overlooked_where_splitting_leaves_fewer_labels(
    labels: list[str], sign: str | None
) -> None:
    assert guess_separator([label] for label in labels) == sign


def test_documents_of_two_labels_were_split_rightly() -> None:
    assert guess_separator([["a|b"], ["a"], ["b"], []]) == "|"
    assert guess_separator([["a|b"], ["a"], ["b", "c"]]) is None


def test_a_sign_as_it_is_written_in_a_shell() -> None:
    assert [quote_separator(sign) for sign in ("|", "\t")] == ["'|'", "$'\\t'"]


def test_brackets_are_not_taken_off_by_a_sign() -> None:
    assert guess_separator([[one] for one in ("[a, b]", "[b, c]", "[a, c]", "[c, b]")]) is None
