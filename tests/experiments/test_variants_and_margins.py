from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fake_cells import fake_cells
from small_experiments import small_options

from seq2set.corpora.documents import Document
from seq2set.corpora.prepare import prepare
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.splits import SplitPlan
from seq2set.experiments import load_study
from seq2set.experiments.analysis.comparison import (
    Comparison,
    RowKey,
    Summary,
    compare_rows,
    compare_with,
    summarize_rows,
)
from seq2set.experiments.analysis.estimates import Estimate, Variance
from seq2set.experiments.analysis.margins import (
    ABOVE,
    BELOW,
    NOT_ABOVE,
    NOT_BELOW,
    Contrast,
    Margin,
    Pair,
    advise,
    compare_pairs,
    format_points,
    judge_claims,
    summarize_margins,
)
from seq2set.experiments.cells.plan import Schedule
from seq2set.experiments.render.comparison_tables import make_margin_table
from seq2set.experiments.render.tables import format_entry
from seq2set.experiments.studies.compare import note_single_labels
from seq2set.experiments.studies.study import (
    collect_rows,
    list_cells,
    make_plain_variants,
    make_variant,
    name_row,
)


def test_a_variant_that_changes_nothing_is_the_model_itself(
    small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    options = small_options(small_corpus, tmp_path, ("seq2set",), seeds=(1, 2))
    usual = options.config("seq2set", 1).objective.lambda_
    same = make_variant(options, "seq2set", "lambda-x", f"objective.lambda={usual}")
    other = make_variant(options, "seq2set", "0.5", "objective.lambda=0.5", folder="lambda-0.5")
    assert same.cells == make_variant(options, "seq2set").cells
    assert (same.key, name_row(same.key)) == (("seq2set", "lambda-x"), "Seq2Set, lambda-x")
    assert [cell.name for cell in other.cells] == ["seq2set-lambda-0.5-seed1", "seq2set-lambda-0.5-seed2"]
    assert [cell.name for cell in list_cells([same, other, same])] == [
        "seq2set-seed1",
        "seq2set-seed2",
        "seq2set-lambda-0.5-seed1",
        "seq2set-lambda-0.5-seed2",
    ]


def test_rows_may_share_a_cell(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    options = small_options(small_corpus, tmp_path, ("br", "cc"))
    plain, undone = make_plain_variants(options)
    one, other = (plain._replace(key=RowKey("br", name)) for name in ("one", "other"))
    fake_cells(one.cells, lambda cell: 0.5)
    results = list(Schedule([*one.cells, *undone.cells]).results.values())
    rows = collect_rows([one, other, undone], results)
    assert [row.key.variant for row in rows] == ["one", "other"]
    assert rows[0].results == rows[1].results


@pytest.fixture(scope="module")
def rows(small_corpus: PreparedCorpus, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Summary]:
    """Rows of which the first so many documents of 32 are right: br 4, cc 4, lp 30."""
    options = small_options(small_corpus, tmp_path_factory.mktemp("rows"), ("br", "cc", "lp"))
    found = make_plain_variants(options)
    fake_cells(list_cells(found), lambda cell: {"br": 4, "cc": 4, "lp": 30}[cell.row] / 32)
    results = list(Schedule(list_cells(found)).results.values())
    return {one.model: one for one in summarize_rows(collect_rows(found, results))}


def found_margins(rows: dict[str, Summary], *names: str) -> list[Margin]:
    pairs = [Pair(rows[name[:2]], rows[name[2:]]) for name in names]
    return compare_pairs(pairs)


def test_margins_are_in_points(rows: dict[str, Summary]) -> None:
    up, down, level = found_margins(rows, "lpbr", "brlp", "ccbr")
    wanted = 100 * (rows["lp"].metrics["micro_f1"].mean - rows["br"].metrics["micro_f1"].mean)
    assert up.points == pytest.approx(wanted)
    assert wanted > 10
    assert (up.side, down.side, level.side) == (1, -1, 0)
    assert up.interval.low < up.points < up.interval.high
    assert up.text() == f"LP over BR +{wanted:.1f} points"
    assert down.text() == f"BR over LP −{wanted:.1f} points"
    both = f"{up.text()}; {down.text()}"
    assert summarize_margins([up, down, level]) == f"2 of the 3 margins are significant: {both}."
    assert summarize_margins([up, level]) == f"1 of the 2 margins is significant: {up.text()}."
    assert summarize_margins([up, down]) == "All 2 margins are significant."
    assert summarize_margins([level, level]) == "None of the 2 margins is significant."
    assert summarize_margins([up]) == "The margin is significant."
    assert summarize_margins([level]) == "The margin is not significant."


def test_rows_are_told_apart_by_their_keys_alone(rows: dict[str, Summary]) -> None:
    alike = [replace(rows[model], title="the same") for model in ("br", "lp")]
    both = compare_pairs([Pair(*alike), Pair(*reversed(alike))])
    assert {one.title for one in both} == {"the same over the same"}
    assert both[0].points == -both[1].points < 0
    comparison = Comparison(alike, alike[0], compare_with(alike[0], alike))
    assert comparison.differences.keys() == {RowKey("lp")}
    assert comparison.find("lp") is alike[1]
    assert comparison.find("lp", "shuffled") is None


def test_the_chances_are_adjusted_for_all_pairs(rows: dict[str, Summary]) -> None:
    (alone,) = found_margins(rows, "lpbr")
    among = found_margins(rows, "lpbr", "lpcc", "ccbr")
    assert among[0].chance == pytest.approx(3 * alone.chance)


def test_the_table_of_margins(rows: dict[str, Summary]) -> None:
    found = found_margins(rows, "lpbr", "ccbr")
    table = make_margin_table("m", "Margins", found, {"paper": [1.44, None]})
    assert [column.name for column in table.columns] == ["points of F1", "95 % of it", "p", "seeds", "paper"]
    assert [row.name for row in table.rows] == ["LP over BR", "CC over BR"]
    assert [format_entry(row.entries[4]) for row in table.rows] == ["+1.4", "–"]
    assert [format_entry(row.entries[3]) for row in table.rows] == ["– / –"] * 2
    assert format_entry(table.rows[0].entries[0]) == format_points(found[0].points)
    assert "Holm-adjusted for 2 tests; * below 0.05." in table.caption
    assert "for 1 test;" in make_margin_table("m", "Margins", found[:1], {}).caption


def test_claims_are_judged_by_significance(rows: dict[str, Summary]) -> None:
    up, down, level = found_margins(rows, "lpbr", "brlp", "ccbr")
    states = {
        (name, place): judge_claims("x", [one], wanted)[0].state
        for name, wanted in (
            ("above", ABOVE),
            ("not above", NOT_ABOVE),
            ("below", BELOW),
            ("not below", NOT_BELOW),
        )
        for place, one in (("up", up), ("level", level), ("down", down))
    }
    assert states == {
        ("above", "up"): "holds",
        ("above", "level"): "is left open",
        ("above", "down"): "does not hold",
        ("not above", "up"): "does not hold",
        ("not above", "level"): "is left open",  # on 32 documents a point would leave no trace
        ("not above", "down"): "holds",
        ("below", "up"): "does not hold",
        ("below", "level"): "is left open",
        ("below", "down"): "holds",
        ("not below", "up"): "holds",
        ("not below", "level"): "is left open",
        ("not below", "down"): "does not hold",
    }
    assert (
        judge_claims("x", [up, down, level], ABOVE)[0]
        .sentence()
        .startswith("The paper's claim that x does not hold here: ")
    )
    (claim,) = judge_claims("x", [up, level], ABOVE)
    assert claim.sentence() == (
        "The paper's claim that x is left open here: 1 of 2 differences are not settled: CC over BR +0.0 "
        "points (+0.0 to +0.0); not significant, and no number of seeds would settle it on these documents."
    )
    assert format_points(-1.25) == "−1.2"
    assert judge_claims("x", [], ABOVE) == []


@pytest.mark.parametrize(("double", "said"), [(5, True), (8, False)])
def test_where_few_documents_have_several_labels_it_is_said(tmp_path: Path, double: int, said: bool) -> None:
    documents = [
        Document(f"d{number}", "text", ("a", "b") if number % 30 < double else ("a",), split)
        for number, split in enumerate(["train"] * 30 + ["valid"] * 30 + ["test"] * 30)
    ]
    corpus = prepare(
        documents, tmp_path / "c", name="c", source="", licence="", plan=SplitPlan("given"), notes={}
    )
    options = small_options(corpus, tmp_path / "out", ("br",))
    variants = make_plain_variants(options)
    fake_cells(list_cells(variants), lambda cell: 1.0)
    results = list(Schedule(list_cells(variants)).results.values())
    # 5 of 30 documents are 17 %, 35 labels on 30 documents 1.17; 8 of 30 are more than a quarter.
    sentence = note_single_labels(compare_rows(collect_rows(variants, results)))
    assert bool(sentence) is said
    if said:
        assert sentence[0].startswith(
            "Only 17 % of the documents have more than one label (1.17 per document;"
        )
        assert sentence[0].endswith("so that the order of labels can hardly matter here.")


def test_what_is_the_same_by_construction_is_no_evidence(rows: dict[str, Summary]) -> None:
    """A row whose trainings stand for both sides cannot differ: no test says that it hardly does."""
    itself, up = found_margins(rows, "brbr", "lpbr")
    (claim,) = judge_claims("x", [itself, up], NOT_BELOW)
    assert claim.state == "holds"
    assert claim.evidence == (
        f"{up.text_with_interval()}; less than 1 point counts as none; "
        "BR over BR are the same trainings by construction, which is not tested"
    )
    assert judge_claims("x", [up, itself], ABOVE)[0].state == "holds"  # what remains is judged
    (alone,) = judge_claims("x", [itself], NOT_BELOW)
    assert (alone.state, alone.evidence) == (
        "is left open",
        "BR over BR are the same trainings by construction, which is not tested",
    )


def test_what_it_would_take_to_settle_a_claim() -> None:
    def advice(value: float, tests: int = 1) -> str:
        # Documents alone leave 1.96 x 0.00447 = 0.00877 open, and with 80 % power 2.8 x 0.00447 = 0.0125.
        seen = Estimate(value, Variance(0.00002, 10_000), (Variance(0.0002, 2),))
        return advise([Contrast(seen, seen.compute_p(), "a over b")], ABOVE, tests)

    assert advice(0.0087) == "not significant, and no number of seeds would settle it on these documents"
    some = "not significant; more seeds may settle it, with less than 80 % power on these documents"
    assert advice(0.0089) == some
    assert advice(0.02).startswith("not significant; about 2")
    # What speaks against a claim must stand Holm's adjustment for all tests: 2.58 x 0.00447 = 0.0115.
    assert advice(-0.0110) == some
    assert (
        advice(-0.0110, tests=5)
        == "not significant, and no number of seeds would settle it on these documents"
    )


DECLARED = {"remove-frequent": 6, "low-frequency": 3, "case-study": 2}


@pytest.mark.parametrize(("name", "claims"), DECLARED.items())
def test_claims_are_declared_where_sections_measure_on_their_own(name: str, claims: int) -> None:
    assert len({one.text for one in load_study(name).claims}) == claims
