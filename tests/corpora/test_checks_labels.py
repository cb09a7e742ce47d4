from __future__ import annotations

import pytest
from small_corpora import healthy, healthy_corpus, write_corpus

from seq2set.corpora.checks import check_corpus


def found(tmp_path, train_labels, test_labels=(), valid_labels=(), minimum=1):
    splits = healthy_corpus()
    # The corpus's own labels go, so that what is found is what the test puts in.
    for split, labels in (("train", train_labels), ("valid", valid_labels), ("test", test_labels)):
        documents = [document._replace(labels=()) for document in healthy(split, max(20, len(labels)))]
        documents[: len(labels)] = [d._replace(labels=own) for d, own in zip(documents, labels, strict=False)]
        splits[split] = documents
    findings = check_corpus(write_corpus(tmp_path, splits), min_label_documents=minimum)
    return {finding.code: finding for finding in findings if finding.code != "documents-without-labels"}


def test_labels_that_train_lacks(tmp_path):
    findings = found(tmp_path, [("a",)], [("a", "new"), ("new",), ("both",)], [("both",), ("odd",)])
    test, valid = findings["test-labels-not-in-train"], findings["valid-labels-not-in-train"]
    assert (test.level, test.what) == ("warning", "2 labels occur in test but never in train")
    assert test.examples == ("new", "both")  # the more frequent first
    assert valid.what == "2 labels occur in valid but never in train"
    assert valid.examples == ("both", "odd")


def test_one_label_that_train_lacks(tmp_path):
    finding = found(tmp_path, [("a",)], [("new",)])["test-labels-not-in-train"]
    assert finding.what == "1 label occurs in test but never in train"


def test_rare_labels(tmp_path):
    # In train: a 3, b 2, c 1; that c has three in test does not help.
    # A label that train does not have at all is another finding's concern.
    findings = found(tmp_path, [("a",), ("a", "b"), ("a", "b"), ("c",)], [("c", "new")] * 3, minimum=3)
    finding = findings["rare-labels"]
    assert finding.level == "warning"
    assert finding.what == "2 labels have fewer than 3 documents in train"
    assert finding.examples == ("c", "b")  # the rarest first


def test_no_label_is_rare_at_a_minimum_of_one(tmp_path):
    assert found(tmp_path, [("a",), ("b",)], minimum=1) == {}


def test_labels_that_always_occur_together(tmp_path):
    train = [("a", "b", "c"), ("b", "a"), ("d", "e"), ("e", "d"), ("d", "e"), ("f",)]
    finding = found(tmp_path, train, [("c",)], minimum=2)["labels-always-together"]
    assert finding.level == "note"
    assert finding.what == "2 groups of labels always occur together"
    assert finding.examples == ("d + e", "a + b")  # the more frequent first


def test_a_label_that_stands_alone_once_in_test_is_not_always_together(tmp_path):
    assert "labels-always-together" not in found(tmp_path, [("a", "b")] * 5, [("a",)])


def test_rare_labels_that_share_their_documents_are_not_told(tmp_path):
    assert "labels-always-together" not in found(tmp_path, [("a", "b")], minimum=2)


def test_a_large_group_of_labels_is_told_in_short(tmp_path):
    finding = found(tmp_path, [tuple(f"l{i:04}" for i in range(1005))])["labels-always-together"]
    assert finding.what == "1 group of labels always occur together"
    assert finding.examples == ("l0000 + l0001 + l0002 + l0003 + l0004 + 1,000 more",)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Wheat", "wheat"),
        ("new  york", "new york"),
        ("tab\tlabel", "tab label"),
        ("caf\u00e9", "cafe\u0301"),
        ("\ufb01sh", "fish"),
        ("Straße", "STRASSE"),
    ],
)
def test_labels_that_differ_only_in_form(tmp_path, first, second):
    finding = found(tmp_path, [(first,), (second,), ("other",)])["label-variants"]
    assert finding.level == "warning"
    assert finding.count == 1
    assert finding.examples == (" | ".join(sorted((first, second))),)


def test_labels_that_differ_in_letters_are_no_variants(tmp_path):
    assert "label-variants" not in found(tmp_path, [("resume",), ("résumé",), ("resumes",)])


def test_a_label_in_most_documents(tmp_path):
    # 31 of the 60 documents.
    finding = found(tmp_path, [("all", "x")] * 20, [("all",)] * 11)["dominant-labels"]
    assert finding.level == "warning"
    assert finding.what == "1 label is in most documents, 'all' in 31 of 60 (51.7 %)"
    assert finding.examples == ("all",)


def test_a_label_in_half_of_the_documents_is_not_in_most(tmp_path):
    assert "dominant-labels" not in found(tmp_path, [("all",)] * 20, [("all",)] * 10)


def test_several_labels_in_most_documents(tmp_path):
    labels = [("a", "b")] * 20
    finding = found(tmp_path, labels, [*labels[:18], ("b",), ("b",)])["dominant-labels"]
    assert finding.what == "2 labels are in most documents, 'b' in 40 of 60 (66.7 %)"


def test_labels_that_were_not_split(tmp_path):
    finding = found(tmp_path, [("a|b",), ("a|b",), ("b|c",), ("a|c",), ("a",)])["joined-labels"]
    assert finding.level == "warning"
    assert finding.what == "3 labels look like several, joined by '|'"
    assert finding.examples == ("a|b", "a|c", "b|c")  # the most frequent first
    assert finding.todo == "pass the separator of the labels, here probably --separator '|'"


def test_labels_that_were_split_may_hold_any_sign(tmp_path):
    assert "joined-labels" not in found(tmp_path, [("a|b",), ("b|c", "a"), ("a|c",), ("b",)])
