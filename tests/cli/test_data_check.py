from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from seq2set.cli.data.check import check
from seq2set.corpora.documents import Document
from seq2set.corpora.prepare import prepare
from seq2set.corpora.splits import SplitPlan


@pytest.fixture(autouse=True)
def width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def healthy():
    splits = [("train", 40), ("valid", 5), ("test", 5)]
    return [
        Document(f"{split}{i}", f"{split} text {i} with words of {split}-{i}", ("xyz"[i % 3],), split)
        for split, count in splits
        for i in range(count)
    ]


def folder(tmp_path, documents):
    plan = SplitPlan("given")
    prepare(documents, tmp_path / "corpus", name="tiny", source="made", licence="none", plan=plan)
    return tmp_path / "corpus"


def run(*arguments):
    app = typer.Typer()
    app.command()(check)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def words_of(result):
    return " ".join(result.stdout.split())


def test_a_healthy_corpus_passes(tmp_path):
    result = run(folder(tmp_path, healthy()))
    assert result.exit_code == 0
    assert words_of(result) == "tiny, 50 documents: 0 errors, 0 warnings, 0 notes."


def test_an_error_fails(tmp_path):
    documents = healthy()
    documents[-1] = documents[0]._replace(id="copy[b]\x1b[31m", split="test")
    result = run(folder(tmp_path, documents))
    assert result.exit_code == 1
    text = words_of(result)
    assert (
        "error duplicates-in-test: 1 of 5 (20.0 %) test texts stand word for word in train or valid." in text
    )
    assert "why: a model that has memorised them looks better on test than it is." in text
    assert "do: remove them, or split again" in text
    assert "such as: copy[b]\\x1b[31m (test) = train0 (train)" in text
    assert "1 error, 0 warnings, 0 notes." in text
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "\x1b" not in result.stdout


def test_warnings_pass(tmp_path):
    documents = healthy()
    documents[0] = documents[0]._replace(text="a null \x00 byte")
    result = run(folder(tmp_path, documents))
    assert result.exit_code == 0
    assert "warning control-characters: 1 of 50 (2.0 %) documents hold control characters." in words_of(
        result
    )
    assert "0 errors, 1 warning, 0 notes." in words_of(result)


def test_json_is_one_object(tmp_path):
    documents = healthy()
    documents[-1] = documents[0]._replace(id="copy", split="test")
    result = run(folder(tmp_path, documents), "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert (found["data"], found["documents"], found["passed"]) == ("tiny", 50, False)
    assert [finding["code"] for finding in found["findings"]] == ["duplicates-in-test"]
    assert found["findings"][0]["examples"] == ["copy (test) = train0 (train)"]


def test_the_frequency_can_be_set(tmp_path):
    # Of 40 training documents, x has 14, y and z 13 each.
    corpus = folder(tmp_path, healthy())
    found = json.loads(run(corpus, "--json", "--min-label-documents", 14).stdout)
    assert [finding["code"] for finding in found["findings"]] == ["rare-labels"]
    assert found["findings"][0]["examples"] == ["y", "z"]
    assert found["passed"] is True


def test_the_similarity_can_be_set(tmp_path):
    # 10 words, 8 shingles; the last word changed: 7 / 9 = 0.78.
    documents = healthy()
    documents[0] = documents[0]._replace(text="a b c d e f g h i j")
    documents[-1] = documents[-1]._replace(text="a b c d e f g h i k")
    corpus = folder(tmp_path, documents)
    assert json.loads(run(corpus, "--json").stdout)["findings"] == []
    near = json.loads(run(corpus, "--json", "--near-duplicate", 0.7).stdout)["findings"]
    assert [finding["code"] for finding in near] == ["near-duplicates-in-test"]


def test_a_similarity_out_of_range_is_refused(tmp_path):
    assert run(folder(tmp_path, healthy()), "--near-duplicate", 0.2).exit_code == 2
