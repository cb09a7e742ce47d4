from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from ranked_corpora import KNOWN, by_knowledge, give, ranked_options

from seq2set.core.errors import InputError
from seq2set.experiments.cells.cell import CellResult
from seq2set.experiments.options import Options
from seq2set.experiments.render.cases import COLOURS, Case, Mark
from seq2set.experiments.render.report import Findings, Section, render_results
from seq2set.experiments.run import run_experiment
from seq2set.experiments.studies.case_study import STUDY as CASE_STUDY

cells = CASE_STUDY.cells
sections = CASE_STUDY.sections

CASE = Case(
    number=2,
    id="doc <7>",
    text="Wheat & oil cost $5 to $7 a <unit>.",
    actual=("grain", "wheat"),
    given={"br": ("wheat", "oil & gas"), "seq2set": ("grain", "wheat"), "lp": ()},
    letters={"grain": "A", "wheat": "A"},
)


def test_labels_are_marked() -> None:
    lines = dict(CASE.lines())
    assert lines["True labels"] == [Mark("grain", "true", "A"), Mark("wheat", "true", "A")]
    assert [mark.text() for mark in lines["BR"]] == ["wheat (A)", "✗ oil & gas", "○ grain (A)"]
    assert [mark.kind for mark in lines["Seq2Set"]] == ["right", "right"]
    assert [mark.kind for mark in lines["LP"]] == ["missed", "missed"]
    assert [mark.colour for mark in lines["BR"]] == [COLOURS[0], None, None]
    assert Mark("x", "right", "H").colour == COLOURS[1]


def shown(case: Case, results: list[CellResult]) -> str:
    section = Section("Cases", "asked", cases=(case,))
    text = render_results(Findings("case-study", "Title", [section], results))
    ElementTree.fromstring(text[text.index("<body>") : text.index("</html>")])  # fails on what is not escaped
    return text[text.index('<div class="case">') : text.index("</section>")]


def test_a_case_on_the_page(results: list[CellResult]) -> None:
    text = shown(CASE, results)
    assert "<h3>Case 2: doc &lt;7&gt;</h3>" in text
    assert '<p class="quoted">Wheat &amp; oil cost $5 to $7 a &lt;unit&gt;.</p>' in text
    assert f'<span class="chip right" title="right" style="background: {COLOURS[0]}">wheat <b>A</b>' in text
    assert '<span class="chip wrong" title="wrong">✗ oil &amp; gas</span>' in text
    assert '<span class="chip missed" title="missed">○ grain <b>A</b></span>' in text
    bare = shown(replace(CASE, text=None, actual=(), given={"lp": ()}), results)
    assert "quoted" not in bare
    assert bare.count("<i>no label</i>") == 2


@pytest.fixture
def options(tmp_path: Path) -> Options:
    options = ranked_options(tmp_path, tuple(KNOWN), seeds=(2, 1), extra={"cases": "2"})
    give(cells(options), by_knowledge)
    return options


def test_the_page_shows_the_cases(options: Options) -> None:
    findings, page = run_experiment("case-study", options)
    text = page.read_text(encoding="utf-8")
    ElementTree.fromstring(text[text.index("<body>") : text.index("</html>")])
    assert text.count('<div class="case">') == 2
    assert text.count('<p class="quoted">words of ') == 2
    whole, shown, listed, _ = findings.sections
    assert "among the highest, 10 times as many. Which model is right is not considered." in shown.asked
    # Nobody gives e with the second seed; the documents ab, ab, be and a look alike to all.
    assert whole.found[0].startswith("On 60 % of the 10 documents")
    # The mean of both seeds: 17 and 19 labels on 10 documents.
    table = next(row for row in whole.tables[0].rows if row.name == "Seq2Set")
    assert table.entries[0].text() == "1.80"
    assert [row.name for row in listed.tables[0].rows[:5]] == [
        "1. True labels", "1. BR", "1. Seq2Seq", "1. Seq2Set (simp.)", "1. Seq2Set",
    ]  # fmt: skip
    assert [row.ruled for row in listed.tables[0].rows[:6]] == [True, False, False, False, False, True]


def test_markdown_says_where_the_cases_are(options: Options) -> None:
    _, page = run_experiment("case-study", options)
    text = (page.parent / "results.md").read_text(encoding="utf-8")
    section = text[text.index("## Cases\n") : text.index("## The cases once more")]
    assert "index.html shows the documents in colour; the table below has the same labels." in section


def test_hidden_texts_are_nowhere(options: Options) -> None:
    hidden = replace(options, extra={"texts": "hidden"})
    _, page = run_experiment("case-study", hidden)
    for path in page.parent.rglob("*"):
        if path.suffix in (".html", ".md", ".tex", ".json", ".svg"):
            assert "words of" not in path.read_text(encoding="utf-8")
    assert "quoted" not in re.sub("<style>.*?</style>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_the_numbers_hold_no_text_even_where_texts_are_shown(options: Options) -> None:
    _, page = run_experiment("case-study", options)
    numbers = json.loads((page.parent / "results.json").read_text(encoding="utf-8"))
    assert "words of" not in json.dumps(numbers)
    rows = numbers["sections"][2]["tables"][0]["rows"]
    assert rows[0]["given by"] == "1. True labels"
    assert "(A)" in json.dumps(rows)
    assert numbers["asked"] == {
        "corpus": "ranked",
        "preset": "compact",
        "models": list(KNOWN),
        "seeds": [2, 1],
        "settings": list(options.assignments),
        "files": {},
        "options": {"cases": "2"},
    }


def test_the_correlation_can_be_named(options: Options) -> None:
    apart = sections(replace(options, extra={"correlation": "0.99"}), give_again(options))
    assert "(A)" not in json.dumps(apart[2].data())
    assert "at least 0.99 on" in apart[1].found[0]


def give_again(options: Options):
    from seq2set.experiments.cells.plan import Schedule

    return list(Schedule(cells(options)).results.values())


def test_one_model_that_is_done_has_nobody_to_disagree_with(options: Options) -> None:
    found = sections(options, give_again(options)[:1])
    assert found[0].found == ("Only one model finished; nothing to compare.",)
    assert len(found[1].cases) == 2


@pytest.mark.parametrize(
    ("extra", "sentence"),
    [
        ({"texts": "no"}, "--option texts is 'no'; it must be shown or hidden"),
        ({"cases": "0"}, "--option cases is '0'; it must be whole numbers >= 1"),
        ({"seed": "1,2"}, "--option seed is '1,2'; it must be one whole number >= 1"),
        ({"correlation": "2"}, "--option correlation is '2'; it must be a number from 0 to 1"),
    ],
)
def test_wrong_options_are_refused_before_any_training(tmp_path: Path, extra, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        cells(Options("x", tmp_path, ("br", "cc"), extra=extra))


def test_one_model_is_too_few(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--models has br alone; it must name two models that can disagree"):
        cells(Options("x", tmp_path, ("br",)))
