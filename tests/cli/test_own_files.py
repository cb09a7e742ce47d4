"""Files of the user's own, through the commands: nothing is dropped, split or renamed without a word."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from seq2set.corpora.open_corpus import open_corpus
from seq2set.corpora.readers import ReadOptions

WORDS = {"grain": "wheat harvest", "oil": "crude barrels", "trade": "tariff exports"}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQ2SET_CACHE", str(tmp_path / "cache"))


def write(path: Path, rows: Sequence[dict[str, str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def row(number: int, filler: int = 3, **more: str) -> dict[str, str]:
    label = sorted(WORDS)[number % 3]
    text = f"{WORDS[label]} document {number} " + " ".join(f"w{number}" for _ in range(filler))
    return {"text": text, "labels": label} | more


def test_long_texts_of_an_own_file_are_kept(seq2set, tmp_path: Path) -> None:
    # 10 of 60 texts have 604 words; the others have 7.
    path = write(tmp_path / "long.csv", [row(n, 600 if n < 10 else 3) for n in range(60)])
    checked = seq2set("data", "check", path, "--json")
    found = json.loads(checked.out)
    assert found["documents"] == 60
    long = next(one for one in found["findings"] if one["code"] == "long-texts")
    assert long["what"] == "10 of 60 (16.7 %) documents have more than 200 words"
    assert json.loads(seq2set("data", "stats", path, "--json").out)["documents"] == 60
    out = tmp_path / "run"
    trained = seq2set("train", "--data", path, "--model", "br", "--out", out)
    assert trained.code == 0
    assert "removed" not in trained.err
    assert json.loads(seq2set("evaluate", out, "--json").out)["documents"] == 6
    prepared = seq2set("data", "prepare", "mine", "--from", path, "--out", tmp_path / "all")
    assert "48 train, 6 valid, 6 test" in prepared.out
    shorter = seq2set(
        "data", "prepare", "mine", "--from", path, "--out", tmp_path / "cut", "--max-words", 500
    )
    assert "10 documents of more than 500 words were removed" in shorter.out
    assert "10 documents were removed when mine was prepared: more than 500 words" in (
        seq2set("train", "--data", tmp_path / "cut", "--model", "br", "--out", tmp_path / "run2").err
    )


def test_a_network_says_how_many_texts_it_cuts(seq2set, tmp_path: Path) -> None:
    # Three of ten texts have 604 words, the others 7.
    splits = ["train"] * 40 + ["valid"] * 10 + ["test"] * 10
    rows = [row(n, 600 if n % 10 < 3 else 3, split=splits[n]) for n in range(60)]
    path = write(tmp_path / "long.csv", rows)
    out = tmp_path / "run"
    quick = ("likelihood.epochs=1", "encoder.embedding=8", "encoder.max_words=20", "cnn.filters=4")
    settings = [part for one in quick for part in ("--set", one)]
    trained = seq2set("train", "--data", path, "--model", "cnn", "--out", out, *settings)
    assert trained.code == 0, trained.err
    assert "15 of 50 texts have more than 20 words; the network reads the first 20" in trained.err
    measured = seq2set("evaluate", out)
    assert "3 of 10 texts have more than 20 words; the network reads the first 20" in measured.err
    answered = seq2set("predict", out, "--input", path, "--json")
    assert len(answered.out.splitlines()) == 60
    assert answered.err == "18 of 60 texts have more than 20 words; the network reads the first 20\n"


def test_a_split_column_is_honoured_by_every_command(seq2set, tmp_path: Path) -> None:
    splits = ["train"] * 40 + ["dev"] * 8 + ["Test"] * 12
    path = write(tmp_path / "split.csv", [row(n, Split=splits[n]) for n in range(60)])
    said = "the column 'Split' says which split each document belongs to"
    stats = seq2set("data", "stats", path, "--json")
    assert json.loads(stats.out)["splits"] == {"train": 40, "valid": 8, "test": 12}
    assert said in stats.err
    assert said in seq2set("data", "check", path).err
    trained = seq2set("train", "--data", path, "--model", "br", "--out", tmp_path / "run")
    assert said in trained.err
    assert json.loads(seq2set("evaluate", tmp_path / "run", "--json").out)["documents"] == 12
    prepared = seq2set("data", "prepare", "mine", "--from", path, "--out", tmp_path / "mine")
    assert "40 train, 8 valid, 12 test" in prepared.out
    assert said in prepared.out
    switched_off = seq2set(
        "train", "--data", path, "--model", "br", "--out", tmp_path / "off", "--set", 'data.split=""'
    )
    assert said not in switched_off.err
    # A tenth of 60 documents.
    assert json.loads(seq2set("evaluate", tmp_path / "off", "--json").out)["documents"] == 6


def test_a_split_column_without_test_leaves_nothing_to_measure(seq2set, tmp_path: Path) -> None:
    path = write(tmp_path / "split.csv", [row(n, split="train") for n in range(60)])
    trained = seq2set("train", "--data", path, "--model", "br", "--out", tmp_path / "run")
    assert trained.code == 0, trained.err
    measured = seq2set("evaluate", tmp_path / "run")
    assert measured.code == 2
    sentence = (
        "seq2set: split: the split 'test' is empty; there is nothing to measure; pass --split with one of: "
    )
    assert measured.err.endswith(f"{sentence}train, valid; or --data with other documents\n")
    assert seq2set("evaluate", tmp_path / "run", "--split", "valid").code == 0


def test_a_column_named_split_with_other_values_is_not_used(seq2set, tmp_path: Path) -> None:
    path = write(tmp_path / "split.csv", [row(n, split="train" if n else "banana") for n in range(60)])
    stats = seq2set("data", "stats", path, "--json")
    assert json.loads(stats.out)["splits"] == {"train": 48, "valid": 6, "test": 6}
    assert (
        "the column 'split' is not used: it holds 'banana', which is none of train, valid, test" in stats.err
    )


def test_a_split_column_is_found_behind_another_and_where_a_line_lacks_it(seq2set, tmp_path: Path) -> None:
    splits = ["train"] * 40 + ["valid"] * 8 + ["test"] * 12
    rows = [row(n, subset="A", split=splits[n]) for n in range(60)]
    stats = seq2set("data", "stats", write(tmp_path / "two.csv", rows), "--json")
    assert json.loads(stats.out)["splits"] == {"train": 40, "valid": 8, "test": 12}
    assert "the column 'subset' is not used: it holds 'A'" in stats.err
    del rows[0]["split"]
    path = tmp_path / "gap.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    assert "the column 'split' is not used" in seq2set("data", "stats", path).err


def test_a_file_of_test_documents_alone_can_be_measured_on(seq2set, tmp_path: Path) -> None:
    path = write(tmp_path / "all.csv", [row(n) for n in range(60)])
    assert seq2set("train", "--data", path, "--model", "br", "--out", tmp_path / "run").code == 0
    others = write(tmp_path / "test.csv", [row(n, split="test") for n in range(70, 80)])
    measured = seq2set("evaluate", tmp_path / "run", "--data", others, "--json")
    assert json.loads(measured.out)["documents"] == 10
    split = seq2set("evaluate", tmp_path / "run", "--data", others, "--split", "test")
    assert (split.code, "the training split has no document" in split.err) == (2, True)


def test_missing_values_are_no_labels(seq2set, tmp_path: Path) -> None:
    rows = [row(n) for n in range(60)]
    for n, word in enumerate(["NaN", "None", "N/A", "null", "nan", "", "grain;None"]):
        rows[n]["labels"] = word
    path = write(tmp_path / "missing.csv", rows)
    # Six cells and items, since nothing at all is not counted; the last row keeps "grain".
    said = "6 values stand for missing labels ('NaN', 'None', 'N/A', 'null', 'nan') and are not read"
    stats = seq2set("data", "stats", path, "--json")
    assert json.loads(stats.out)["labels"] == 3
    assert said in stats.err
    trained = seq2set("train", "--data", path, "--model", "br", "--out", tmp_path / "run")
    assert said in trained.err
    kept = open_corpus(str(path), ReadOptions(keep_missing=True))
    assert kept.facts["counts"]["labels"] == 8


def test_na_alone_in_a_cell_is_missing_and_beside_others_a_label(seq2set, tmp_path: Path) -> None:
    rows = [row(n) for n in range(60)]
    for n, cell in enumerate(["NA", " NA ", "NA;grain", "['NA', 'oil']", "#NA"]):
        rows[n]["labels"] = cell
    path = write(tmp_path / "countries.csv", rows)
    said = (
        "3 values stand for missing labels ('NA', '#NA') and are not read as labels; data.keep_missing=true "
        "(--keep-missing) keeps them; 'NA' in 2 lists is kept as a label"
    )
    checked = seq2set("data", "check", path)
    assert said in checked.err
    prepared = seq2set("data", "prepare", "mine", "--from", path, "--out", tmp_path / "mine")
    assert said in prepared.out
    assert json.loads(seq2set("data", "stats", path, "--json").out)["labels"] == 4
    kept = seq2set("data", "prepare", "mine", "--from", path, "--out", tmp_path / "kept", "--keep-missing")
    assert "with 5 labels" in kept.out
    assert "missing" not in kept.out
    assert json.loads(seq2set("data", "stats", path, "--json", "--keep-missing").out)["labels"] == 5
    assert "missing" not in seq2set("data", "check", path, "--keep-missing").err


def test_cells_that_look_like_lists_are_told_of(seq2set, tmp_path: Path) -> None:
    rows = [row(n) for n in range(60)]
    for n, cell in enumerate(["[grain, oil]", "[grain]", "set()", "['grain', 'oil", "(grain, oil)"]):
        rows[n]["labels"] = cell
    path = write(tmp_path / "lists.csv", rows)
    bare = "2 label cells are read as lists of words without quotation marks ('[grain, oil]', '[grain]')"
    broken = "2 label cells look like lists and cannot be read as such (\"['grain', 'oil\", '(grain, oil)')"
    out = tmp_path / "run"
    trained = seq2set("train", "--data", path, "--model", "br", "--out", out)
    said = [
        trained.err,
        seq2set("data", "check", path).err,
        seq2set("evaluate", out).err,
        seq2set("data", "prepare", "mine", "--from", path, "--out", tmp_path / "mine").out,
    ]
    for text in said:
        assert bare in text
        assert broken in text
    other = write(tmp_path / "other.csv", rows[:59])
    for verb in (("evaluate", out), ("tune", "--thresholds", out)):
        told = seq2set(*verb, "--data", other).err
        assert bare in told
        assert broken in told


def test_lists_written_out_are_lists(tmp_path: Path) -> None:
    cells = [
        "['Adult', 'Child']",
        '["Adult", "Child"]',
        "('Adult',)",
        "{'Adult', 'Child'}",
        "['Adult' 'Child']",
        "[1, 2]",
        "[]",
        "['Adult', None]",
        "['Smith; John']",
        "[x for x in 'ab']",
        "[Adult]",
        "__import__('os')",
    ]
    path = write(
        tmp_path / "lists.csv", [{"text": f"text {n}", "labels": one} for n, one in enumerate(cells)]
    )
    from seq2set.corpora.readers import read_documents

    assert [document.labels for document in read_documents(path)] == [
        ("Adult", "Child"),
        ("Adult", "Child"),
        ("Adult",),
        ("Adult", "Child"),
        ("Adult", "Child"),
        ("1", "2"),
        (),
        ("Adult",),
        ("Smith; John",),
        ("[x for x in 'ab']",),
        ("Adult",),
        ("__import__('os')",),
    ]


def test_groups_of_an_own_file_stay_together(seq2set, tmp_path: Path) -> None:
    path = write(tmp_path / "groups.csv", [row(n, author=f"a{n // 4}") for n in range(80)])
    out = tmp_path / "run"
    trained = seq2set("train", "--data", path, "--model", "br", "--out", out, "--set", "data.group=author")
    assert trained.code == 0, trained.err
    corpus = open_corpus(str(path), ReadOptions(group="author"))
    groups = [set(corpus.split(name).groups() or ()) for name in ("train", "valid", "test")]
    assert [len(one) for one in groups] == [16, 2, 2]
    assert len(set.union(*groups)) == 20
