from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from seq2set.core.errors import CorpusError
from seq2set.corpora.documents import Document
from seq2set.corpora.readers import ReadOptions, read_documents
from seq2set.corpora.readers.json_files import read_objects


def read(path: Path, *objects: Any, **options: str) -> list[Document]:
    path.write_text("\n".join(map(json.dumps, objects)), encoding="utf-8")
    return list(read_documents(path, ReadOptions(**options)))


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.json"])
def test_objects_become_documents(tmp_path: Path, name: str) -> None:
    objects = [
        {"id": "a", "text": "one", "labels": ["x", " y ", "x", ""]},
        {"id": 7, "text": None, "labels": None},
    ]
    assert read(tmp_path / name, *objects) == [Document("a", "one", ("x", "y")), Document("7", "", ())]


def test_labels_may_be_one_text(tmp_path: Path) -> None:
    values = {"text": "t", "labels": "x;y|z"}
    assert read(tmp_path / "a.jsonl", values)[0].labels == ("x", "y|z")
    assert read(tmp_path / "a.jsonl", values, separator="|")[0].labels == ("x;y", "z")


def test_a_label_in_a_list_is_never_split(tmp_path: Path) -> None:
    assert read(tmp_path / "a.jsonl", {"text": "t", "labels": ["x;y"]})[0].labels == ("x;y",)


def test_blank_lines_are_passed_over_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "t", "labels": []}\n\n  \n{"text": "u", "labels": []}\nnot json\n')
    documents = read_documents(path)
    assert [next(documents).id, next(documents).id] == ["1", "2"]
    with pytest.raises(
        CorpusError, match=re.escape(f"{path}, line 5: the line is not JSON (Expecting value)")
    ):
        next(documents)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "t"', "the line is not JSON"),
        ("[" * 200_000, "the line is not JSON (too deep or too large)"),
        ("1" * 5000, "the line is not JSON (too deep or too large)"),
        (
            '["t", "x"]',
            "the line holds a JSON list; one object per line, or one list of objects, is expected",
        ),
    ],
)
def test_lines_that_are_no_objects_are_refused(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "t", "labels": []}\n' + line)
    with pytest.raises(CorpusError, match="line 2: " + re.escape(message)):
        list(read_documents(tmp_path / "a.jsonl"))


@pytest.mark.parametrize(
    ("labels", "seen"),
    [
        (True, "true or false"),
        ({"x": 1}, "an object"),
        ([{"name": "x"}, "y"], "a list with an object in it"),
        ([False], "a list with true or false in it"),
    ],
)
def test_labels_of_another_type_are_refused(tmp_path: Path, labels: Any, seen: str) -> None:
    message = (
        f"line 2: column 'labels' holds {seen}; it must hold a list of texts, or one text with a separator"
    )
    with pytest.raises(CorpusError, match=re.escape(message)):
        read(tmp_path / "a.jsonl", {"text": "t", "labels": []}, {"text": "t", "labels": labels})


@pytest.mark.parametrize(
    ("labels", "names"),
    [(3, ("3",)), (0.5, ("0.5",)), (["x", 3, 4.0], ("x", "3", "4")), ([["x"], ["y", []]], ("x", "y"))],
)
def test_numbers_and_lists_in_lists_are_labels(tmp_path: Path, labels: Any, names: tuple[str, ...]) -> None:
    (document,) = read(tmp_path / "a.jsonl", {"text": "t", "labels": labels})
    assert document.labels == names


def test_texts_of_another_type_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="line 1: column 'text' holds a whole number; it must hold a text"):
        read(tmp_path / "a.jsonl", {"text": 3, "labels": []})


def test_texts_may_be_lists_of_words_and_ids_anything(tmp_path: Path) -> None:
    rows = [
        {"id": name, "text": ["two", "words"], "labels": []} for name in (True, 3, 4.0, None, float("nan"))
    ]
    documents = read(tmp_path / "a.jsonl", *rows)
    assert [document.id for document in documents] == ["True", "3", "4", "4", "5"]
    assert {document.text for document in documents} == {"two words"}


def test_a_key_missing_in_one_line_names_the_line(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="line 2: there is no column 'text', did you mean 'txt'"):
        read(tmp_path / "a.jsonl", {"text": "t", "labels": []}, {"txt": "t", "labels": []})


def test_hard_texts_pass(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    many = json.dumps([f"l{number}" for number in range(100_000)])
    path.write_text(
        f'{{"text": "a\0b\\u0000c\ttab", "labels": {many}}}\n{{"text": " \\n ", "labels": "\\u0000"}}'
    )
    first, second = read_documents(path)
    assert first.text == "a b c\ttab"
    assert len(first.labels) == 100_000
    assert second == Document("2", " \n ", ())


def test_objects_are_read_whatever_their_keys(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('\n{"doc_token": ["a"]}\n')
    (record,) = read_objects(tmp_path / "a.jsonl")
    assert (record.values, record.number, record.line) == ({"doc_token": ["a"]}, 1, 2)


def test_null_and_not_a_number_are_no_labels(tmp_path: Path) -> None:
    path = tmp_path / "missing.jsonl"
    path.write_text('{"text": "a", "labels": ["x", null, NaN]}\n{"text": "b", "labels": NaN}\n')
    assert [document.labels for document in read_documents(path, ReadOptions())] == [("x",), ()]


def test_half_of_a_surrogate_pair_is_a_replacement_character(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(rb'{"text": "wheat \ud800", "labels": null}')
    (found,) = read_documents(path, ReadOptions())
    assert found.text == "wheat \ufffd"
