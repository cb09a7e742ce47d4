"""What a table of figures says of the documents and labels that they stand on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seq2set.config import build_config
from seq2set.config.catalog import list_shown
from seq2set.config.run_folder import RunFolder
from seq2set.workflows.train import train

HEAD = "text,labels\n"


@pytest.fixture(scope="module")
def other_run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A model of another corpus: 40 rows, of which 4 are its test split."""
    folder = tmp_path_factory.mktemp("other")
    rows = [f"{'sun shines' if n % 2 else 'rain falls'} {n},{'fair' if n % 2 else 'wet'}" for n in range(40)]
    (folder / "weather.csv").write_text(HEAD + "\n".join(rows) + "\n", encoding="utf-8")
    chosen = [f'data.corpus="{folder / "weather.csv"}"', "features.min_documents=1"]
    return train(build_config(model="br", assignments=chosen), folder / "weather-run")


def test_each_row_says_what_it_was_measured_on(
    seq2set, br_run: RunFolder, other_run: RunFolder, monkeypatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    outcome = seq2set("evaluate", br_run.path, other_run.path)
    first, second = (line for line in outcome.out.splitlines() if " br " in line)
    assert str(br_run.path) in first
    assert "small, test: 32 documents" in first
    assert str(other_run.path) in second
    assert "weather, test: 4 documents" in second
    sentence = "the rows were not measured on the same documents: their figures cannot be compared"
    assert sentence in outcome.out
    assert sentence in seq2set("evaluate", br_run.path, other_run.path, "--json").err
    assert sentence not in seq2set("evaluate", br_run.path, br_run.model).out


def test_json_names_the_run_and_its_documents(seq2set, br_run: RunFolder, other_run: RunFolder) -> None:
    lines = seq2set("evaluate", br_run.path, br_run.model, other_run.path, "--json").out.splitlines()
    first, again, other = map(json.loads, lines)
    assert [one["run"] for one in (first, again, other)] == [
        str(path) for path in (br_run.path, br_run.model, other_run.path)
    ]
    assert first["fingerprint"] == again["fingerprint"] != other["fingerprint"]


def test_labels_that_the_model_never_saw_are_counted(seq2set, br_run: RunFolder, tmp_path: Path) -> None:
    rows = "wheat harvest bushels,grain;barley\ncrude barrels,oil\nrye,rye\n"
    (tmp_path / "own.csv").write_text(HEAD + rows, encoding="utf-8")
    outcome = seq2set("evaluate", br_run.path, "--data", tmp_path / "own.csv", "--json")
    found = json.loads(outcome.out)
    # grain and oil are right, barley and rye are missed: precision 2/2, recall 2/4.
    assert (found["unseen_labels"], found["micro_precision"], found["micro_recall"]) == (2, 1.0, 0.5)
    sentence = (
        "2 of the 4 labels of these documents are unknown to the model, which never saw them in training: "
        "they always count as missed"
    )
    assert sentence in outcome.err
    table = seq2set("evaluate", br_run.path, "--data", tmp_path / "own.csv", "--report", tmp_path / "report")
    assert sentence in " ".join(table.out.split())
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert sentence in page
    assert str(br_run.path) in page


def test_where_no_label_is_known_that_is_why_all_is_zero(seq2set, br_run: RunFolder, tmp_path: Path) -> None:
    rows = "wheat harvest bushels,Grain\ncrude barrels,Oil\n"
    (tmp_path / "own.csv").write_text(HEAD + rows, encoding="utf-8")
    outcome = seq2set("evaluate", br_run.path, "--data", tmp_path / "own.csv", "--json")
    found = json.loads(outcome.out)
    assert (found["unseen_labels"], found["micro_f1"]) == (2, 0)
    assert (
        "the model knows none of the 2 labels of these documents, so that nothing it gives can be right: "
        "they have 'Grain', 'Oil'; it knows '" in outcome.err
    )


def test_no_rule_is_tuned_on_labels_that_the_model_does_not_know(
    seq2set, br_run: RunFolder, tmp_path: Path
) -> None:
    (tmp_path / "own.csv").write_text(HEAD + "new wheat,Grain\nnew crude,Oil\n", encoding="utf-8")
    before = (br_run.model / "manifest.json").read_bytes()
    outcome = seq2set("tune", "--thresholds", br_run.path, "--data", tmp_path / "own.csv")
    assert outcome.code == 2
    assert "seq2set: own: the model knows none of the labels of these 2 documents" in outcome.err
    assert (br_run.model / "manifest.json").read_bytes() == before


@pytest.mark.parametrize("several", [False, True])
def test_a_narrow_terminal_cuts_no_figure(
    seq2set, br_run: RunFolder, monkeypatch: pytest.MonkeyPatch, several: bool
) -> None:
    call = ("evaluate", br_run.path, *([br_run.path] if several else []))
    found = json.loads(seq2set(*call, "--json").out.splitlines()[0])
    monkeypatch.setenv("COLUMNS", "40")
    table = seq2set(*call).out
    assert all(f" {name} " in table for name in ("Models", "br"))
    for name, metric in list_shown().items():
        assert f" {found[name]:.{metric.digits}f} " in table, name


def test_labels_that_no_document_has_are_counted(seq2set, br_run: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text(HEAD + "wheat harvest bushels,grain\ncrude barrels,oil\n", "utf-8")
    call = ("evaluate", br_run.path, "--data", tmp_path / "own.csv")
    outcome = seq2set(*call, "--json", "--per-label")
    found = json.loads(outcome.out)
    empty = [row["label"] for row in found["per_label"] if not row["support"]]
    assert found["labels_without_documents"] == len(empty) == found["labels"] - 2 > 1
    # As they cannot be found, what macro-F1 can reach is the share of the others.
    assert found["macro_f1"] == pytest.approx(sum(row["f1"] for row in found["per_label"]) / found["labels"])
    some = f"{len(empty)} of {found['labels']} labels have no document to measure on"
    sentence = f"{some} and count 0 in macro-F1, such as '{empty[0]}'"
    assert sentence in outcome.err
    assert sentence in " ".join(seq2set(*call).out.split())
