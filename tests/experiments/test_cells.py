from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from small_experiments import Interrupting, small_options

from seq2set.config import build_config
from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import ConfigError, OutputError, StoppedError
from seq2set.core.progress import Silent
from seq2set.corpora.documents import Document
from seq2set.corpora.prepare import prepare
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.splits import SplitPlan
from seq2set.experiments.cells.cell import ANSWERS, FACTS, SPENT, Cell, CellResult, read_result, run_cell
from seq2set.experiments.options import Options
from seq2set.experiments.render.report import list_trainings
from seq2set.experiments.studies.compare import STUDY as COMPARE
from seq2set.inference.predictor import Predictor
from seq2set.workflows.evaluate import evaluate

cells = COMPARE.cells


def test_a_cell_says_what_came_out(results: list[CellResult], compared: Options) -> None:
    br = results[0]
    facts = json.loads((compared.cells / "br" / FACTS).read_text(encoding="utf-8"))
    report = evaluate(compared.cells / "br").summary()
    assert facts == br.facts
    assert {name: facts["metrics"][name] for name in ("micro_f1", "hamming_loss")} == {
        name: report[name] for name in ("micro_f1", "hamming_loss")
    }
    assert facts["validation"] == evaluate(compared.cells / "br", split="valid").result.metrics
    assert (facts["model"], facts["seed"], facts["split"], facts["documents"]) == ("br", 1, "test", 32)
    assert facts["config"]["data"]["corpus"] == compared.data
    assert facts["machine"]["threads"] == 1
    assert facts["seconds"]["training"] >= 0
    assert br.answers.metrics() == pytest.approx({name: br.metrics[name] for name in br.answers.metrics()})


def test_a_cell_is_measured_on_the_test_documents(results: list[CellResult], compared: Options) -> None:
    corpus = PreparedCorpus.open(Path(compared.data))
    wanted = [document.id for batch in corpus.split("test").iter_batches(100) for document in batch]
    assert sorted(results[0].answers.ids) == sorted(wanted)


def test_a_cell_and_evaluate_measure_the_same_documents_where_train_and_test_share_texts(
    tmp_path: Path,
) -> None:
    words = {"grain": "wheat harvest", "oil": "crude barrels", "trade": "tariff exports"}
    names = sorted(words)
    documents = [
        Document(str(n), f"{words[names[n % 3]]} w{n}", (names[n % 3],), "train" if n < 40 else "valid")
        for n in range(50)
    ]
    repeated = [documents[n]._replace(id=f"again {n}", split="test") for n in (0, 1, 2, 45)]
    new = [Document("new", "wheat and tariff", ("grain", "trade"), "test")]
    plan = SplitPlan("given")
    prepare([*documents, *repeated, *new], tmp_path / "c", name="c", source="", licence="", plan=plan)
    config = build_config(model="br", assignments=[f'data.corpus="{tmp_path / "c"}"'])
    result = run_cell(Cell("br", config, tmp_path / "cells" / "br"), Silent())
    found = evaluate(result.folder).summary()
    assert (result.facts["documents"], found["documents"]) == (5, 5)
    assert {name: found[name] for name in result.metrics} == result.metrics
    assert result.facts["seen"] == {"trained_on": 3, "used_for_tuning": 1, "left_out": 0}
    assert list_trainings([result]).found[1] == (
        "Of the 5 test documents of c, the texts of 3 stand in train as well and those of 1 in validation. "
        "They are counted, so that figures on a published split can be compared."
    )
    earlier = {name: value for name, value in result.facts.items() if name != "seen"}
    assert len(list_trainings([replace(result, facts=earlier)]).found) == 1


def test_a_cell_leaves_out_what_it_has_seen_where_the_split_was_made_here(tmp_path: Path) -> None:
    words = {"grain": "wheat harvest", "oil": "crude barrels", "trade": "tariff exports"}
    names = sorted(words)
    # Every text stands there four times, so that any split by chance has it on both sides.
    documents = [
        Document(f"{n}-{copy}", f"{words[names[n % 3]]} w{n}", (names[n % 3],))
        for n in range(20)
        for copy in range(4)
    ] + [Document(f"new {n}", f"{words[names[n % 3]]} only{n}", (names[n % 3],)) for n in range(40)]
    plan = SplitPlan("random", valid=0.2, test=0.2)
    prepare(documents, tmp_path / "c", name="c", source="", licence="", plan=plan)
    config = build_config(model="br", assignments=[f'data.corpus="{tmp_path / "c"}"'])
    result = run_cell(Cell("br", config, tmp_path / "cells" / "br"), Silent())
    found = evaluate(result.folder).summary()
    assert found["left_out"] == result.facts["seen"]["left_out"] > 0
    assert found["documents"] == result.facts["documents"] == 24 - found["left_out"]
    assert {name: found[name] for name in result.metrics} == result.metrics
    assert list_trainings([result]).found[1].endswith("in validation. They are left out.")


def test_a_cell_says_which_phase_gave_its_weights(results: list[CellResult], compared: Options) -> None:
    br, network = results[0], results[1]
    looks = RunFolder(network.folder).records()
    best = max(looks, key=lambda look: look["micro_f1"])
    assert network.facts["kept"] == {"phase": best["phase"], "update": best["update"]}
    assert (network.phase, br.phase) == (best["phase"], "")
    assert br.facts["kept"] == {"phase": None, "update": None}
    metadata = Predictor.open(network.folder).metadata["training"]
    assert (metadata["phase"], metadata["update"]) == (best["phase"], best["update"])
    card = (network.folder / "model" / "README.md").read_text(encoding="utf-8")
    assert f"| phase of the kept weights | {best['phase']} |" in card
    assert f"| update of the kept weights | {best['update']} |" in card
    (table,) = list_trainings(results).tables
    place = [column.name for column in table.columns].index("weights from")
    assert [row.entries[place] for row in table.rows[:2]] == ["", best["phase"]]


def test_a_cell_of_an_earlier_version_does_not_know_its_phase(results: list[CellResult]) -> None:
    known = {name: value for name, value in results[1].facts.items() if name != "kept"}
    assert replace(results[1], facts=known).phase == ""


def test_a_cell_goes_through_json(compared: Options) -> None:
    for cell in cells(compared):
        assert Cell.from_dict(json.loads(json.dumps(cell.to_dict()))) == cell


def test_a_cell_that_is_done_is_only_read(compared: Options, results: list[CellResult]) -> None:
    cell = cells(compared)[0]
    written = (cell.folder / FACTS).stat().st_mtime_ns
    assert run_cell(cell, Silent()).facts == results[0].facts
    assert (cell.folder / FACTS).stat().st_mtime_ns == written


def test_damaged_answers_are_measured_again_without_training(
    small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    cell = cells(small_options(small_corpus, tmp_path, ("br",)))[0]
    facts = run_cell(cell, Silent()).facts
    model = (cell.folder / "model" / "manifest.json").stat().st_mtime_ns
    (cell.folder / ANSWERS).write_bytes(b"half of it")
    assert read_result(cell) is None
    again = run_cell(cell, Silent()).facts
    assert (again["metrics"], again["seconds"]["training"]) == (
        facts["metrics"],
        facts["seconds"]["training"],
    )
    assert read_result(cell) is not None
    assert (cell.folder / "model" / "manifest.json").stat().st_mtime_ns == model


def test_another_split_is_measured_anew(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    cell = cells(small_options(small_corpus, tmp_path, ("br",)))[0]
    run_cell(cell, Silent())
    on_valid = run_cell(replace(cell, split="valid"), Silent())
    assert on_valid.metrics["micro_f1"] == pytest.approx(on_valid.validation["micro_f1"])


def test_a_place_that_cannot_be_written_to_is_one_sentence(compared: Options, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here first", encoding="utf-8")
    with pytest.raises(OutputError, match="cannot write to .*br: a part of the path is a file, not a folder"):
        run_cell(cells(replace(compared, out=tmp_path / "file"))[0], Silent())


def test_a_cell_of_other_settings_is_refused(compared: Options, results: list[CellResult]) -> None:
    other = replace(compared, assignments=(*compared.assignments, "linear.c=[5]"))
    with pytest.raises(ConfigError, match="br was begun with other settings: linear.c"):
        run_cell(cells(other)[0], Silent())


def test_a_stopped_cell_goes_on_to_the_same_result_and_keeps_its_time(
    compared: Options, results: list[CellResult], tmp_path: Path
) -> None:
    cell = cells(replace(compared, out=tmp_path))[1]
    with pytest.raises(StoppedError):
        run_cell(cell, Interrupting("warm-start", 5))
    spent = json.loads((cell.folder / SPENT).read_text(encoding="utf-8"))["seconds"]
    assert not (cell.folder / FACTS).exists()
    (cell.folder / SPENT).write_text('{"seconds": 1000.0}', encoding="utf-8")
    with pytest.raises(StoppedError):
        run_cell(cell, Interrupting("warm-start", 3))
    result = run_cell(cell, Silent())
    assert spent >= 0
    assert result.seconds >= 1000
    assert result.metrics == results[1].metrics
