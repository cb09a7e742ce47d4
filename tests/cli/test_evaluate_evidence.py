from __future__ import annotations

import json
import shutil
from pathlib import Path

from seq2set.config.run_folder import RunFolder


def test_the_figures_are_printed_and_are_in_the_json(seq2set, br_run: RunFolder, tmp_path: Path) -> None:
    run = shutil.copytree(br_run.path, tmp_path / "run")
    outcome = seq2set("evaluate", run, "--evidence", "--evidence-documents", "5")
    assert outcome.code == 0
    assert "labels of 5 documents" in outcome.out
    assert "comprehensiveness" in outcome.out
    outcome = seq2set("evaluate", run, "--evidence", "--evidence-documents", "5", "--json")
    assert json.loads(outcome.out)["evidence"]["documents"] == 5
    assert "evidence" not in json.loads(seq2set("evaluate", run, "--json").out)
    refused = seq2set("evaluate", run, "--evidence", "--evidence-documents", "0")
    assert refused.code == 2


def test_a_folder_that_cannot_be_written_keeps_its_card(
    seq2set, br_run: RunFolder, tmp_path: Path, monkeypatch
) -> None:
    run = Path(shutil.copytree(br_run.path, tmp_path / "run"))
    before = (run / "model/README.md").read_bytes()

    def refuse(*_: object, **__: object) -> str:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("seq2set.inference.model_folder.tempfile.mkdtemp", refuse)
    outcome = seq2set("evaluate", run, "--evidence", "--evidence-documents", "2", "--json")
    assert outcome.code == 0
    assert "the figures of the evidence are not on the model card: " in outcome.err
    assert json.loads(outcome.out)["evidence"]["documents"] == 2
    assert (run / "model/README.md").read_bytes() == before
