"""No verb writes over, or into, what it does not own: runs, models, corpora and files of the user's."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from changing_corpora import all_documents, contents, write_jsonl
from seq2set.config.run_folder import RunFolder
from seq2set.corpora.prepared import PreparedCorpus

BR = ("--model", "br", "--set", "linear.c=[1]")


@pytest.fixture
def run(br_run: RunFolder, tmp_path: Path) -> Path:
    """A copy of a run."""
    shutil.copytree(br_run.path, tmp_path / "run")
    return tmp_path / "run"


def test_a_report_replaces_reports_only(seq2set, run: Path) -> None:
    before = contents(run)
    outcome = seq2set("evaluate", run, "--report", run, "--force")
    assert (outcome.code, f"{run} is not empty and holds no report; --force replaces" in outcome.err) == (
        2,
        True,
    )
    assert contents(run) == before
    report = run.parent / "report"
    assert seq2set("evaluate", run, "--report", report).code == 0
    assert seq2set("evaluate", run, "--report", report, "--force").code == 0


def test_a_file_of_errors_replaces_such_files_only(seq2set, run: Path, small_corpus: PreparedCorpus) -> None:
    mine = run.parent / "mine.jsonl"
    write_jsonl(mine, all_documents(small_corpus))
    before = mine.read_bytes()
    outcome = seq2set("evaluate", run, "--data", mine, "--include-seen", "--errors", mine, "--force")
    assert (outcome.code, f"{mine} holds no errors of an evaluation; --force" in outcome.err) == (2, True)
    assert mine.read_bytes() == before
    for _ in range(2):
        assert seq2set("evaluate", run, "--errors", run.parent / "errors.csv", "--force").code == 0


@pytest.mark.parametrize("name", ["mine.jsonl", "train.parquet"])
def test_a_prepared_corpus_does_not_replace_what_it_is_made_of(
    seq2set, small_corpus: PreparedCorpus, tmp_path: Path, name: str
) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    if name == "mine.jsonl":
        write_jsonl(raw / name, all_documents(small_corpus))
    else:
        shutil.copy(small_corpus.folder / name, raw / name)
    before = contents(raw)
    outcome = seq2set("data", "prepare", "mine", "--from", raw, "--out", raw, "--force")
    assert (outcome.code, f"{raw} holds the source {raw / name} itself" in outcome.err) == (2, True)
    outcome = seq2set("data", "prepare", "mine", "--from", raw / name, "--out", tmp_path, "--force")
    assert outcome.code == 2
    assert contents(raw) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("train", *BR, "--data", "CORPUS", "--out", "MODEL/next"),
        ("distill", "RUN", *BR, "--data", "CORPUS", "--folds", "2", "--out", "MODEL/next"),
        ("tune", *BR, "--data", "CORPUS", "--trials", "1", "--out", "MODEL/next"),
        ("experiment", "compare", "--models", "br", "--data", "CORPUS", "--out", "MODEL/next"),
        ("data", "prepare", "medline", "--out", "MODEL/next"),
        ("evaluate", "RUN", "--report", "MODEL/next"),
        ("evaluate", "RUN", "--errors", "MODEL/errors.csv"),
        ("predict", "RUN", "wheat", "--output", "MODEL/labels.csv"),
        ("predict", "RUN", "--input", "CORPUS/test.parquet", "--output", "MODEL/next/"),
    ],
    ids=lambda one: " ".join(one[:2]),
)
def test_nothing_is_written_into_a_model(
    seq2set, run: Path, small_corpus: PreparedCorpus, arguments: tuple[str, ...]
) -> None:
    before = contents(run)
    places = {"CORPUS": str(small_corpus.folder), "MODEL": str(run / "model"), "RUN": str(run)}
    told = []
    for one in arguments:
        for name, place in places.items():
            one = one.replace(name, place)
        told.append(one)
    outcome = seq2set(*told)
    assert outcome.code == 2, outcome.err
    assert f"lies inside the model folder {run / 'model'}, which holds its own files alone" in outcome.err
    assert contents(run) == before
    assert not (run / "model" / "next").exists()
    assert seq2set("predict", run, "wheat").code == 0
