from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from seq2set.cli.data.stats import stats
from seq2set.corpora.documents import Document
from seq2set.corpora.prepare import prepare
from seq2set.corpora.splits import SplitPlan

LONG = "a label with [red]markup[/red] and a name that is much too long for one line of a table"


@pytest.fixture(autouse=True)
def width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def folder(tmp_path):
    labels = [("grain", "wheat"), ("grain", "wheat"), ("grain",), (LONG,), ("odd\x1b[31m",)]
    documents = [Document(str(i), f"the text number {i}", labels[i % 5]) for i in range(100)]
    plan = SplitPlan(valid=10, test=10)
    prepare(documents, tmp_path / "corpus", name="cereals", source="made", licence="none", plan=plan)
    return tmp_path / "corpus"


def run(*arguments):
    app = typer.Typer()
    app.command()(stats)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_tables(folder):
    result = run(folder)
    assert result.exit_code == 0
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "100 80 10 10 4 4.00 1.40" in lines  # 140 labels on 100 documents
    assert "1 60 60.0 % ██████████████████████████████" in lines
    assert "2 40 40.0 % ████████████████████" in lines  # two thirds of 30
    assert any(line.startswith("grain ") and line.endswith(" 60 60.0 %") for line in lines)
    # n=100, grain 60, wheat 40, both 40: (4000 - 2400) / sqrt(60*40 * 40*60) = 2/3.
    assert "grain wheat +0.67 40 60 40" in lines
    assert any("4 different label sets; 0 documents (0.0 %)" in line for line in lines)
    # 60/60, 60/40, 60/20, 60/20: mean 8.5/4 = 2.125.
    assert any("Labels are 2.1 times rarer" in line for line in lines)
    assert " ".join(lines).endswith("3.0 times at most.")


def test_tables_fit_into_80_columns_and_hold_no_control_characters(folder):
    output = run(folder).stdout
    assert max(map(len, output.splitlines())) <= 80
    assert "[red]markup" in output
    assert "\x1b" not in output
    assert "odd\\x1b[31m" in output


def test_top_shortens_the_tables(folder):
    result = run(folder, "--top", 1)
    assert "Most frequent labels (1 of 4)" in result.stdout
    assert "2 or more" in result.stdout
    assert "odd" not in result.stdout


def test_json_is_one_object(folder):
    result = run(folder, "--json", "--top", 2)
    found = json.loads(result.stdout)
    assert (found["name"], found["documents"], found["labels"]) == ("cereals", 100, 4)
    assert len(found["correlations"]) == 2
    assert len(found["label_frequencies"]) == 4


def test_plots_are_drawn(folder, tmp_path):
    result = run(folder, "--json", "--plot", tmp_path / "plots")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["documents"] == 100
    assert len(list((tmp_path / "plots").glob("*.png"))) == 4
    assert result.stderr.count("drawn: ") == 4


def test_a_corpus_without_correlations(tmp_path):
    documents = [Document(str(i), "text", ("x",)) for i in range(4)]
    plan = SplitPlan(valid=1, test=1)
    prepare(documents, tmp_path / "corpus", name="one", source="made", licence="none", plan=plan)
    result = run(tmp_path / "corpus")
    assert result.exit_code == 0
    assert "correlations" not in result.stdout


def test_no_row_at_all_is_refused(folder):
    assert run(folder, "--top", 0).exit_code == 2
