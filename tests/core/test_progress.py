from __future__ import annotations

import io
import threading

import pytest

from seq2set.cli.console import RichProgress
from seq2set.core.progress import StderrProgress


class Watched(io.StringIO):
    """A stream that says when a line was written that ends in so many words."""

    def __init__(self, end: str):
        super().__init__()
        self.end, self.written = end, threading.Event()

    def write(self, text: str) -> int:
        size = super().write(text)
        if text.endswith(f"{self.end}\n"):
            self.written.set()
        return size


@pytest.mark.parametrize("progress", [StderrProgress("x "), RichProgress()])
def test_a_long_stage_says_how_it_stands(progress: StderrProgress, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Watched(" s, 1,000 of 1,200 so far, F1 0.5")
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(type(progress), "INTERVAL", 0.001)
    with progress.stage("fit", 1_200) as advance:
        advance(1_000, "F1 0.5")
        stream.written.wait()
    *others, last = stream.getvalue().splitlines()
    prefix = "x fit: " if progress.prefix else "fit: "
    assert all(line.startswith(prefix) for line in (*others, last))
    assert others[-1].endswith(" s, 1,000 of 1,200 so far, F1 0.5")
    assert last.endswith(" s, F1 0.5")


def test_a_short_stage_has_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with StderrProgress().stage("read") as advance:
        advance(3)
    said = capsys.readouterr().err
    assert said.startswith("read: ")
    assert said.count("\n") == 1


def test_without_a_total_it_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Watched(" s, 7 so far")
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(StderrProgress, "INTERVAL", 0.001)
    with StderrProgress().stage("read") as advance:
        advance(7)
        stream.written.wait()
    assert " s, 7 so far" in stream.getvalue()


def test_a_stage_that_fails_is_not_said_to_be_done(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="no"), StderrProgress().stage("read"):
        raise ValueError("no")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("total", [None, 20])
def test_a_terminal_shows_bars(
    total: int | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with RichProgress().stage("fit", total) as advance:
        advance(7)
        advance(13, "F1 0.5")
    said = capsys.readouterr().err
    assert "fit" in said
    assert "\x1b[" in said  # drawn, not written line by line
    assert "20" in said
    assert ("F1 0.5" in said) == (total is not None)
