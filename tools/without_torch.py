"""A plugin of pytest for environments without torch: what needs it is skipped, and nothing else.

It asks each test that failed whether torch was what it lacked, in its own process or in one that it started;
so no list of such tests must be kept.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import pytest

LARGE = ("torch", "playwright", "schemathesis")
ABSENT = tuple(name for name in LARGE if importlib.util.find_spec(name) is None)


def _needs(text: str) -> str | None:
    """Return what a failure lacked."""
    signs = ("No module named '{}", "No package metadata was found for {}", "needs the package '{}'")
    return next((one for one in ABSENT for sign in signs if sign.format(one) in text), None)


def _skip(report: Any) -> None:
    lacking = _needs(report.longreprtext + "".join(text for _, text in report.sections))
    if report.failed and lacking:
        report.outcome, report.longrepr = "skipped", ("", 0, f"Skipped: needs {lacking}")


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report() -> Iterator[None]:
    """Skip a file that imports torch."""
    outcome: Any = yield
    _skip(outcome.get_result())


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    """Skip a test that came upon an import of torch."""
    outcome: Any = yield
    _skip(outcome.get_result())
