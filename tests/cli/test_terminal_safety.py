"""What stands in a stranger's file reaches the terminal as text, never as a command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from seq2set.config.run_folder import RunFolder

EVIL = "\x1b]0;owned\x07\x9b2J"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "seq2set", *arguments]
    environment = os.environ | {"PYTHONIOENCODING": "utf-8"}
    return subprocess.run(command, capture_output=True, encoding="utf-8", env=environment)


def test_errors_repeat_a_file_without_its_commands(tmp_path: Path) -> None:
    table = tmp_path / "a.csv"
    table.write_text(f"id,{EVIL},labels\n1,wheat,x\n", "utf-8")
    done = run("data", "stats", str(table))
    assert done.returncode == 2
    assert "\\x1b]0;owned\\x07\\x9b2J" in done.stderr
    assert not {"\x1b", "\x07", "\x9b"} & set(done.stderr)


def test_predictions_repeat_a_text_without_its_commands(br_run: RunFolder, tmp_path: Path) -> None:
    table = tmp_path / "a.csv"
    table.write_text(f'id,text\n{EVIL},"wheat {EVIL} exports"\n', "utf-8")
    done = run("predict", str(br_run.path), "--input", str(table), "--explain")
    assert done.returncode == 0, done.stderr
    assert "wheat ␛]0;owned␇" in done.stdout
    assert not {"\x1b", "\x07", "\x9b"} & set(done.stdout)


def test_a_terminal_without_a_letter_gets_its_number(br_run: RunFolder, tmp_path: Path) -> None:
    table = tmp_path / "a.csv"
    table.write_text("id,text\n1,wheat 日 exports\n", "utf-8")
    command = [sys.executable, "-m", "seq2set", "predict", str(br_run.path), "--input", str(table)]
    ascii_alone = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, env=ascii_alone)
    assert done.returncode == 0, done.stderr
    assert b"wheat \\u65e5 exports" in done.stdout
