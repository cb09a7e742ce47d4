"""The page as a browser lays it out, on a desk and on a telephone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from seq2set.config.run_folder import RunFolder
from seq2set.evaluation.report import write_report
from seq2set.workflows.evaluate import evaluate


@pytest.fixture(scope="module")
def page(browser: Browser, br_run: RunFolder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    written = write_report(evaluate(br_run.path), tmp_path_factory.mktemp("reports") / "br")
    shown = browser.new_page()
    shown.set_default_timeout(10_000)
    shown.goto(Path(written).as_uri())
    yield shown
    shown.close()


@pytest.mark.parametrize("width", [1280, 360])
def test_nothing_is_wider_than_the_window(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_a_labels_name_stays_in_sight_when_its_row_is_scrolled(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 800})
    page.evaluate("document.querySelector('#labels').parentElement.scrollLeft = 150")
    cell = page.locator("#labels tbody tr td").first.bounding_box()
    frame = page.locator("#labels").locator("xpath=..").bounding_box()
    assert frame["x"] <= cell["x"] <= frame["x"] + 2
    page.evaluate("document.querySelector('#labels').parentElement.scrollLeft = 0")


def test_labels_are_sorted_and_searched(page: Page) -> None:
    shown = "#labels tbody tr:not([hidden]) td:first-child"
    names = f"[...document.querySelectorAll('{shown}')].map(cell => cell.textContent)"
    page.get_by_role("button", name="label", exact=True).click()
    assert page.evaluate(names) == ["grain", "money", "oil", "trade"]
    page.get_by_role("button", name="label", exact=True).click()
    assert page.evaluate(names) == ["trade", "oil", "money", "grain"]
    page.get_by_role("searchbox").fill("GRA")
    assert page.evaluate(names) == ["grain"]
    page.get_by_role("searchbox").fill("")
