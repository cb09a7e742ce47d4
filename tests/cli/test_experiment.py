from __future__ import annotations

import json
from pathlib import Path

import pytest

from seq2set.corpora.prepared import PreparedCorpus


@pytest.fixture
def call(small_corpus: PreparedCorpus, tmp_path: Path) -> tuple[object, ...]:
    return (
        "experiment", "compare", "--data", small_corpus.folder, "--out", tmp_path / "out",
        "--models", "br", "--set", "linear.c=[1]", "--set", "threads=1",
    )  # fmt: skip


def test_compare_prints_the_table_and_names_the_page(seq2set, call, tmp_path: Path) -> None:
    outcome = seq2set(*call)
    assert outcome.code == 0, outcome.err
    assert "HL(-)" in outcome.out
    assert "BR is deterministic: one run covers all seeds." in outcome.out
    assert f"the results are in {tmp_path / 'out' / 'compare' / 'index.html'}" in outcome.err.replace(
        "\n", ""
    )
    found = json.loads((tmp_path / "out" / "compare" / "results.json").read_text(encoding="utf-8"))
    reported = json.loads(seq2set("evaluate", tmp_path / "out" / "cells" / "br", "--json").out)
    assert found["cells"][0]["metrics"]["micro_f1"] == reported["micro_f1"]
    assert "1 of 1 cell is done already" in seq2set(*call).err


def test_resamples_are_taken_and_told_to_have_no_effect(seq2set, call) -> None:
    outcome = seq2set(*call, "--resamples", 50, "--dry-run")
    assert outcome.code == 0
    assert "--resamples has no effect: intervals are computed, not drawn" in outcome.err


def test_published_cells_are_taken_up(seq2set, call, tmp_path: Path) -> None:
    from publish_results import publish

    assert seq2set(*call).code == 0
    publish(tmp_path / "out", tmp_path / "results")
    published = ("--cells", tmp_path / "results" / "small-compact" / "cells")
    elsewhere = (*call, "--out", tmp_path / "elsewhere", *published)
    planned = seq2set(*elsewhere, "--dry-run")
    assert "cells: 1, to be done: 0" in planned.out
    assert "1 of the cells are taken from" in planned.out
    assert not (tmp_path / "elsewhere").exists()
    assert seq2set(*elsewhere).code == 0
    assert not (tmp_path / "elsewhere" / "cells" / "br" / "model").exists()
    assert seq2set(*call, "--cells", tmp_path / "nowhere").code == 2


def test_a_dry_run_trains_nothing(seq2set, call, tmp_path: Path) -> None:
    outcome = seq2set(*call, "--dry-run", "--models", "br,seq2set", "--seeds", "1,2")
    assert outcome.code == 0
    assert "cells: 3, to be done: 3" in outcome.out
    assert "time to go unknown with --jobs 1" in outcome.out
    assert not (tmp_path / "out").exists()
    begun = seq2set(*call)
    assert begun.code == 0, begun.err
    again = seq2set(*call, "--dry-run")
    assert "its training" in again.out
    assert "about 0 s to go" in again.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--models", "bm"], "model 'bm' is not known, did you mean 'br'?"),
        (["--seeds", "one"], "--seeds is 'one'; it must be whole numbers >= 0 with commas between"),
        (["--jobs", "0"], "--jobs is 0; it must be >= 1"),
        (["--config", "br"], "--config is 'br'; it must have the form MODEL=FILE"),
        (["--preset", "compat"], "preset 'compat' is not known, did you mean 'compact'?"),
        (["--set", "lineer.c=[1]"], "lineer is not a setting, did you mean 'linear'?"),
        (["--data", "nowhere"], "corpus 'nowhere' is not known"),
    ],
)
def test_a_wrong_call_is_one_sentence(seq2set, call, tmp_path: Path, arguments, sentence: str) -> None:
    outcome = seq2set(*call, *arguments)
    assert outcome.code == 2
    assert outcome.err.startswith(f"seq2set: {sentence}")
    assert outcome.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_narrow_terminal_shows_the_papers_columns(seq2set, call, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = seq2set(*call)
    assert wide.code == 0, wide.err
    assert "F1, 95 %" in wide.out
    monkeypatch.setenv("COLUMNS", "46")
    narrow = seq2set(*call).out
    assert "F1(+)" in narrow
    assert "F1, 95 %" not in narrow


def test_an_unknown_experiment(seq2set, call) -> None:
    outcome = seq2set("experiment", "compere", *call[2:])
    assert outcome.code == 2
    assert outcome.err.startswith(
        "seq2set: experiment 'compere' is not known, did you mean 'compare'?; known are: compare, "
    )
    assert outcome.err.count("\n") == 1
