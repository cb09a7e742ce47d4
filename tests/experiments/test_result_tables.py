from __future__ import annotations

import json

import pytest

from seq2set.experiments.analysis.estimates import Interval, Spread
from seq2set.experiments.cells.cell import CellResult
from seq2set.experiments.render.report import Findings, Section, render_results
from seq2set.experiments.render.tables import (
    Chance,
    Column,
    Quantity,
    Range,
    Row,
    Table,
    escape_latex,
    format_entry,
    format_latex,
    format_markdown,
    to_quantity,
)

LESS, SAME = Quantity(-0.058, signed=True), Quantity(0.0, signed=True)

TABLE = Table(
    "results",
    "Performance on R&D_5",
    (Column("HL", "lower"), Column("F1", "higher"), Column("over BR"), Column("p")),
    (
        Row("BR", (Quantity(0.0086, 4), Quantity(0.8584), None, None)),
        Row("LP", (Quantity(0.00862, 4), Quantity(0.8, deviation=0.0123), LESS, Chance(0.0004, True))),
        Row("A|B*", (Quantity(0.02, 4), Quantity(0.8581), SAME, Chance(0.2, False)), ruled=True),
    ),
    "100 % of <it>",
)


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (Quantity(0.8584), "0.858"),
        (Quantity(0.00861, 4), "0.0086"),
        (Quantity(1234.5, 0), "1,234"),
        (Quantity(0.8, deviation=0.0123), "0.800 ± 0.012"),
        (Quantity(-0.0584, signed=True), "−0.058"),
        (Quantity(0.0584, signed=True), "+0.058"),
        (to_quantity(Spread(0.5, None), 1), "0.5"),
        (Range(Interval(-0.01, 0.02), signed=True), "−0.010 to +0.020"),
        (Chance(0.0004, True), "< 0.001*"),
        (Chance(0.2, False), "0.200"),
        ("as it is", "as it is"),
        (None, "–"),
    ],
)
def test_entries_as_they_are_printed(entry, text: str) -> None:
    assert format_entry(entry) == text


def test_the_best_is_found_by_what_is_printed() -> None:
    assert [TABLE.find_best(column) for column in range(4)] == [{0, 1}, {0, 2}, set(), set()]


def test_one_row_has_no_rival() -> None:
    assert Table("t", "t", (Column("F1", "higher"),), (Row("BR", (Quantity(1.0),)),)).find_best(0) == set()


def test_markdown() -> None:
    assert format_markdown(TABLE) == (
        "**Performance on R&D\\_5**\n\n"
        "| Models | HL(-) | F1(+) | over BR | p |\n"
        "| --- | ---: | ---: | ---: | ---: |\n"
        "| BR | **0.0086** | **0.858** | – | – |\n"
        "| LP | **0.0086** | 0.800 ± 0.012 | −0.058 | \\< 0.001\\* |\n"
        "| A\\|B\\* | 0.0200 | **0.858** | +0.000 | 0.200 |\n"
        "\n100 % of \\<it\\>\n"
    )


def test_latex() -> None:
    assert format_latex(TABLE).splitlines() == [
        r"\begin{table}[tb]",
        r"\centering",
        r"\caption{Performance on R\&D\_5. 100 \% of $<$it$>$}",
        r"\label{tab:results}",
        r"\begin{tabular}{lrrrr}",
        r"\toprule",
        r"\textbf{Models} & \textbf{HL(-)} & \textbf{F1(+)} & \textbf{over BR} & \textbf{p} \\",
        r"\midrule",
        r"BR & \textbf{0.0086} & \textbf{0.858} & -- & -- \\",
        r"LP & \textbf{0.0086} & 0.800 $\pm$ 0.012 & $-$0.058 & $<$ 0.001* \\",
        r"\midrule",
        r"A|B* & 0.0200 & \textbf{0.858} & +0.000 & 0.200 \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    assert escape_latex("\\^~{}") == r"\textbackslash{}\textasciicircum{}\textasciitilde{}\{\}"


def on_page(table: Table, results: list[CellResult]) -> str:
    return render_results(Findings("x", "Title", [Section("Title", "asked", tables=(table,))], results))


def test_html_lets_no_code_through(results: list[CellResult]) -> None:
    text = on_page(TABLE, results)
    assert "<td><b>0.0086</b></td>" in text
    assert '<tr class="ruled"><td>A|B*</td>' in text
    assert "100 % of &lt;it&gt;" in text
    assert "<it>" not in text


def test_json_has_every_digit() -> None:
    rows = json.loads(json.dumps(TABLE.data()))["rows"]
    assert rows[0] == {
        "models": "BR",
        "HL": {"value": 0.0086},
        "F1": {"value": 0.8584},
        "over BR": None,
        "p": None,
    }
    assert rows[1]["F1"] == {"value": 0.8, "deviation": 0.0123}
    assert rows[1]["p"] == {"value": 0.0004, "significant": True}
    assert Range(Interval(0.1, 0.2)).data() == {"low": 0.1, "high": 0.2}


def test_words_begin_at_the_left(results: list[CellResult]) -> None:
    table = Table("t", "t", (Column("labels"),), (Row("BR", ("a, b",)),), worded=True)
    assert "\n| --- | --- |\n" in format_markdown(table)
    assert r"\begin{tabular}{lp{0.75\linewidth}}" in format_latex(table)
    assert '<table class="text">' in on_page(table, results)
