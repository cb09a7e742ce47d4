from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from seq2set.core.text_utils import format_size
from seq2set.corpora.prepared import PreparedCorpus

CSV = "id,text,labels\n" + "".join(f"{n},some text {n},{'a;b' if n % 2 else 'b'}\n" for n in range(40))


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    path = tmp_path / "mine.csv"
    path.write_text(CSV, encoding="utf-8")
    return path


def test_list_names_every_known_corpus(seq2set) -> None:
    outcome = seq2set("data", "list", "--json")
    rows = {row["name"]: row for row in map(json.loads, outcome.out.splitlines())}
    assert rows.keys() == {"aapd", "arxiv2026", "debtags", "feedback", "medline", "rcv1", "reuters"}
    assert all(row["how_to_get"] == row["obtained"] and row["licence"] for row in rows.values())
    table = seq2set("data", "list").out
    assert "medline" in table
    assert "seq2set[demo]" in table.replace("\n", "").replace(" ", "") or "[demo]" in table


def test_own_files_under_an_own_name(seq2set, csv: Path) -> None:
    outcome = seq2set(
        "data", "prepare", "mine", "--from", csv, "--valid", "4", "--test", "0.2", "--seed", "3"
    )
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("mine: 28 train, 4 valid, 8 test documents with 2 labels")
    shown = json.loads(seq2set("data", "stats", "mine", "--json").out)
    assert shown["documents"] == 40


def test_prepare_into_a_folder(seq2set, csv: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert seq2set("data", "prepare", "mine", "--from", csv, "--out", out, "--split", "stratified").code == 0
    corpus = PreparedCorpus.open(out)
    corpus.verify()
    assert corpus.facts["split"] == {"method": "stratified", "seed": 1, "valid": 0.1, "test": 0.1}


def test_prepare_twice_needs_force(seq2set, csv: Path, tmp_path: Path) -> None:
    call = ("data", "prepare", "mine", "--from", csv, "--out", tmp_path / "out")
    assert seq2set(*call).code == 0
    again = seq2set(*call)
    assert (again.code, "is not empty; name another folder or pass --force" in again.err) == (2, True)
    assert seq2set(*call, "--force").code == 0


def test_long_documents_are_removed_and_counted(seq2set, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(CSV + f"long,{'word ' * 501},a\n", encoding="utf-8")
    outcome = seq2set("data", "prepare", "long", "--from", path, "--max-words", 500)
    assert "1 document of more than 500 words was removed" in outcome.out
    kept = seq2set("data", "prepare", "long", "--from", path, "--max-words", "0", "--force")
    assert "removed" not in kept.out


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("empty.csv", "", "the file is empty"),
        (
            "x.csv",
            "id,body,tags\n1,a,b\n",
            "no column 'text' and no column 'labels'; the columns are: id, body, tags",
        ),
        ("x.jsonl", '{"text": "a", "labels": ["b"]}\nnot json\n', "x.jsonl, line 2: "),
        ("x.csv", b"text,labels\n\xff\xfe,b\n", "line 2: the line is not valid utf-8; pass --encoding"),
        ("x.jsonl", '{"text": "a", "labels": true}\n', "line 1: column 'labels' holds true or false"),
        ("x.docx", "x", "the format '.docx' is not known"),
        ("x.csv", "text,labels\n" + "word,\n" * 30, "no document of the training split has a label"),
    ],
)
def test_bad_files_are_one_sentence(seq2set, tmp_path: Path, name: str, content, sentence: str) -> None:
    path = write(tmp_path / name, content)
    outcome = seq2set("data", "prepare", "mine", "--from", path, "--out", tmp_path / "out")
    assert outcome.code == 2
    (line,) = [line for line in outcome.err.splitlines() if line.startswith("seq2set: ")]
    assert sentence in line
    assert "Traceback" not in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_places_that_are_not_what_is_wanted(seq2set, tmp_path: Path) -> None:
    missing = seq2set("data", "prepare", "mine", "--from", tmp_path / "no.csv", "--out", tmp_path / "out")
    assert (missing.code, "no.csv: the file does not exist" in missing.err) == (2, True)
    folder = seq2set("data", "prepare", "mine", "--from", tmp_path, "--out", tmp_path / "out")
    assert (folder.code, "AAPD layout" in folder.err) == (2, True)
    name = seq2set("data", "prepare", "reuter")
    assert (name.code, "did you mean 'reuters'?" in name.err) == (2, True)
    bring = seq2set("data", "prepare", "reuters")
    assert (bring.code, "seq2set data prepare reuters --from PATH" in bring.err) == (2, True)
    size = seq2set("data", "prepare", "mine", "--from", tmp_path, "--valid", "many")
    assert (size.code, "valid is 'many'; it must be a number of documents, or a share" in size.err) == (
        2,
        True,
    )


def test_text_and_label_files_of_different_lengths(seq2set, tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    for part in ("train", "val", "test"):
        write(raw / f"text_{part}", "one text\nanother\n")
        write(raw / f"label_{part}", "a\n" if part == "val" else "a\nb\n")
    outcome = seq2set("data", "prepare", "mine", "--from", raw, "--out", tmp_path / "out")
    assert outcome.code == 2
    assert "text_val has 2 lines and label_val has 1" in outcome.err


def test_strange_texts_are_handled(seq2set, tmp_path: Path) -> None:
    rows = [{"text": f"plain {n}", "labels": ["a"]} for n in range(30)]
    rows += [{"text": "nul \0 byte", "labels": ["a"]}, {"text": "   \n ", "labels": ["a"]}]
    rows += [
        {"text": "x" * 10_000_000, "labels": ["a"]},
        {"text": "many", "labels": [f"l{n}" for n in range(100_000)]},
    ]
    path = write(tmp_path / "x.jsonl", "\n".join(map(json.dumps, rows)))
    outcome = seq2set(
        "data", "prepare", "mine", "--from", path, "--out", tmp_path / "out", "--split", "random"
    )
    assert outcome.code == 0, outcome.err
    assert "with 100,001 labels" in outcome.out


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_disk_that_is_full(tmp_path: Path, csv: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(disk)], check=False)
    if mounted.returncode:
        pytest.skip("this machine lets nobody mount")
    try:
        write(csv, CSV + "".join(f"x{n},{os.urandom(200).hex()},a\n" for n in range(200)))
        command = [
            sys.executable,
            "-m",
            "seq2set",
            "data",
            "prepare",
            "mine",
            "--from",
            str(csv),
            "--out",
            str(disk / "out"),
        ]
        outcome = subprocess.run(command, capture_output=True, text=True, check=False)
        assert outcome.returncode == 2
        assert "the disk is full" in outcome.stderr
        assert "Traceback" not in outcome.stderr
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_check_exits_by_its_gravest_finding(seq2set, tmp_path: Path, csv: Path) -> None:
    seq2set("data", "prepare", "mine", "--from", csv, "--out", tmp_path / "good")
    assert seq2set("data", "check", tmp_path / "good").code == 0
    same = "text,labels\n" + "".join(f"the same text every time,{'a' if n % 2 else 'b'}\n" for n in range(40))
    seq2set(
        "data", "prepare", "same", "--from", write(tmp_path / "same.csv", same), "--out", tmp_path / "bad"
    )
    outcome = seq2set("data", "check", tmp_path / "bad", "--json")
    assert outcome.code == 1
    findings = json.loads(outcome.out)["findings"]
    assert any(finding["level"] == "error" for finding in findings)


def test_stats_for_people_and_as_pictures(seq2set, small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    outcome = seq2set("data", "stats", small_corpus.folder, "--plot", tmp_path / "plots")
    assert outcome.code == 0
    assert "grain" in outcome.out
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in (tmp_path / "plots").iterdir())
    assert any((tmp_path / "plots").iterdir())


@pytest.mark.parametrize("verb", ["stats", "check"])
def test_the_columns_of_a_plain_file_can_be_named(seq2set, verb: str, tmp_path: Path) -> None:
    rows = "".join(f"some words {n},{'a|b' if n % 2 else 'b'}\n" for n in range(40))
    path = write(tmp_path / "papers.csv", "abstract,tags\n" + rows)
    wrong = seq2set("data", verb, path)
    assert (wrong.code, "the columns are: abstract, tags" in wrong.err) == (2, True)
    named = ("--text", "abstract", "--labels", "tags", "--separator", "|", "--json")
    outcome = seq2set("data", verb, path, *named)
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["documents"] == 40


def test_the_cache_is_listed_and_emptied(seq2set, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQ2SET_CACHE", str(tmp_path / "cache"))
    assert seq2set("data", "clean").out == f"0 bytes freed in {tmp_path / 'cache'}\n"
    (tmp_path / "mine.csv").write_text("text,labels\n" + "wheat,grain\ncrude,oil\n" * 10, encoding="utf-8")
    assert seq2set("data", "stats", tmp_path / "mine.csv").code == 0
    prepared = ("data", "prepare", "tickets", "--from", tmp_path / "mine.csv")
    assert seq2set(*prepared).code == 0
    listed = seq2set("data", "list").out
    assert [line.split()[0] for line in listed.splitlines() if "prepared here" in line] == ["tickets"]
    assert "copies of plain files, vectors and states of texts: 1, " in listed
    assert {json.loads(line)["bytes"] for line in seq2set("data", "list", "--json").out.splitlines()} == {0}
    wrong = seq2set("data", "clean", "ticket")
    assert (wrong.code, wrong.err.endswith(" tickets\n")) == (2, True)
    first, second = seq2set("data", "clean").out.splitlines()
    assert first.startswith("deleted mine-")
    assert second.endswith(f" kB freed in {tmp_path / 'cache'}")
    assert seq2set("data", "clean", "tickets").out.startswith("deleted tickets (")
    assert seq2set(*prepared).code == 0
    assert seq2set("data", "clean", "--all").out.startswith("deleted tickets (")
    assert "copies" not in seq2set("data", "list").out


def test_sizes_are_short() -> None:
    assert [format_size(size) for size in (0, 999, 1000, 2_500_000, 3_210_000_000)] == [
        "0 bytes", "999 bytes", "1 kB", "2 MB", "3.2 GB",
    ]  # fmt: skip


def test_no_test_split_and_a_size_of_it_are_refused_together(seq2set, csv: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    outcome = seq2set("data", "prepare", "mine", "--from", csv, "--out", out, "--no-test", "--test", "3")
    assert outcome.code == 2
    assert "--no-test and --test are both given; give one of the two" in outcome.err
    assert not out.exists()
