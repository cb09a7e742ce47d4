from __future__ import annotations

from pathlib import Path

import pytest
from fake_cells import fake_cells
from small_experiments import small_options

from seq2set.corpora.documents import Document
from seq2set.corpora.prepare import prepare
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.splits import SplitPlan
from seq2set.experiments.analysis.comparison import Compared, Summary, summarise
from seq2set.experiments.analysis.margins import (
    ABOVE,
    BELOW,
    NOT_ABOVE,
    NOT_BELOW,
    Contrast,
    Margin,
    Pair,
    few_labels,
    in_short,
    judged,
    margin_table,
    margins,
    outlook,
    signed,
)
from seq2set.experiments.analysis.statistics import Estimate, Variance
from seq2set.experiments.cells.plan import Schedule, all_cells, plain, rows_of, variant
from seq2set.experiments.render.tables import text_of


def test_a_variant_that_changes_nothing_is_the_model_itself(
    small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    options = small_options(small_corpus, tmp_path, ("seq2set",), seeds=(1, 2))
    usual = options.config("seq2set", 1).objective.lambda_
    same = variant(options, "seq2set", "lambda-x", "as ever", f"objective.lambda={usual}")
    other = variant(options, "seq2set", "lambda-0.5", "half", "objective.lambda=0.5")
    assert same.cells == plain(options, "seq2set").cells
    assert [cell.name for cell in other.cells] == ["seq2set-lambda-0.5-seed1", "seq2set-lambda-0.5-seed2"]
    assert [cell.name for cell in all_cells([same, other, same])] == [
        "seq2set-seed1",
        "seq2set-seed2",
        "seq2set-lambda-0.5-seed1",
        "seq2set-lambda-0.5-seed2",
    ]


def test_rows_may_share_a_cell(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    options = small_options(small_corpus, tmp_path, ("br", "cc"))
    one, other = plain(options, "br")._replace(title="one"), plain(options, "br")._replace(title="other")
    undone = plain(options, "cc")
    fake_cells(one.cells, lambda cell: 0.5)
    results = list(Schedule([*one.cells, *undone.cells]).results.values())
    assert [row.row for row in rows_of([one, other, undone], results)] == ["one", "other"]


@pytest.fixture(scope="module")
def rows(small_corpus: PreparedCorpus, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Summary]:
    """Rows of which the first so many documents of 32 are right: br 4, cc 4, lp 30."""
    options = small_options(small_corpus, tmp_path_factory.mktemp("rows"), ("br", "cc", "lp"))
    found = [plain(options, model) for model in options.models]
    fake_cells(all_cells(found), lambda cell: {"br": 4, "cc": 4, "lp": 30}[cell.row] / 32)
    results = list(Schedule(all_cells(found)).results.values())
    return {one.row: one for one in summarise(results)}


def found_margins(rows: dict[str, Summary], *names: str) -> list[Margin]:
    pairs = [Pair(rows[name[:2]], rows[name[2:]]) for name in names]
    return margins(pairs)


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
    assert in_short([up, down, level]) == f"2 of the 3 margins are significant: {both}."
    assert in_short([up, level]) == f"1 of the 2 margins is significant: {up.text()}."
    assert in_short([up, down]) == "All 2 margins are significant."
    assert in_short([level, level]) == "None of the 2 margins is significant."
    assert in_short([up]) == "The margin is significant."
    assert in_short([level]) == "The margin is not significant."


def test_the_chances_are_adjusted_for_all_pairs(rows: dict[str, Summary]) -> None:
    (alone,) = found_margins(rows, "lpbr")
    among = found_margins(rows, "lpbr", "lpcc", "ccbr")
    assert among[0].compared.chance == pytest.approx(3 * alone.compared.chance)


def test_the_table_of_margins(rows: dict[str, Summary]) -> None:
    found = found_margins(rows, "lpbr", "ccbr")
    table = margin_table("m", "Margins", found, {"paper": [1.44, None]})
    assert [column.name for column in table.columns] == ["points of F1", "95 % of it", "p", "seeds", "paper"]
    assert [row.name for row in table.rows] == ["LP over BR", "CC over BR"]
    assert [text_of(row.entries[4]) for row in table.rows] == ["+1.4", "–"]
    assert [text_of(row.entries[3]) for row in table.rows] == ["– / –"] * 2
    assert text_of(table.rows[0].entries[0]) == signed(found[0].points)
    assert "Holm-adjusted for 2 tests; * below 0.05." in table.caption
    assert "for 1 test;" in margin_table("m", "Margins", found[:1], {}).caption


def test_claims_are_judged_by_significance(rows: dict[str, Summary]) -> None:
    up, down, level = found_margins(rows, "lpbr", "brlp", "ccbr")
    states = {
        (name, place): judged("x", [one], wanted)[0].state
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
        judged("x", [up, down, level], ABOVE)[0]
        .sentence()
        .startswith("The paper's claim that x does not hold here: ")
    )
    (claim,) = judged("x", [up, level], ABOVE)
    assert claim.sentence() == (
        "The paper's claim that x is left open here: 1 of 2 differences are not settled: CC over BR +0.0 "
        "points (+0.0 to +0.0); not significant, and no number of seeds would settle it on these documents."
    )
    assert signed(-1.25) == "−1.2"
    assert judged("x", [], ABOVE) == []


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
    fake_cells(plain(options, "br").cells, lambda cell: 1.0)
    results = list(Schedule(plain(options, "br").cells).results.values())
    # 5 of 30 documents are 17 %, 35 labels on 30 documents 1.17; 8 of 30 are more than a quarter.
    sentence = few_labels(summarise(results)[0])
    assert bool(sentence) is said
    if said:
        assert sentence[0].startswith(
            "Only 17 % of the documents have more than one label (1.17 per document;"
        )
        assert sentence[0].endswith("so that the order of labels can hardly matter here.")


def test_what_it_would_take_to_settle_a_claim() -> None:
    def advice(value: float, tests: int = 1) -> str:
        # Documents alone leave 1.96 x 0.00447 = 0.00877 open, and with 80 % power 2.8 x 0.00447 = 0.0125.
        seen = Estimate(value, Variance(0.00002, 10_000), (Variance(0.0002, 2),))
        return outlook([Contrast("a over b", Compared(seen, seen.chance()))], ABOVE, tests)

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
