from __future__ import annotations

from seq2set.corpora.label_table import LabelTable


def filled():
    table = LabelTable()
    table.add("train", ("b", "a", "b"))
    table.add("train", ())
    table.add("test", ("c", "a"))
    table.add("test", ("a", "b"))
    return table


def test_a_label_that_stands_twice_in_a_document_counts_once():
    table = filled()
    assert table.names == ["b", "a", "c"]
    assert table.matrix().toarray().tolist() == [[1, 1, 0], [0, 0, 0], [0, 1, 1], [1, 1, 0]]
    assert table.cardinalities().tolist() == [2, 0, 2, 2]


def test_splits_are_counted_apart():
    table = filled()
    assert table.sizes == {"train": 2, "valid": 0, "test": 2}
    assert table.rows("test") == slice(2, 4)
    assert table.frequencies("train").tolist() == [1, 1, 0]
    assert table.frequencies("valid").tolist() == [0, 0, 0]
    assert table.frequencies("test").tolist() == [1, 2, 1]
    assert table.frequencies().tolist() == [2, 3, 1]


def test_label_sets_are_equal_whatever_their_order():
    first, empty, other, same = filled().label_sets()
    assert first == same
    assert len({first, empty, other}) == 3


def test_an_empty_table():
    table = LabelTable()
    assert table.names == []
    assert table.matrix().shape == (0, 0)
    assert table.label_sets() == []
