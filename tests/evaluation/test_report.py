from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from jinja2 import UndefinedError

from seq2set.config.catalog import METRICS
from seq2set.config.run_folder import RunFolder
from seq2set.evaluation.page import render_page
from seq2set.evaluation.plots import draw_compared, draw_thresholds, render_plot
from seq2set.evaluation.report import render_report
from seq2set.evaluation.results import Report
from seq2set.labels.metrics import LabelMetrics
from seq2set.labels.reliability import ReliabilityCounts
from seq2set.labels.rules import make_global_rule
from seq2set.workflows.evaluate import evaluate


class Balanced(HTMLParser):
    """Fails on a tag that is never closed, or closed without being open."""

    VOID = ("meta", "input", "br", "use")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture
def report(br_run: RunFolder) -> Report:
    return evaluate(br_run.path)


def test_the_page_is_whole_and_holds_the_numbers(report: Report) -> None:
    page = Balanced()
    page.feed(render_report(report))
    assert page.open == []
    text = " ".join(page.texts)
    assert f"{report.result.metrics['micro_f1']:.4f}" in text
    assert "br on small" in text
    assert render_report(report).count("<svg") == 4


def test_the_page_fetches_nothing(report: Report) -> None:
    page = render_report(report)
    assert "src=" not in page
    assert "@import" not in page
    assert "url(http" not in page


def test_labels_cannot_smuggle_code_in(report: Report) -> None:
    nasty = LabelMetrics("<script>alert(1)</script>", 0.5, 0.5, 0.5, 3, 2)
    spoilt = replace(report, data="<b>&", result=replace(report.result, per_label=[nasty]))
    page = render_report(spoilt)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "<b>&" not in page


def test_a_run_shows_its_training_curve(report: Report) -> None:
    looks = [
        {"phase": phase, "update": update, "micro_f1": 0.1 * update}
        for update, phase in enumerate(("warm-start", "warm-start", "self-critical"), start=1)
    ]
    page = render_report(replace(report, history=looks))
    assert page.count("<svg") == 5
    assert "best 0.3000, after update 3" in page
    assert "self-critical" in page


def test_the_same_evaluation_gives_the_same_page(report: Report, tmp_path: Path) -> None:
    assert render_report(report) == render_report(report)


def test_facts_are_readable(report: Report) -> None:
    facts = {"training": {"seconds": 152.2, "best_seed": 10, "share": 0.25004}}
    page = render_report(replace(report, metadata=facts))
    assert '<tr><th colspan="2">training</th></tr>' in page
    assert "<td>seconds</td><td>152.2</td>" in page
    assert "<td>best seed</td><td>10</td>" in page
    assert "<td>share</td><td>0.25</td>" in page


def test_each_of_several_models_has_a_reliability_diagram(report: Report) -> None:
    page = render_report(report, [replace(report, run="runs/other", model="cc")])
    assert page.count("<svg") == 4 + 2
    page = page.partition("Scores as probabilities, model by model")[2]
    plain = "not " if not report.result.calibrated else ""
    described = f"{plain}calibrated: {report.result.reliability.describe()}."
    for name in ("runs/other (cc)", f"{report.run} (br)"):
        assert f"{name} on small, test, {described}" in page
    assert "model by model" not in render_report(report)


def test_rankings_have_their_usual_names(report: Report) -> None:
    page = render_report(report)
    assert f"<td>P@1</td><td>{report.result.ranking['precision_at_1']:.4f}</td>" in page
    assert f"<td>nDCG@1</td><td>{report.result.ranking['ndcg_at_1']:.4f}</td>" in page


def test_no_formula_is_left_unread_in_a_plot(report: Report) -> None:
    assert "mathdefault" not in render_report(report)


def test_the_pages_own_background_shows_behind_the_plots(report: Report) -> None:
    page = render_report(report)
    backgrounds = [page[place : page.index("</g>", place)] for place in _places(page, '<g id="patch_1">')]
    assert len(backgrounds) == 4
    assert all("fill: none" in one or "opacity: 0" in one for one in backgrounds)


@pytest.mark.parametrize(("threshold", "side"), [(0.9, "end"), (0.1, "start")])
def test_the_thresholds_words_stay_inside_the_picture(report: Report, threshold: float, side: str) -> None:
    curve = render_plot(draw_thresholds, replace(report.result, rule=make_global_rule(threshold)))
    words = next(line for line in curve.splitlines() if f"threshold {threshold:.2f}" in line)
    assert ("text-anchor: end" in words) == (side == "end")


def _places(text: str, part: str) -> list[int]:
    return [place for place in range(len(text)) if text.startswith(part, place)]


def test_a_page_may_extend_the_base_with_a_style_and_values_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "toy_pages" / "templates").mkdir(parents=True)
    (tmp_path / "toy_pages" / "__init__.py").touch()
    (tmp_path / "toy_pages" / "templates" / "toy.html.j2").write_text(
        '{% extends "base.html.j2" %}{% block style %}nav { top: 0 }{% endblock %}'
        "{% block body %}<p>{{ text|loud }}</p>{% endblock %}"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    page = render_page(
        "toy.html.j2", package="toy_pages", filters={"loud": str.upper}, title="A & B", text="<b>"
    )
    assert page.count("<title>A &amp; B</title>") == page.count("<h1>A &amp; B</h1>") == 1
    assert page.index("box-sizing: border-box") < page.index("nav { top: 0 }") < page.index("</style>")
    assert "<p>&lt;B&gt;</p>" in page


def test_a_value_that_is_missing_is_an_error_not_a_gap() -> None:
    with pytest.raises(UndefinedError, match="'title' is undefined"):
        render_page("base.html.j2", text="no title")


def test_tiles_are_the_metrics_that_the_catalog_shows(report: Report) -> None:
    page = render_report(report)
    shown = [row for row in METRICS.values() if row.shown]
    assert page.count('<div class="tile">') == len(shown)
    places = [page.index(f"<span>{row.title}</span><small>{row.summary}</small>") for row in shown]
    assert places == sorted(places)


def test_metrics_are_called_by_their_titles_in_all_tables(report: Report) -> None:
    page = render_report(report)
    for title in (
        "calibration error",
        "calibration error, all labels",
        "Brier score",
        "log loss",
        "micro-F1",
    ):
        assert f"<tr><td>{title}</td>" in page
    assert "<td>micro f1</td>" not in page


def test_a_report_without_a_score_worth_showing_has_no_reliability_diagram(report: Report) -> None:
    nothing = ReliabilityCounts.of(np.zeros((2, 2), np.float32), np.zeros((2, 2), bool))
    without = replace(report, result=replace(report.result, reliability=nothing))
    (plot,) = draw_compared([without, report])
    assert "share of right labels" in plot.svg
    assert "share of right labels" not in render_report(without)
