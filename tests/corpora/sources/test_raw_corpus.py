import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2set.core.errors import CorpusError
from seq2set.corpora.documents import Document
from seq2set.corpora.sources.raw_corpus import REMARKS, add_remark, keep_frequent_labels


def documents(*label_sets):
    return [Document(str(number), f"text {number}", labels) for number, labels in enumerate(label_sets)]


def test_rare_labels_go_and_documents_that_keep_none_go_with_them():
    # a: documents 0, 1, 2; b: 0, 1; c: 3 only. With at least 2 documents, c and document 3 go.
    notes = {}
    kept = list(keep_frequent_labels(documents(("a", "b"), ("b", "a"), ("a",), ("c",)), 2, notes))
    assert [(d.id, d.labels) for d in kept] == [("0", ("a", "b")), ("1", ("b", "a")), ("2", ("a",))]
    assert notes == {"frequent_labels": {"min_documents": 2, "documents_left_out": 1}}


def test_a_document_that_comes_again_replaces_the_earlier_one_and_counts_once():
    twice = [Document("1", "old", ("a",)), Document("1", "new", ("b",)), Document("2", "other", ("b",))]
    kept = list(keep_frequent_labels(twice, 2, {}))
    assert kept == [Document("1", "new", ("b",)), Document("2", "other", ("b",))]


def test_no_frequent_label_at_all_is_an_error():
    with pytest.raises(CorpusError, match="no label has at least 3 documents among the 2 that were read"):
        list(keep_frequent_labels(documents(("a",), ("a",)), 3, {}))


@settings(max_examples=50)
@given(st.lists(st.sets(st.sampled_from("abcdef")).map(tuple), min_size=1, max_size=30), st.integers(1, 5))
def test_every_label_left_had_enough_documents(label_sets, minimum):
    enough = {label for label in "abcdef" if sum(label in labels for labels in label_sets) >= minimum}
    if not enough:
        return
    notes = {}
    kept = list(keep_frequent_labels(documents(*label_sets), minimum, notes))
    assert {label for document in kept for label in document.labels} == enough
    assert all(document.labels for document in kept)
    assert len(kept) + notes["frequent_labels"]["documents_left_out"] == len(label_sets)


def test_remarks_add_up():
    notes = {}
    add_remark(notes, "one")
    add_remark(notes, "two")
    assert notes == {REMARKS: ["one", "two"]}
