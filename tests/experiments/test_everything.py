from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from ranked_corpora import KNOWN, by_knowledge, give, ranked_options
from small_experiments import Noting

from seq2set.core.errors import ConfigError, CorpusError, InputError, UnknownNameError, WorkError
from seq2set.core.progress import Silent
from seq2set.experiments import ALL, EXPERIMENTS, find_experiment, load_study
from seq2set.experiments import run as everything
from seq2set.experiments.cells.cell import FACTS
from seq2set.experiments.cells.plan import Schedule
from seq2set.experiments.options import Options, parse_extra
from seq2set.experiments.run import ExperimentPlan, list_cells, plan_all, run_all
from seq2set.experiments.studies import compare


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the experiments that are cheap to write."""
    names = ("low-frequency", "case-study", "lambda")
    monkeypatch.setattr(everything, "EXPERIMENTS", {name: EXPERIMENTS[name] for name in names})


def test_trainings_that_are_shared_stand_there_once(tmp_path: Path) -> None:
    options = ranked_options(tmp_path, ("br", "seq2set"), extra={"steps": "2", "retrain": "yes"})
    names = [cell.name for cell in list_cells(options)]
    assert len(set(names)) == len(names)
    assert {"br", "seq2set-seed1", "br-without-2", "seq2set-shuffled-seed1"} <= set(names)
    assert names[:2] == ["br", "seq2set-seed1"]
    schedule = plan_all(options, Silent())
    assert [cell.name for cell in schedule.cells] == names
    assert schedule.describe_time_left() == "time to go unknown"


@pytest.mark.usefixtures("few")
def test_one_page_leads_to_all(tmp_path: Path) -> None:
    options = ranked_options(tmp_path, tuple(KNOWN), extra={"cases": "1", "bands": "2"})
    give(list_cells(options), by_knowledge)
    progress = Noting()
    found = run_all(options, progress)
    assert found.page == options.out / "index.html"
    text = found.page.read_text(encoding="utf-8")
    body = ElementTree.fromstring(text[text.index("<body>") : text.index("</html>")])
    links = [one.get("href") for one in body.iter("a")]
    assert links == ["low-frequency/index.html", "case-study/index.html"] * 2
    assert all((options.out / one).is_file() for one in links)
    words = " ".join(body.itertext())
    assert "4 trainings on ranked: 20 documents" in words
    assert (
        "The paper's claim that all methods perform poorly on rare labels <b>is left open</b> here: on"
        in text
    )
    # lambda says nothing about a training without a self-critical phase, such as this one.
    assert progress.notes[0].startswith("lambda is left out: self_critical.epochs is 0")
    # Each experiment was told its own options only.
    told = json.loads((options.out / "case-study" / "results.json").read_text(encoding="utf-8"))
    assert told["asked"]["options"] == {"cases": "1"}


def test_a_shared_training_bears_the_name_of_each_experiments_own_row(tmp_path: Path) -> None:
    options = ranked_options(tmp_path, ("br",))
    (cell,) = compare.STUDY.cells(options)
    give([cell], by_knowledge)
    part = ExperimentPlan("mine", options, [replace(cell, row="BR as it is")])
    assert [one.row for one in part.select_results(Schedule([cell]))] == ["BR as it is"]


@pytest.mark.usefixtures("few")
def test_each_experiment_has_its_own_models(tmp_path: Path) -> None:
    options = ranked_options(tmp_path, ("br",))
    progress = Noting()
    give(list_cells(options), by_knowledge)
    found = run_all(options, progress)
    assert [one.findings.experiment for one in found.parts] == ["low-frequency"]
    # Nobody can disagree with BR; and lambda, of which BR has none, is not worth a word.
    assert progress.notes[0] == (
        "case-study is left out: --models has br alone; it must name two models that can disagree"
    )
    assert not any("lambda" in note for note in progress.notes)


@pytest.mark.usefixtures("few")
def test_a_failure_is_named_when_the_rest_is_written(tmp_path: Path) -> None:
    nan = ("warm_start.learning_rate=1e38",)
    options = ranked_options(tmp_path, ("br", "seq2set"))
    options = replace(options, assignments=options.assignments + nan)
    wanted = list_cells(options)
    give(wanted[:1], by_knowledge)
    with pytest.raises(WorkError, match="1 cell failed, the rest is done; seq2set-seed1"):
        run_all(options)
    assert (options.out / "index.html").is_file()
    (wanted[0].folder / FACTS).unlink()
    alone = replace(options, models=("seq2set",), out=tmp_path / "alone")
    with pytest.raises(WorkError, match="1 cell failed"):
        run_all(alone)
    assert not (tmp_path / "alone" / "index.html").exists()


def test_what_is_wrong_for_all_is_said_at_once(tmp_path: Path) -> None:
    options = Options(str(tmp_path / "nowhere.csv"), tmp_path, ("br",))
    with pytest.raises(CorpusError, match="nowhere"):
        list_cells(options)
    with pytest.raises(ConfigError, match="lineer is not a setting"):
        list_cells(replace(options, assignments=("lineer.c=[1]",)))


def test_no_experiment_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(everything, "EXPERIMENTS", {"lambda": EXPERIMENTS["lambda"]})
    with pytest.raises(InputError, match="no experiment can be run with --models br,cc"):
        list_cells(ranked_options(tmp_path, ("br", "cc")))


def test_all_has_the_options_of_every_one() -> None:
    known = find_experiment(ALL).options
    assert parse_extra(["steps=1", "texts=hidden"], known) == {"steps": "1", "texts": "hidden"}
    with pytest.raises(UnknownNameError, match="option 'step' is not known, did you mean 'steps'"):
        parse_extra(["step=1"], known)
    with pytest.raises(UnknownNameError, match="known are: compare, .*, all"):
        find_experiment("everything")
    for name in EXPERIMENTS:
        assert load_study(name).title
