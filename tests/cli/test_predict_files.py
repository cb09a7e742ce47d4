"""`predict` with files: every format in and out, and nothing is written over or half-written."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seq2set.cli import console
from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import MissingExtraError
from seq2set.inference import prediction_tables
from seq2set.workflows import prediction_input, shards

ROWS = [("ann", "wheat harvest"), ("bob", "crude barrels"), ("eve", "zzz qqq")]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.csv"
    path.write_text("owner,text\n" + "".join(f"{owner},{text}\n" for owner, text in ROWS))
    return path


def test_csv_in_gives_the_same_csv_back(seq2set, br_run: RunFolder, source: Path, tmp_path: Path) -> None:
    outcome = seq2set("predict", br_run.path, "--input", source, "--output", tmp_path / "out.csv")
    assert (outcome.code, outcome.err) == (0, f"the labels are in {tmp_path / 'out.csv'} (texts: 3)\n")
    head, *rows = csv.reader((tmp_path / "out.csv").read_text(encoding="utf-8").splitlines())
    assert head == ["owner", "text", "labels", "scores", "note"]
    assert [tuple(row[:2]) for row in rows] == ROWS
    assert [row[2] for row in rows] == ["grain", "oil", ""]
    assert [row[4] for row in rows] == ["", "", "no known words"]
    (printed, *_) = seq2set("predict", br_run.path, "--input", source, "--json").out.splitlines()
    assert float(rows[0][3]) == json.loads(printed)["labels"][0]["score"]


def test_a_delimiter_comes_back(seq2set, br_run: RunFolder, tmp_path: Path) -> None:
    german, out = tmp_path / "in.csv", tmp_path / "out.csv"
    german.write_text("sep=;\nowner;text;price\nann;wheat harvest;1,5\n", encoding="utf-8")
    typed = ("predict", br_run.path, "--input", german, "--output")
    assert seq2set(*typed, out).code == 0
    head, row = out.read_text(encoding="utf-8").splitlines()
    assert head == "owner;text;price;labels;scores;note"
    assert row.startswith("ann;wheat harvest;1,5;grain;")
    assert seq2set(*typed, tmp_path / "out.tsv").code == 0
    assert (tmp_path / "out.tsv").read_text(encoding="utf-8").startswith("owner\ttext\tprice\tlabels")
    # Files that differ, and other formats, give commas.
    (tmp_path / "more.csv").write_text("text\ncrude barrels\n", encoding="utf-8")
    assert seq2set(*typed, out, "--force", "--input", tmp_path / "more.csv").code == 0
    assert out.read_text(encoding="utf-8").startswith("owner,text,price,labels")


def test_a_file_that_is_given_as_a_text_is_refused(seq2set, br_run: RunFolder, source: Path) -> None:
    refused = seq2set("predict", br_run.path, "wheat", source)
    sentence = f"seq2set: the text '{source}' is the name of a file; pass --input {source}\n"
    assert (refused.code, refused.err) == (2, sentence)
    assert seq2set("predict", br_run.path, "w" * 5000, "--json").code == 0  # too long for a name


def test_columns_are_those_of_the_training_unless_others_are_named(seq2set, tmp_path: Path) -> None:
    rows = [(n, "wheat" if n % 2 else "crude", "harvest" if n % 2 else "barrels", n % 2) for n in range(40)]
    lines = [f"{n};<p>{subject}</p>;{body};{('oil', 'grain')[label]}" for n, subject, body, label in rows]
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(["no;subject;body;topic", *lines]), encoding="utf-8")
    own = ("--text", "subject,body", "--labels", "topic", "--id", "no", "--strip-html")
    quick = ("--model", "br", "--set", "linear.c=[1]", "--set", "features.min_documents=1")
    assert seq2set("train", "--data", path, "--out", tmp_path / "run", *own, *quick).code == 0

    def predict(file: Path, *options: str) -> list[dict]:
        outcome = seq2set("predict", tmp_path / "run", "--input", file, "--json", *options)
        assert outcome.code == 0, outcome.err
        return [json.loads(line) for line in outcome.out.splitlines()]

    found = predict(path)
    assert [(one["id"], one["labels"][0]["label"]) for one in found[:2]] == [("0", "oil"), ("1", "grain")]
    assert len(predict(path, "--text", "body")) == 40
    (tmp_path / "other.csv").write_text("id,text\na,<b>wheat harvest</b>\n", encoding="utf-8")
    assert [(one["id"], one["labels"][0]["label"]) for one in predict(tmp_path / "other.csv")] == [
        ("a", "grain")
    ]


def test_every_format_holds_the_same(seq2set, br_run: RunFolder, source: Path, tmp_path: Path) -> None:
    def predict(given: Path, name: str) -> Path:
        assert seq2set("predict", br_run.path, "--input", given, "--output", tmp_path / name).code == 0
        return tmp_path / name

    objects = [json.loads(line) for line in predict(source, "a.jsonl").read_text().splitlines()]
    assert [(one["owner"], [label["label"] for label in one["labels"]]) for one in objects] == [
        ("ann", ["grain"]),
        ("bob", ["oil"]),
        ("eve", []),
    ]
    table = pq.read_table(predict(source, "a.parquet")).to_pylist()
    assert [row["labels"] for row in table] == [["grain"], ["oil"], []]
    sheet = list(openpyxl.load_workbook(predict(source, "a.xlsx")).active.values)
    assert [row[2] for row in sheet] == ["labels", "grain", "oil", None]
    assert predict(source, "a.tsv").read_text() == predict(source, "a.csv").read_text().replace(",", "\t")
    # And back again: columns of the first prediction come back under other names.
    again = pq.read_table(predict(tmp_path / "a.parquet", "b.parquet"))
    assert again.schema.names[2:] == [
        "input_labels",
        "input_scores",
        "input_note",
        "labels",
        "scores",
        "note",
    ]
    assert again["input_labels"].to_pylist() == again["labels"].to_pylist()


def test_standard_input_and_output(seq2set, br_run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def piped(content: str, *arguments: str) -> str:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode()), "ascii"))
        return seq2set("predict", br_run.path, *arguments, "--output", "-").out

    plain = piped("wheat harvest\ncrude barrels\n", "--input", "-")
    assert [json.loads(line)["labels"][0]["label"] for line in plain.splitlines()] == ["grain", "oil"]
    assert piped("wheat harvest\n").startswith('{"id": "1", "text": "wheat harvest", "labels": [')
    table = piped("who,text\nann,wheat harvest\n", "--input", "-", "--format", "csv").splitlines()
    assert (table[0], table[1][:24]) == ("who,text,labels,scores,note", "ann,wheat harvest,grain,")
    assert piped("wheat\n", "--format", "tsv").startswith("id\ttext\tlabels\tscores\tnote\n1\twheat\tgrain\t")


def test_nothing_is_written_over(seq2set, br_run: RunFolder, source: Path, tmp_path: Path) -> None:
    before = source.read_bytes()
    (tmp_path / "link.csv").symlink_to(source)
    (tmp_path / "hard.csv").hardlink_to(source)
    for name in ("in.csv", "link.csv", "hard.csv", "../" + tmp_path.name + "/in.csv"):
        out = tmp_path / name
        for force in ([], ["--force"]):
            outcome = seq2set("predict", br_run.path, "--input", source, "--output", out, *force)
            assert outcome.code == 2
            assert "is the input itself; name another file for the output" in outcome.err
    (tmp_path / "old.csv").write_text("mine")
    told = ["predict", br_run.path, "--input", source, "--output", tmp_path / "old.csv"]
    outcome = seq2set(*told)
    assert (outcome.code, (tmp_path / "old.csv").read_text()) == (2, "mine")
    assert "old.csv exists; name another file or pass --force to replace it" in outcome.err
    assert seq2set(*told, "--force").code == 0
    assert (tmp_path / "old.csv").read_text().startswith("owner,text,labels")
    assert source.read_bytes() == before


def test_work_that_fails_leaves_nothing(
    seq2set, br_run: RunFolder, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seq2set.inference.engines.local.COMMAND", ("-c", "raise SystemExit(3)"))
    for name in ("out.csv", "out.parquet", "out.xlsx", "shards"):
        told = ["--input", source, "--output", tmp_path / name, "--workers", "2"]
        outcome = seq2set("predict", br_run.path, *told)
        assert (outcome.code, "a worker process ended with code 3" in outcome.err) == (1, True)
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {"in.csv", "shards/manifest.json", "shards/.lock"}


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        (
            ["--output", "x.doc"],
            "the ending of x.doc stands for no format; it must be one of .csv, .tsv, .jsonl",
        ),
        (
            ["--output", "x.csv", "--format", "tsv"],
            "format is tsv, but x.csv ends in .csv; leave --format out",
        ),
        (["--output", "-", "--format", "xlsx"], "Excel cannot be written to standard output; name a file"),
        (["--output", "-", "--format", "doc"], "format 'doc' is not known"),
        (["--output", "x/", "--shard-size", "700"], "shard_size is 700; it must be a multiple of 512"),
        (["--engine", "spark"], "engine 'spark' is not known; known are: local, ray"),
        (["--workers", "0"], "workers is 0; it must be >= 1"),
    ],
)
def test_wrong_options_are_one_sentence(
    seq2set, br_run: RunFolder, source: Path, told: list[str], sentence: str, tmp_path: Path
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        outcome = seq2set("predict", br_run.path, "--input", source, *told)
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err.startswith(f"seq2set: {sentence}")
        assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def test_a_folder_of_shards_is_made_of_files(seq2set, br_run: RunFolder, tmp_path: Path) -> None:
    outcome = seq2set("predict", br_run.path, "wheat", "--output", tmp_path / "shards")
    assert (outcome.code, "which are made of files; pass --input" in outcome.err) == (2, True)
    (tmp_path / "file").write_text("x")
    (tmp_path / "in.csv").write_text("text\nwheat\n")
    outcome = seq2set("predict", br_run.path, "--input", tmp_path / "in.csv", "--output", tmp_path / "file")
    assert (outcome.code, "file is a file; a folder is expected here" in outcome.err) == (2, True)


def test_a_missing_extra_says_how_to_install_it(
    seq2set, br_run: RunFolder, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    monkeypatch.setitem(sys.modules, "openpyxl.cell.cell", None)
    outcome = seq2set("predict", br_run.path, "--input", source, "--output", tmp_path / "out.xlsx")
    sentence = f"seq2set: {MissingExtraError('openpyxl', 'excel')}\n"
    assert (outcome.code, outcome.err) == (2, sentence)
    assert not (tmp_path / "out.xlsx").exists()


def test_what_a_sheet_cannot_hold_is_told(
    seq2set, br_run: RunFolder, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prediction_tables, "LONGEST_CELL", 13)
    outcome = seq2set("predict", br_run.path, "--input", source, "--output", tmp_path / "out.xlsx")
    assert outcome.err.startswith("1 cells were cut at 13 characters, the most that a sheet can hold\n")


def test_progress_is_lines_without_a_terminal(
    seq2set, br_run: RunFolder, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "LINE_SECONDS", 0.0)
    monkeypatch.setattr(prediction_input, "BLOCK", 1)
    told = seq2set(
        "predict", br_run.path, "--input", source, "--output", tmp_path / "out.csv"
    ).err.splitlines()
    assert len(told) == 4
    assert told[0].startswith("predict: 1 of 3, ")
    assert " documents per second, " in told[0]
    assert told[0].endswith(" s left")
    shard = seq2set(
        "predict", br_run.path, "--input", source, "--output", tmp_path / "shards"
    ).err.splitlines()
    assert shard[2].startswith("predict: 3, ")


def test_any_number_of_workers_writes_the_same_bytes(
    seq2set, br_run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prediction_input, "BLOCK", 7)
    lines = (json.dumps({"text": f"wheat {n} crude {n % 3}", "n": n}) for n in range(60))
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    written = []
    for workers in (1, 2):
        out = tmp_path / f"{workers}.jsonl"
        told = ["--input", tmp_path / "in.jsonl", "--output", out, "--workers", workers, "--explain"]
        assert seq2set("predict", br_run.path, *told).code == 0
        written.append(out.read_bytes())
    assert written[0] == written[1]
    assert [json.loads(line)["n"] for line in written[0].splitlines()] == list(range(60))


PREDICT = """
import signal
import sys
from seq2set.cli.app import main
from seq2set.inference.engines import local

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
start = local.BlockProcess._start

def tell(self):
    process = start(self)
    sys.stdout.write(f"{process.pid}\\n")
    sys.stdout.flush()
    return process

local.BlockProcess._start = tell
main()
"""


def test_ctrl_c_ends_all_processes(br_run: RunFolder, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "lines")
    lines = os.open(tmp_path / "lines", os.O_RDWR)  # never ends, so that the work does not either
    told = ["predict", str(br_run.path), "--output", str(tmp_path / "out.csv"), "--workers", "2"]
    with (
        subprocess.Popen(
            [sys.executable, "-c", PREDICT, *told],
            stdin=lines,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as started,
        os.fdopen(os.dup(lines), "w") as feed,
    ):
        feed.write("wheat harvest\n" * 3_000)
        feed.flush()
        assert started.stdout is not None
        workers = [int(started.stdout.readline()) for _ in range(2)]
        started.send_signal(signal.SIGINT)
        _, said = started.communicate()
    os.close(lines)
    assert started.returncode == 1
    assert said.splitlines()[-1].startswith("seq2set: stopped")
    assert "Traceback" not in said
    for pid in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert [path.name for path in tmp_path.iterdir()] == ["lines"]


def big(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two files of 25 documents, in blocks of 5 and shards of 10."""
    for module in (prediction_input, shards):
        monkeypatch.setattr(module, "BLOCK", 5)
    (tmp_path / "in").mkdir()
    for name in ("a", "b"):
        rows = "".join(f"{name}{n},wheat {n}\n" for n in range(25))
        (tmp_path / "in" / f"{name}.csv").write_text("id,text\n" + rows)
    return tmp_path / "in"


def test_shards_continue_where_they_were_stopped(
    seq2set, br_run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = ["predict", br_run.path, "--input", big(tmp_path, monkeypatch), "--shard-size", "10", "--output"]
    assert seq2set(*told, tmp_path / "whole").code == 0
    names = [f"part-0000{file}-00000{part}.jsonl" for file in (0, 1) for part in (0, 1, 2)]
    assert sorted(path.name for path in (tmp_path / "whole").glob("part*")) == names
    lines = [(tmp_path / "whole" / name).read_text().splitlines() for name in names]
    assert list(map(len, lines)) == [10, 10, 5, 10, 10, 5]
    manifest = json.loads((tmp_path / "whole" / "manifest.json").read_text())
    assert (manifest["complete"], manifest["shards"], manifest["documents"]) == (True, 6, 50)

    # As a kill leaves it: some shards, a line that was cut, and one shard damaged afterwards.
    half = tmp_path / "half"
    assert seq2set(*told, half).code == 0
    done = (half / "done.jsonl").read_bytes().splitlines(keepends=True)
    (half / "done.jsonl").write_bytes(b"".join(done[:3]) + done[3][:20])
    for name in names[4:]:
        (half / name).unlink()
    (half / names[0]).write_text("damaged")
    kept = {name: (half / name).stat().st_mtime_ns for name in names[1:3]}
    outcome = seq2set(*told, half)
    assert outcome.err.splitlines() == [
        "2 shards are done already",
        f"the labels are in {half} (texts: 35)",
    ]
    assert {name: (half / name).stat().st_mtime_ns for name in names[1:3]} == kept
    for name in names:
        assert (half / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert seq2set(*told, half).err.splitlines()[0] == "6 shards are done already"


def test_shards_of_another_job_are_refused(
    seq2set, br_run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, out = big(tmp_path, monkeypatch), tmp_path / "out"
    told = ["predict", br_run.path, "--input", folder, "--shard-size", "10", "--output", out]
    assert seq2set(*told).code == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    for option in (["--top-k", "1"], ["--format", "csv"], ["--encoding", "latin-1"]):
        outcome = seq2set(*told, *option)
        assert outcome.code == 2
    assert "holds shards of a job with another columns; name another folder, or pass --force" in outcome.err
    (folder / "a.csv").write_text((folder / "a.csv").read_text().replace("24", "42"))
    assert "a job with another input;" in seq2set(*told).err
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    outcome = seq2set(*told, "--format", "csv", "--force")
    assert (outcome.code, len(list(out.glob("part*")))) == (0, 6)
    assert (out / "part-00000-000002.csv").read_text().splitlines()[0] == "id,text,labels,scores,note"
    (out / "manifest.json").write_text("{}")
    assert "manifest.json cannot be read; name another folder" in seq2set(*told).err
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    outcome = seq2set(*told[:-1], tmp_path / "mine", "--force")
    assert (outcome.code, "is not empty" in outcome.err) == (2, True)


def test_types_of_columns_are_kept_in_shards(seq2set, br_run: RunFolder, tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["wheat"], "n": pa.array([3], pa.int64())}), tmp_path / "in.parquet")
    told = ["--input", tmp_path / "in.parquet", "--output", tmp_path / "out", "--format", "parquet"]
    assert seq2set("predict", br_run.path, *told).code == 0
    (shard,) = (tmp_path / "out").glob("part*")
    assert pq.read_schema(shard).field("n").type == pa.int64()


@pytest.mark.parametrize(
    ("verb", "option", "known"),
    [
        ("predict", "--engine", "local, ray"),
        ("predict", "--runtime", "auto, torch, onnx"),
        ("evaluate", "--runtime", "auto, torch, onnx"),
        ("serve", "--runtime", "auto, torch, onnx"),
    ],
)
def test_unknown_engines_and_runtimes_are_refused(
    seq2set, br_run: RunFolder, tmp_path: Path, verb: str, option: str, known: str
) -> None:
    rest = ["wheat", "--output", tmp_path / "out.csv"] if verb == "predict" else []
    outcome = seq2set(verb, br_run.path, *rest, option, "spark")
    said = f"seq2set: {option[2:]} 'spark' is not known; known are: {known}\n"
    assert (outcome.code, outcome.out, outcome.err) == (2, "", said)
    assert list(tmp_path.iterdir()) == []
