from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from fake_cells import fake_cells
from small_experiments import small_options

from publish_results import publish
from results_page import describe_measurement
from seq2set.core.errors import InputError
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.experiments.options import Options
from seq2set.experiments.render.tables import format_entry
from seq2set.experiments.run import plan_experiment, run_experiment
from seq2set.experiments.studies.uncorrelated import STUDY as UNCORRELATED

cells = UNCORRELATED.cells

FOUR = ("br", "seq2seq", "seq2set-simp", "seq2set")


def options_for(corpus: PreparedCorpus, out: Path, **extra: str) -> Options:
    made = small_options(corpus, out, FOUR, seeds=(1,), extra=extra)
    return replace(made, assignments=(*made.assignments, "self_critical.epochs=1"))


def test_cells_are_trained_on_the_reduced_corpus(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    options = options_for(small_corpus, tmp_path, threshold="0.05")
    found = cells(options)
    assert [cell.name for cell in found] == [
        "br-uncorrelated-0.05", *(f"{model}-uncorrelated-0.05-shuffled-seed1" for model in FOUR[1:])
    ]  # fmt: skip
    assert {cell.folder.parent for cell in found} == {options.cells}
    folder = tmp_path / "corpora" / "uncorrelated-0.05"
    assert {cell.config.data.corpus for cell in found} == {str(folder)}
    PreparedCorpus.open(folder).verify()
    assert {step.state for step in plan_experiment("uncorrelated", options).list_steps()} == {"to do"}


def test_labels_are_out_of_order_unless_asked_otherwise(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    usual, asked = (
        cells(options_for(small_corpus, tmp_path, **extra)) for extra in ({}, {"order": "descending"})
    )
    assert [cell.config.label_order.kind for cell in usual[1:]] == ["shuffled"] * 3
    assert [cell.config.label_order.kind for cell in asked[1:]] == ["descending"] * 3
    # The folders of cells in descending order, which was once the only one, are found again.
    names = [f"{model}-uncorrelated-0.28-seed1" for model in FOUR[1:]]
    assert [cell.name for cell in asked] == ["br-uncorrelated-0.28", *names]
    assert usual[0] == asked[0]
    with pytest.raises(InputError, match="--option order is 'given'; it must be shuffled or descending"):
        cells(options_for(small_corpus, tmp_path, order="given"))


@pytest.mark.parametrize(
    ("order", "sentence"),
    [
        ("shuffled", "Labels were learned shuffled, once for each training document, as in the paper."),
        (
            "descending",
            "Labels were learned in descending order of frequency, where the paper has them out of order.",
        ),
    ],
)
def test_the_page_says_in_which_order(
    small_corpus: PreparedCorpus, tmp_path: Path, order: str, sentence: str
) -> None:
    options = options_for(small_corpus, tmp_path, order=order)
    fake_cells(cells(options), lambda _: 0.5)
    findings, page = run_experiment("uncorrelated", options)
    assert sentence in findings.sections[0].found
    assert sentence in page.read_text(encoding="utf-8")
    (published,) = publish(tmp_path, tmp_path / "results")
    values = json.loads(published.read_text(encoding="utf-8"))
    del values["sections"][0]["found"][:]  # as pages were before they said it
    assert describe_measurement(values).endswith(sentence)


@pytest.mark.parametrize("text", ["low", "-0.1", "1.01"])
def test_a_wrong_threshold(small_corpus: PreparedCorpus, tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=f"--option threshold is '{text}'; it must be a number from 0 to 1"):
        cells(options_for(small_corpus, tmp_path, threshold=text))


def test_the_claims_and_the_papers_table(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    options = replace(options_for(small_corpus, tmp_path), seeds=(1, 2, 3))
    skill = {"br": 0.5, "seq2seq": 0.5, "seq2set-simp": 0.95, "seq2set": 0.95}
    fake_cells(cells(options), lambda cell: skill[cell.config.model])
    first, beside, corpus, _ = run_experiment("uncorrelated", options).findings.sections
    assert first.sentences()[0] == (
        "The paper's claim that Seq2Seq has no advantage over BR on uncorrelated labels is left open here: "
        "Seq2Seq over BR +0.0 points (+0.0 to +0.0); less than 1 point counts as none; not significant, and "
        "no number of seeds would settle it on these documents."
    )
    assert first.sentences()[1].startswith(
        "The paper's claim that both Seq2Sets lie above BR and Seq2Seq there holds here: "
    )
    margins, published = beside.tables
    # Table 5: 0.862, 0.871 and 0.866 over 0.861 of BR; 0.871 and 0.866 over 0.862 of Seq2Seq.
    assert [(row.name, format_entry(row.entries[4])) for row in margins.rows] == [
        ("Seq2Seq over BR", "+0.1"),
        ("Seq2Set (simp.) over BR", "+1.0"),
        ("Seq2Set over BR", "+0.5"),
        ("Seq2Set (simp.) over Seq2Seq", "+0.9"),
        ("Seq2Set over Seq2Seq", "+0.4"),
    ]
    assert format_entry(published.rows[2].entries[3]) == "0.871"
    assert corpus.title == "The reduced corpus"


def test_from_the_command_to_the_page_with_real_trainings(
    small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    options = options_for(small_corpus, tmp_path)
    findings, page = run_experiment("uncorrelated", options)
    text = page.read_text(encoding="utf-8")
    assert "4 trainings on small-uncorrelated" in text
    numbers = json.loads((page.parent / "results.json").read_text(encoding="utf-8"))
    reduced = PreparedCorpus.open(tmp_path / "corpora" / "uncorrelated-0.28")
    assert {one["corpus"]["fingerprint"] for one in numbers["cells"]} == {reduced.fingerprint}
    assert {one["documents"] for one in numbers["cells"]} == {len(reduced.split("test"))}
    assert len(findings.results) == 4
    assert plan_experiment("uncorrelated", options).left == []
