"""What `evaluate` shows beside its figures: intervals, each label, and the documents that went wrong."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from seq2set.config.catalog import METRICS, list_shown
from seq2set.config.run_folder import RunFolder
from seq2set.models.tagger import Examples
from seq2set.workflows import cross_validation

HEAD = "text,labels\n"
FOUR = "wheat harvest bushels,grain\ncrude barrels,oil\nwheat harvest bushels,oil\ncrude barrels,oil;rye\n"


def write_rows(folder: Path, rows: str, head: str = HEAD) -> Path:
    (folder / "own.csv").write_text(head + rows, encoding="utf-8")
    return folder / "own.csv"


def test_json_has_the_interval_of_every_metric(seq2set, br_run: RunFolder) -> None:
    found = json.loads(seq2set("evaluate", br_run.path, "--json").out)
    assert list(found["intervals"]) == list(METRICS)
    for name, (low, high) in found["intervals"].items():
        assert low <= found[name] <= high


def test_a_figure_stands_over_its_interval(seq2set, br_run: RunFolder, tmp_path: Path) -> None:
    # Two documents, one right and one wrong: the share of exact ones is 0, 1/2 or 1 in a resample.
    data = write_rows(tmp_path, "wheat harvest bushels,grain\ncrude barrels,grain\n")
    outcome = seq2set("evaluate", br_run.path, "--data", data)
    place = [row.short for row in list_shown().values()].index("subset") - len(list_shown())
    figures, halves = (line.split() for line in outcome.out.splitlines() if ".500" in line)
    assert (figures[place], halves[place]) == ("0.500", "±.500")
    assert "± reaches the farther end of the 95 % interval (bootstrap over documents)" in outcome.out
    few = "2 documents to measure on are few: a difference that is smaller than the intervals says nothing"
    assert few in outcome.out


def test_groups_of_documents_are_drawn_together(seq2set, tmp_path: Path) -> None:
    words = ("wheat harvest", "crude barrels")
    rows = [f"{words[n % 2]} {n},{('grain', 'oil')[n % 2]},author {n // 4}" for n in range(400)]
    data = write_rows(tmp_path, "\n".join(rows) + "\n", "text,labels,author\n")
    chosen = ("--set", "data.group=author", "--set", "linear.c=[1]")
    assert seq2set("train", "--data", data, "--model", "br", *chosen, "--out", tmp_path / "run").code == 0
    out = seq2set("evaluate", tmp_path / "run").out
    assert "bootstrap over groups)" in out
    assert "groups to measure on are few" in out  # 40 documents or so of ten authors


@pytest.fixture
def grouped(seq2set, tmp_path: Path) -> Path:
    """A run on a file whose rows have authors."""
    words = ("wheat harvest", "crude barrels")
    rows = [f"{words[n % 2]} {n},{('grain', 'oil')[n % 2]},author {n // 4}" for n in range(80)]
    data = write_rows(tmp_path, "\n".join(rows) + "\n", "text,labels,author\n")
    chosen = ("--set", "data.group=author", "--set", "linear.c=[1]")
    outcome = seq2set("train", "--data", data, "--model", "br", *chosen, "--out", tmp_path / "grouped")
    assert outcome.code == 0, outcome.err
    return tmp_path / "grouped"


def test_one_group_has_no_interval(seq2set, br_run: RunFolder, tmp_path: Path) -> None:
    rows = "".join(f"{'wheat' if n % 2 else 'barrels'} no {n},grain,ann\n" for n in range(8))
    (tmp_path / "one.csv").write_text("text,labels,author\n" + rows, encoding="utf-8")
    command = ("evaluate", br_run.path, "--data", tmp_path / "one.csv", "--group", "author")
    outcome = seq2set(*command, "--report", tmp_path / "report")
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("±–") == len(list_shown())
    told = "one group tells nothing of others: figures have no interval"
    assert outcome.out.replace("\n", " ").count(told) == 1
    assert "are few" not in outcome.out
    assert json.loads(seq2set(*command, "--json").out)["intervals"] == dict.fromkeys(METRICS)
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert told[1:] in page
    assert 'class="interval"' not in page
    single = write_rows(tmp_path, "wheat harvest,grain\n")
    out = seq2set("evaluate", br_run.path, "--data", single).out.replace("\n", " ")
    assert "one document tells nothing of others: figures have no interval" in out


def test_the_caption_says_of_each_row_what_was_drawn(seq2set, br_run: RunFolder, grouped: Path) -> None:
    out = seq2set("evaluate", br_run.path, grouped).out
    caption = f"(bootstrap over documents; of {grouped} over groups)"
    assert "".join(caption.split()) in "".join(out.split())


def test_copies_in_a_file_are_no_further_documents(seq2set, br_run: RunFolder, tmp_path: Path) -> None:
    words = ("wheat harvest", "crude barrels")
    rows = [f"{words[n % 2]} {n},{('grain', 'oil', 'oil')[n % 3]}\n" for n in range(30)]
    once = write_rows(tmp_path, "".join(rows))
    alone = json.loads(seq2set("evaluate", br_run.path, "--data", once, "--json").out)
    spaced = (row.replace(" ", "  ", 1) for row in rows)  # white space tells no texts apart
    twice = write_rows(tmp_path, "".join([*rows, *spaced]))
    command = ("evaluate", br_run.path, "--data", twice)
    found = json.loads(seq2set(*command, "--json").out)
    assert found["documents"] == 60
    for name in METRICS:
        assert found["intervals"][name] == pytest.approx(alone["intervals"][name], abs=0.02), name
    out = seq2set(*command).out.replace("\n", " ")
    assert "30 of these 60 documents are copies of others: equal texts are drawn together" in out
    assert "30 texts to measure on are few" in out
    # Empty texts are not one text: nothing says that they belong together.
    empty = write_rows(tmp_path, "".join(rows) + '"",grain\n' * 6)
    assert "copies" not in seq2set("evaluate", br_run.path, "--data", empty).out


def test_per_label_lists_every_label(seq2set, br_run: RunFolder, tmp_path: Path) -> None:
    data = write_rows(tmp_path, FOUR)
    out = seq2set("evaluate", br_run.path, "--data", data, "--per-label").out
    lines = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line.strip()}
    # grain is given twice and right once; oil is given twice, and right twice of three.
    assert lines["grain"] == ["0.500", "1.000", "0.667", "1", "2"]
    assert lines["oil"] == ["1.000", "0.667", "0.800", "3", "2"]
    assert lines["rye"] == ["0.000", "0.000", "0.000", "1", "0"]
    assert "0.667" not in seq2set("evaluate", br_run.path, "--data", data).out.partition("±")[2]


def test_errors_are_a_file_to_read(seq2set, br_run: RunFolder, tmp_path: Path) -> None:
    data, errors = write_rows(tmp_path, FOUR), tmp_path / "errors.csv"
    command = ("evaluate", br_run.path, "--data", data, "--errors", errors)
    outcome = seq2set(*command)
    assert f"the documents with wrong or missing labels are in {errors}" in outcome.err
    with errors.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["id"], row["text"], row["true"], row["given"]) for row in rows] == [
        ("3", "wheat harvest bushels", "oil", "grain"),
        ("4", "crude barrels", "oil;rye", "oil"),
    ]
    scores = dict(one.split("=") for one in rows[0]["scores"].split(";"))
    assert list(scores) == ["grain", "oil"]
    assert float(scores["grain"]) > float(scores["oil"])
    assert rows[1]["scores"].startswith("oil=")  # the model knows no rye
    assert rows[1]["scores"].count("=") == 1
    again = seq2set(*command)
    assert (again.code, again.err) == (
        2,
        f"seq2set: {errors} exists; name another file or pass --force to replace it\n",
    )
    assert seq2set(*command, "--force").code == 0
    folder = seq2set(*command[:-1], tmp_path, "--force")
    assert (folder.code, folder.err) == (2, f"seq2set: {tmp_path} is a folder; a file is expected here\n")


@pytest.mark.parametrize("column", ["body", "köper 'x'"])
def test_another_file_is_read_with_its_own_columns_and_encoding(
    seq2set, br_run: RunFolder, tmp_path: Path, column: str
) -> None:
    text = f"{column},tags\nwheat harvest bushels é,grain\n"
    (tmp_path / "latin.csv").write_bytes(text.encode("latin-1"))
    columns = ("--text", column, "--labels", "tags", "--encoding", "latin-1")
    outcome = seq2set("evaluate", br_run.path, "--data", tmp_path / "latin.csv", *columns, "--json")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["micro_f1"] == 1


def test_folds_draw_copies_together() -> None:
    sets = [("grain",), ("oil",), ("grain", "oil")] * 10
    rows = [
        {"id": str(n), "fold": n % 2, "true": list(one), "labels": [{"label": "oil"}]}
        for n, one in enumerate(sets * 2)
    ]
    texts = [f"text {n}" for n in range(30)]
    copied = cross_validation._measure(rows, Examples(texts * 2, sets * 2, [row["id"] for row in rows]))
    apart = [f"text {n}" for n in range(60)]
    found = cross_validation._measure(rows, Examples(apart, sets * 2, [row["id"] for row in rows]))
    (low, high), (lower, higher) = (one["metrics"]["micro_f1"]["interval"] for one in (found, copied))
    assert higher - lower == pytest.approx(2**0.5 * (high - low), rel=0.1)
