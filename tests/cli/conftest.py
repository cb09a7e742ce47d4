from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from seq2set.cli.app import main


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def seq2set(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command line in this process, exactly as its entry point does."""
    monkeypatch.setenv("COLUMNS", "120")

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["seq2set", *map(str, arguments)])
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        return Outcome(code, *capsys.readouterr())

    return run
