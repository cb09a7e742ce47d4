"""The browser that tests of pages use."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
MISSING = "this test needs the browser Chromium; install it with: sudo apt-get install --yes chromium"


def chromium() -> str:
    """Find the browser; a test that cannot have one fails, for skipped tests are not missed."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.fail(MISSING, pytrace=False)
    return found


@contextmanager
def open_browser() -> Iterator[Browser]:
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()
