from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from seq2set.evaluation import Report
from seq2set.metrics import LabelMetrics
from seq2set.reporting.page import report_page
from seq2set.runs import RunFolder
from seq2set.workflows import evaluate


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
    page.feed(report_page(report))
    assert page.open == []
    text = " ".join(page.texts)
    assert f"{report.result.metrics['micro_f1']:.4f}" in text
    assert "br on small" in text
    assert report_page(report).count("<svg") == 3


def test_the_page_fetches_nothing(report: Report) -> None:
    page = report_page(report)
    assert "src=" not in page
    assert "@import" not in page
    assert "url(http" not in page


def test_labels_cannot_smuggle_code_in(report: Report) -> None:
    nasty = LabelMetrics("<script>alert(1)</script>", 0.5, 0.5, 0.5, 3, 2)
    spoilt = replace(report, data="<b>&", result=replace(report.result, per_label=[nasty]))
    page = report_page(spoilt)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "<b>&" not in page


def test_a_run_shows_its_training_curve(report: Report) -> None:
    looks = [
        {"phase": phase, "update": update, "micro_f1": 0.1 * update}
        for update, phase in enumerate(("warm-start", "warm-start", "self-critical"), start=1)
    ]
    page = report_page(replace(report, history=looks))
    assert page.count("<svg") == 4
    assert "best 0.3000" in page
    assert "self-critical" in page


def test_the_same_evaluation_gives_the_same_page(report: Report, tmp_path: Path) -> None:
    assert report_page(report) == report_page(report)
