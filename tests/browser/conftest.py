"""A served model, and pages that fail their test when the browser has anything to complain about."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from actions import KEY, MOST_CHARACTERS
from playwright.sync_api import Browser, Page, expect

from seq2set.config.run_folder import RunFolder
from seq2set.server.settings import KEY_VARIABLE

PATIENCE = 60_000  # milliseconds, for machines that are busy with other things
expect.set_options(timeout=PATIENCE)

READY = "#main[data-ready]"
_LOUD = ("error", "warning")

_COMPLAINTS = """
window.complaints = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.complaints.push(`policy: ${event.violatedDirective} ${event.blockedURI}`);
});
"""


class Site(NamedTuple):
    """A server that listens, and where it keeps feedback."""

    url: str
    feedback: Path


OpenPage = Callable[..., Page]


@contextmanager
def serving(run: Path, *options: object, **environment: bytes | str) -> Iterator[str]:
    """Start `seq2set serve` on a free port, and end it afterwards."""
    command = [sys.executable, "-m", "seq2set", "serve", run, "--port", 0, "--no-access-log", *options]
    bare = {name: value for name, value in os.environ.items() if name != KEY_VARIABLE}
    with subprocess.Popen(
        list(map(str, command)), stdout=subprocess.PIPE, text=True, env=bare | environment
    ) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


@pytest.fixture(scope="session")
def site(br_run: RunFolder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server that keeps feedback; its batches are so small that a large file takes a while."""
    feedback = tmp_path_factory.mktemp("browser") / "feedback.sqlite"
    limits = ("--max-text-chars", MOST_CHARACTERS, "--max-batch", 1, "--max-upload-bytes", 2_000_000)
    with serving(br_run.path, "--feedback", feedback, *limits) as url:
        yield Site(url, feedback)


@pytest.fixture(scope="module")
def locked_site(br_run: RunFolder) -> Iterator[str]:
    """A server that asks for a key and keeps no feedback."""
    with serving(br_run.path, **{KEY_VARIABLE: KEY.encode()}) as url:
        yield url


class Watched(NamedTuple):
    """A page, and what the browser complained about while it was open."""

    page: Page
    complaints: list[str]

    def check(self, expected: tuple[str, ...] = ()) -> None:
        """Fail for complaints that the test did not bring about itself."""
        found = self.complaints + self.page.evaluate("window.complaints")
        assert [one for one in found if not any(known in one for known in expected)] == []


def watched_page(browser: Browser, **options: Any) -> Watched:
    page = browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | options).new_page()
    watched = Watched(page, [])
    page.set_default_timeout(PATIENCE)
    page.add_init_script(_COMPLAINTS)
    page.on("pageerror", lambda error: watched.complaints.append(str(error)))
    page.on("console", lambda said: said.type in _LOUD and watched.complaints.append(said.text))
    return watched


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """Open pages of their own kind; `expected` names the complaints that a test brings about itself."""
    opened = []

    def begin(url: str, *, expected: tuple[str, ...] = (), ready: bool = True, **options: Any) -> Page:
        watched = watched_page(browser, **options)
        opened.append((watched, expected))
        watched.page.goto(url)
        if ready:
            watched.page.wait_for_selector(READY)
        return watched.page

    yield begin
    for watched, expected in opened:
        watched.check(expected)
        watched.page.context.close()


@pytest.fixture(scope="module")
def serve_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Serve runs, as `serving` does, each with a page of its own on the tab of the model."""
    with ExitStack() as stack:

        def begin(run: Path, **options: Any) -> Page:
            url = stack.enter_context(serving(run, **options))
            page = watched_page(browser).page
            stack.callback(page.context.close)
            page.goto(f"{url}/#model")
            page.wait_for_selector(READY)
            return page

        yield begin


@pytest.fixture(scope="module")
def usual_page(browser: Browser) -> Iterator[Watched]:
    """One page for a file's tests: to open it anew takes a browser much longer than to load it anew."""
    watched = watched_page(browser)
    yield watched
    watched.page.context.close()


@pytest.fixture
def page(usual_page: Watched, site: Site) -> Iterator[Page]:
    page = usual_page.page
    page.goto("about:blank")
    page.unroute_all()
    page.context.clear_permissions()
    page.emulate_media(color_scheme="light")
    usual_page.complaints.clear()
    page.goto(site.url)
    page.evaluate("localStorage.clear()")
    page.wait_for_selector(READY)
    yield page
    usual_page.check()
