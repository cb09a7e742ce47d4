from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from small_experiments import by_model

from seq2set.core.errors import InputError
from seq2set.experiments.analysis.comparison import RowKey, compare_rows, compare_with, summarize_rows
from seq2set.experiments.cells.cell import CellResult
from seq2set.experiments.options import Options
from seq2set.experiments.render.comparison_tables import make_paper_table, plot_f1
from seq2set.experiments.render.report import Findings, Section, render_results
from seq2set.experiments.render.tables import Column, Quantity, Row, Table
from seq2set.experiments.run import run_experiment
from seq2set.experiments.studies.compare import STUDY as COMPARE
from seq2set.experiments.studies.compare import describe_comparison
from seq2set.experiments.studies.study import make_cells

cells = COMPARE.cells
sections = COMPARE.sections


def test_a_cell_for_each_seed_that_matters(compared: Options) -> None:
    names = [cell.name for cell in cells(compared)]
    assert names == ["br", "seq2set-simp-seed1", "seq2set-simp-seed2"]
    assert [cell.config.seed for cell in cells(compared)] == [1, 1, 2]
    varied = make_cells(compared, "seq2set", "seq2set-lambda-0.5", "objective.lambda=0.5")
    assert [cell.name for cell in varied] == ["seq2set-lambda-0.5-seed1", "seq2set-lambda-0.5-seed2"]
    assert varied[0].config.objective.lambda_ == 0.5


def test_a_row_puts_seeds_together(results: list[CellResult]) -> None:
    br, simp = summarize_rows(by_model(results))
    scores = [one.metrics["micro_f1"] for one in results[1:]]
    assert simp.metrics["micro_f1"].mean == pytest.approx(np.mean(scores))
    assert simp.metrics["micro_f1"].deviation == pytest.approx(abs(scores[0] - scores[1]) / 2**0.5)
    assert simp.f1.sums.shape == (2, 32, 2)
    assert simp.f1.values == pytest.approx(scores)
    assert br.metrics["micro_f1"].deviation is None
    interval = simp.interval
    assert interval.low < simp.metrics["micro_f1"].mean < interval.high


def test_a_row_on_some_labels(results: list[CellResult]) -> None:
    answers = results[0].answers
    some = answers.names[:2]
    row = summarize_rows(by_model(results[:1]), labels=some)[0]
    assert row.metrics["micro_f1"].mean == answers.metrics(some)["micro_f1"]
    assert row.f1.estimate.value == pytest.approx(row.metrics["micro_f1"].mean)
    assert row.interval.low <= row.f1.estimate.value <= row.interval.high


def test_the_best_baseline_is_chosen_on_validation(results: list[CellResult]) -> None:
    br = results[0]
    # A rival that is better on validation and no better on test must be the reference.
    facts = json.loads(json.dumps(br.facts)) | {"model": "cnn", "row": "cnn"}
    facts["validation"]["micro_f1"] = br.validation["micro_f1"] + 0.01
    facts["metrics"]["micro_f1"] = 0.0
    comparison = compare_rows(by_model([br, replace(br, row="cnn", facts=facts)]))
    assert comparison.reference is not None
    assert comparison.reference.key == RowKey("cnn")
    assert comparison.differences.keys() == {RowKey("br")}


def test_without_a_baseline_there_is_no_reference(results: list[CellResult]) -> None:
    comparison = compare_rows(by_model(results[1:]))
    assert comparison.reference is None
    assert [column.name for column in make_paper_table(comparison).columns] == [
        "HL",
        "P",
        "R",
        "F1",
        "F1, 95 %",
    ]
    assert "dashed" not in plot_f1(comparison).caption
    (sentence,) = describe_comparison(comparison)
    assert sentence.startswith("Seq2Set (simp.) reaches a micro-F1 of ")


def with_a_third_seed(results: list[CellResult]) -> list[CellResult]:
    last = results[-1]
    folder = last.folder / ".." / last.folder.name  # the same answers under another name
    return [*results, replace(last, folder=folder, facts=last.facts | {"seed": 3})]


def test_the_table_has_the_papers_form(results: list[CellResult]) -> None:
    results = with_a_third_seed(results)
    table = make_paper_table(compare_rows(by_model(results)))
    assert [column.head for column in table.columns[:4]] == ["HL(-)", "P(+)", "R(+)", "F1(+)"]
    assert [(row.name, row.ruled) for row in table.rows] == [("BR", False), ("Seq2Set (simp.)", True)]
    hamming = table.rows[0].entries[0]
    assert isinstance(hamming, Quantity)
    assert (hamming.value, hamming.digits) == (results[0].metrics["hamming_loss"], 4)
    assert table.rows[0].entries[5:] == (None, None, None)
    assert "over the seeds 1, 2, 3." in table.caption
    assert "by t on the variance over 32 documents and over seeds" in table.caption
    assert "Holm-adjusted for 1 test; * below 0.05" in table.caption


def test_the_verdict_on_a_clear_difference(results: list[CellResult]) -> None:
    # A tiny network after two epochs is far below a linear model on words that give labels away.
    results = with_a_third_seed(results)
    said = describe_comparison(compare_rows(by_model(results)))
    gap = results[0].metrics["micro_f1"] - np.mean([one.metrics["micro_f1"] for one in results[1:]])
    assert gap > 0.1
    assert said[0].startswith(
        f"BR has the highest micro-F1: {results[0].metrics['micro_f1']:.3f} (95 % interval "
    )
    assert said[1].startswith("The best baseline on validation is BR (micro-F1 ")
    assert said[2].startswith(f"Seq2Set (simp.) lies {gap:.3f} below BR (95 % interval of the difference −")
    assert said[2].endswith("), a significant difference.")
    assert said[3] == "BR is deterministic: one run covers all seeds."


def test_the_verdict_on_no_difference(results: list[CellResult]) -> None:
    twin = replace(results[0], row="cc", facts=results[0].facts | {"model": "cc"})
    said = describe_comparison(compare_rows(by_model([results[0], twin])))
    reached = f"{results[0].metrics['micro_f1']:.3f}"
    assert said[0].startswith(f"BR and CC share the highest micro-F1: {reached} (95 % interval of BR ")
    assert "CC lies 0.000 above BR" in said[2]
    assert said[2].endswith("p = 1.000), not significant.")


def test_the_verdict_on_several_rows_is_one_sentence(results: list[CellResult]) -> None:
    others = [
        replace(results[0], row=name, facts=results[0].facts | {"model": name}) for name in ("cc", "lp")
    ]
    comparison = compare_rows(by_model([*with_a_third_seed(results), *others]))
    gap = comparison.differences[RowKey("seq2set-simp")].estimate.value
    assert describe_comparison(comparison)[2] == (
        f"Significantly above it: none; significantly below it: Seq2Set (simp.) (−{abs(gap):.3f}); "
        "not significantly different: CC (+0.000) and LP (+0.000)."
    )
    network = comparison.summaries[1]
    found = compare_with(network, comparison.summaries)
    beaten = replace(comparison, reference=network, differences=found)
    ahead = f"(+{abs(gap):.3f})"
    assert describe_comparison(beaten)[2] == f"Significantly above it: BR {ahead}, CC {ahead} and LP {ahead}."


def test_cells_of_different_documents_are_refused(results: list[CellResult]) -> None:
    moved = results[1].facts["corpus"] | {"fingerprint": "another"}
    other = replace(results[1], facts=results[1].facts | {"corpus": moved})
    with pytest.raises(
        InputError, match="br and .*seq2set-simp-seed1 were measured on different documents; remove"
    ):
        summarize_rows(by_model([results[0], other]))


def test_everything_is_written(compared: Options, results: list[CellResult]) -> None:
    findings, page = run_experiment("compare", compared)
    folder = compared.out / "compare"
    assert page == folder / "index.html"
    assert sorted(path.name for path in folder.rglob("*") if path.is_file()) == [
        "index.html", "micro-f1.png", "micro-f1.svg", "results.json", "results.md", "results.tex",
    ]  # fmt: skip
    assert (folder / "figures" / "micro-f1.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    numbers = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert [one["name"] for one in numbers["cells"]] == ["br", "seq2set-simp-seed1", "seq2set-simp-seed2"]
    assert [one["config"]["seed"] for one in numbers["cells"]] == [1, 1, 2]
    row = numbers["sections"][0]["tables"][0]["rows"][1]
    assert row["models"] == "Seq2Set (simp.)"
    assert row["F1"]["value"] == pytest.approx(np.mean([one.metrics["micro_f1"] for one in results[1:]]))
    assert (folder / "results.tex").read_text(encoding="utf-8").count(r"\toprule") == 3
    text = (folder / "results.md").read_text(encoding="utf-8")
    assert text.startswith("# How the models compare\n")
    assert "](figures/micro-f1.png)" in text
    assert findings.sections[2].found[0].startswith("Measured on ")


def test_the_page_is_whole_and_fetches_nothing(compared: Options, results: list[CellResult]) -> None:
    text = render_results(Findings("compare", "Title", sections(compared, results), results))
    body = ElementTree.fromstring(text[text.index("<body>") : text.index("</html>")])  # fails on open tags
    for fetching in ("src=", "@import", "url(http", "<script"):
        assert fetching not in text
    words = " ".join(body.itertext())
    assert "3 trainings on small: 96 documents to learn from, 32 to tune on, 32 of the test split" in words
    assert "1. Results" in words
    assert text.count("<svg") == 1


def test_the_same_cells_give_the_same_page(compared: Options, results: list[CellResult]) -> None:
    pages = [render_results(Findings("compare", "T", sections(compared, results), results)) for _ in range(2)]
    assert pages[0] == pages[1]


def test_a_page_lets_no_code_through(results: list[CellResult]) -> None:
    nasty = "<script>alert(1)</script>"
    table = Table(nasty, nasty, (Column(nasty),), (Row(nasty, (nasty,)),), nasty, nasty)
    text = render_results(Findings("x", nasty, [Section(nasty, nasty, (nasty,), (table,))], results))
    assert "<script" not in text


def test_documents_of_one_group_count_as_one(results: list[CellResult]) -> None:
    """Cells of today tell the groups, older ones do not: all rows of a table count by the same."""
    br, simp, other = results
    pairs = tuple(f"g{place // 2}" for place in range(32))
    told = replace(simp)
    told.__dict__["answers"] = replace(simp.answers, groups=pairs)
    rows = summarize_rows(by_model([br, told, other]))
    assert [len(row.f1.units) for row in rows] == [16, 16]
    assert "16 groups of 32 documents" in make_paper_table(compare_rows(by_model([br, told, other]))).caption
    assert [len(row.f1.units) for row in summarize_rows(by_model(results))] == [32, 32]
    # A document without a group counts for itself.
    told.__dict__["answers"] = replace(simp.answers, groups=("", "", *pairs[2:]))
    assert len(summarize_rows(by_model([br, told, other]))[0].f1.units) == 17
