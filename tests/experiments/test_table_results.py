from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from fake_cells import fake_cells
from small_experiments import small_options

from seq2set.config import build_config
from seq2set.config.catalog import MODELS
from seq2set.core.files import write_json
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.experiments.cells.cell import FACTS
from seq2set.experiments.options import Options, is_deterministic
from seq2set.experiments.render.report import Section
from seq2set.experiments.render.tables import Quantity, format_entry
from seq2set.experiments.run import run_experiment
from seq2set.experiments.studies import compare
from seq2set.experiments.studies.table_results import STUDY as TABLE

cells = TABLE.cells

SKILL = {"br-boundary": 0.3, "br": 0.5, "seq2seq": 0.45, "seq2set-simp": 0.9, "seq2set": 0.95}


def skill(row: str) -> float:
    return SKILL.get(row, 0.4)


@pytest.fixture(scope="module")
def options(small_corpus: PreparedCorpus, tmp_path_factory: pytest.TempPathFactory) -> Options:
    made = small_options(small_corpus, tmp_path_factory.mktemp("table"), tuple(MODELS), seeds=(1, 2, 3))
    fake_cells(cells(made), lambda cell: skill(cell.row))
    return made


def found(options: Options) -> dict[str, Section]:
    return {one.title: one for one in run_experiment("table-results", options).findings.sections}


@pytest.fixture(scope="module")
def sections(options: Options) -> dict[str, Section]:
    return found(options)


def test_all_models_and_br_twice(options: Options) -> None:
    names = [cell.name for cell in cells(options)]
    assert names[:2] == ["br-boundary", "br"]
    # BR once more, and each model once, or with each of the three seeds where it draws at random.
    assert len(names) == 1 + sum(1 if is_deterministic(build_config(model=name)) else 3 for name in MODELS)
    assert cells(options)[0].config.decision.threshold == "boundary"
    assert {cell.folder for cell in compare.STUDY.cells(options)} <= {cell.folder for cell in cells(options)}
    fixed = replace(options, assignments=(*options.assignments, "decision.threshold=0.5"))
    assert [cell.name for cell in cells(fixed)][:2] == ["br-boundary", "br-tuned"]


def test_the_table_and_the_first_claim(sections: dict[str, Section]) -> None:
    section = sections["Results"]
    table = section.tables[0]
    assert [row.name for row in table.rows][:3] == ["BR (default threshold)", "BR (tuned threshold)", "CC"]
    assert [column.name for column in table.columns][:4] == ["HL", "P", "R", "F1"]
    assert "over BR (tuned threshold)" in [column.name for column in table.columns]
    (claim,) = section.claims
    baselines = 1 + sum(row.is_baseline for row in MODELS.values())  # BR twice
    pairs = baselines * (1 + len(MODELS) - baselines)
    assert claim.sentence().startswith(
        "The paper's claim that both Seq2Sets lie above all baselines holds here: "
        f"{pairs} of {pairs} differences are significant, the closest: "
        "Seq2Set (simp.) over BR (tuned threshold) +"
    )


def test_the_first_claim_is_judged_by_every_baseline(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    """Seq2Seq is level with Seq2Set on test; on validation CC is the best, which Seq2Set beats."""
    options = small_options(small_corpus, tmp_path, ("cc", "seq2seq", "seq2set"), seeds=(1, 2, 3))
    fake_cells(cells(options), lambda cell: 0.3 if cell.row == "cc" else 0.9)
    facts = tmp_path / "cells" / "cc" / FACTS
    stored = json.loads(facts.read_text(encoding="utf-8"))
    write_json(facts, stored | {"validation": stored["validation"] | {"micro_f1": 0.99}})
    section = found(options)["Results"]
    assert "The best baseline on validation is CC (micro-F1 0.990 there)." in section.found
    (claim,) = section.claims
    assert (claim.holds, claim.evidence) == (
        None,
        "1 of 2 differences are not settled: Seq2Set over Seq2Seq +0.0 points (+0.0 to +0.0); not "
        "significant, and no number of seeds would settle it on these documents",
    )


def test_one_seed_leaves_the_first_claim_open(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    options = small_options(small_corpus, tmp_path, ("br", "seq2set"), seeds=(1,))
    fake_cells(cells(options), lambda cell: skill(cell.row))
    sections = found(options)
    results = sections["Results"]
    (claim,) = results.claims
    assert claim.holds is None
    assert claim.evidence.endswith("; fewer than three seeds allow no test of methods, train at least 3")
    assert "not tested, with fewer than three seeds: Seq2Set (+" in " ".join(results.found)
    table = results.tables[0]
    # BR at both thresholds draws nothing at random, so that one training of each can be tested.
    assert {row.name: format_entry(row.entries[-1]) for row in table.rows}["Seq2Set"] == "–"
    assert {row.name: format_entry(row.entries[-1]) for row in table.rows}["BR (default threshold)"] != "–"
    assert "Seq2Set: fewer than three seeds, so that the interval is of what was trained" in table.caption
    beside = sections["Beside the paper"]
    assert beside.found[1] == (
        "No margin is tested: a model that draws at random was trained with fewer than three seeds."
    )
    assert [format_entry(entry) for entry in beside.tables[0].rows[0].entries][2:4] == ["–", "1 / –"]


def test_margins_stand_beside_the_published_ones(sections: dict[str, Section]) -> None:
    section = sections["Beside the paper"]
    assert section.found[0] == ("The corpus is not one of the paper's, so that only margins can be compared.")
    (table,) = section.tables
    rows = {row.name: [format_entry(entry) for entry in row.entries] for row in table.rows}
    assert list(rows) == [
        f"{ours} over {theirs}"
        for theirs in ("Seq2Seq", "BR (tuned threshold)", "BR (default threshold)")
        for ours in ("Seq2Set (simp.)", "Seq2Set")
    ]
    # RCV1-V2: 0.879 - 0.868, 0.887 - 0.858; AAPD: 0.705 - 0.691, 0.698 - 0.646.
    assert rows["Seq2Set (simp.) over Seq2Seq"][4:] == ["+1.1", "+1.4"]
    assert rows["Seq2Set over BR (tuned threshold)"][4:] == ["+2.9", "+5.2"]
    f1 = {row.name: row.entries[3] for row in sections["Results"].tables[0].rows}
    ours, theirs = f1["Seq2Set"], f1["Seq2Seq"]
    assert isinstance(ours, Quantity)
    assert isinstance(theirs, Quantity)
    assert rows["Seq2Set over Seq2Seq"][0] == f"+{100 * (ours.value - theirs.value):.1f}"
    assert section.found[1] == "All 6 margins are significant."


def test_on_the_papers_own_corpus_all_rows_stand_side_by_side(
    small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    options = small_options(small_corpus, tmp_path, ("br", "seq2set"), seeds=(1,))
    fake_cells(cells(options), lambda cell: skill(cell.row), name="aapd", train=53_840)
    results, section, *_ = run_experiment("table-results", options).findings.sections
    assert section.found[0] == (
        "This is the corpus of the paper's Table 4, so that the rows can be compared."
    )
    beside, margins = section.tables
    assert [column.name for column in beside.columns] == [
        "HL", "HL, paper", "P", "P, paper", "R", "R, paper", "F1", "F1, paper",
    ]  # fmt: skip
    rows = {row.name: [format_entry(entry) for entry in row.entries] for row in beside.rows}
    assert list(rows) == ["BR (default threshold)", "BR (tuned threshold)", "Seq2Set"]
    assert rows["Seq2Set"][1::2] == ["0.0249", "0.744", "0.659", "0.698"]
    assert rows["BR (default threshold)"][1::2] == rows["BR (tuned threshold)"][1::2]
    assert rows["BR (default threshold)"][7] == "0.646"
    assert rows["Seq2Set"][6] == format_entry(results.tables[0].rows[2].entries[3])
    assert len(margins.rows) == 2


def test_without_rivals_there_is_nothing_to_put_beside(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    options = small_options(small_corpus, tmp_path, ("seq2set",), seeds=(1,))
    fake_cells(cells(options), lambda cell: 0.5)
    sections = found(options)
    assert list(sections) == ["Results", "Other measures and cost", "Every training"]
    assert sections["Results"].claims == ()
