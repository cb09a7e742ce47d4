"""The checks as a whole, and those on splits and on the contents of documents."""

from __future__ import annotations

import pytest
from small_corpora import healthy, healthy_corpus, write_corpus

from seq2set.core.errors import InputError
from seq2set.corpora.checks import ExampleCounter, check_corpus, format_share
from seq2set.corpora.documents import Document


def found(tmp_path, splits, **options):
    findings = check_corpus(write_corpus(tmp_path, splits), **options)
    return {finding.code: finding for finding in findings}


def test_nothing_is_found_in_a_healthy_corpus(tmp_path):
    assert check_corpus(write_corpus(tmp_path, healthy_corpus())) == []


def test_the_gravest_findings_come_first(tmp_path):
    splits = healthy_corpus()
    splits["train"][0] = splits["train"][0]._replace(labels=())
    splits["train"][1] = Document("hurt", "a null \x00 byte", ("x",))
    splits["test"][0] = splits["train"][2]._replace(id="copy")
    findings = check_corpus(write_corpus(tmp_path, splits))
    assert [(finding.level, finding.code) for finding in findings] == [
        ("error", "duplicates-in-test"),
        ("warning", "control-characters"),
        ("note", "documents-without-labels"),
    ]


@pytest.mark.parametrize(("split", "level"), [("train", "error"), ("valid", "warning"), ("test", "warning")])
def test_an_empty_split(tmp_path, split, level):
    finding = found(tmp_path, healthy_corpus() | {split: []})["empty-split"]
    assert finding.level == level
    assert finding.what == f"the {split} split has no documents"
    assert finding.examples == (split,)


def test_a_few_documents_without_text_are_a_warning(tmp_path):
    # 1 of 20 in train is 5 %, which is not above 5 %.
    splits = healthy_corpus()
    splits["train"][3] = Document("blank", " \n\t ", ("x",))
    splits["test"][0] = Document("empty", "", ("y",))
    finding = found(tmp_path, splits)["documents-without-text"]
    assert finding.level == "warning"
    assert finding.what == "2 of 28 (7.1 %) documents have no text"
    assert finding.examples == ("blank", "empty")


def test_many_training_documents_without_text_are_an_error(tmp_path):
    splits = healthy_corpus()
    splits["train"][3:5] = [Document("e1", "", ("x",)), Document("e2", "", ("y",))]
    assert found(tmp_path, splits)["documents-without-text"].level == "error"


@pytest.mark.parametrize(("bare", "level"), [(2, "note"), (3, "warning")])
def test_documents_without_labels(tmp_path, bare, level):
    # 2 of 20 is 10 %, which is not above 10 %.
    splits = healthy_corpus()
    splits["train"][:bare] = [document._replace(labels=()) for document in splits["train"][:bare]]
    finding = found(tmp_path, splits)["documents-without-labels"]
    assert finding.level == level
    assert finding.count == bare
    assert finding.examples == tuple(f"train{i}" for i in range(bare))


def test_a_training_split_without_any_label_is_an_error(tmp_path):
    splits = healthy_corpus()
    splits["train"] = [document._replace(labels=()) for document in splits["train"]]
    finding = found(tmp_path, splits)["documents-without-labels"]
    assert finding.level == "error"
    assert finding.what == "20 of 28 (71.4 %) documents have no labels, among them all of train"


def test_at_most_five_examples_are_told(tmp_path):
    finding = found(tmp_path, {"train": [Document(str(i), "", ("x",)) for i in range(9)]})[
        "documents-without-text"
    ]
    assert finding.count == 9
    assert finding.examples == ("0", "1", "2", "3", "4")


def test_an_empty_corpus_is_checked(tmp_path):
    findings = check_corpus(write_corpus(tmp_path, {}))
    assert [(finding.code, finding.level) for finding in findings] == [
        ("empty-split", "error"),
        ("empty-split", "warning"),
        ("empty-split", "warning"),
    ]


def test_a_finding_as_json(tmp_path):
    finding = found(tmp_path, healthy_corpus() | {"valid": []})["empty-split"]
    assert finding.to_dict() == {
        "code": "empty-split",
        "level": "warning",
        "what": "the valid split has no documents",
        "count": 1,
        "examples": ["valid"],
        "why": "thresholds cannot be tuned and the best moment to stop training cannot be found",
        "todo": "prepare the corpus again and set aside documents for valid",
    }


def test_progress_adds_up(tmp_path):
    seen: list[int] = []
    check_corpus(write_corpus(tmp_path, {"train": healthy("train", 5000)}), progress=seen.append)
    assert seen == [4096, 904]


@pytest.mark.parametrize("value", [0.49, 1.01])
def test_a_similarity_out_of_range_is_refused(tmp_path, value):
    with pytest.raises(InputError, match=rf"^near_duplicate is {value}; it must lie in \[0.5, 1\]$"):
        check_corpus(write_corpus(tmp_path, {}), near_duplicate=value)


def test_a_frequency_below_one_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"^min_label_documents is 0; it must be >= 1$"):
        check_corpus(write_corpus(tmp_path, {}), min_label_documents=0)


def test_a_tally_keeps_the_first_examples():
    tally = ExampleCounter()
    for i in range(7):
        tally.add(str(i))
    finding = tally.make_finding("code", "note", "what", "why", "todo")
    assert (finding.count, finding.examples) == (7, ("0", "1", "2", "3", "4"))


def test_a_share_of_nothing():
    assert format_share(0, 0) == "0 of 0 (0.0 %)"
    assert format_share(12, 1000) == "12 of 1,000 (1.2 %)"


def test_texts_that_are_hardly_split_are_found(tmp_path):
    splits = healthy_corpus()
    chinese, joined = (
        "银行今天宣布下调利率市场反应积极农业丰收大家都很高兴",
        "thebanktodayloweredtheratesandmarketswerehappy",
    )
    splits["train"] += [
        Document("chinese", chinese, ("x",)),
        Document("joined", f"{joined} {joined}", ("y",)),
    ]
    (found,) = [
        one for one in check_corpus(write_corpus(tmp_path, splits)) if one.code == "texts-hardly-split"
    ]
    # One of 30: Chinese letters are words by themselves.
    assert (found.level, found.count, found.examples) == ("warning", 1, ("joined",))
    assert "1 of 30 (3.3 %) texts are hardly split into words" in found.what
    assert "--set text.unit=character" in found.todo
