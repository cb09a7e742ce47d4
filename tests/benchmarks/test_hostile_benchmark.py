"""The benchmark that attacks a server."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import pytest

from seq2set.benchmarks.serving.attacks import ATTACKS
from seq2set.benchmarks.serving.hostile import HostileResult, run_hostile
from seq2set.cli.app import main
from seq2set.config.run_folder import RunFolder

FINE: dict[str, Any] = {
    "quiet": [0.01] * 100,
    "attacked": [0.02] * 100,
    "memory": [100, 104],
    "files": [10, 12, 10],
}


def test_honest_clients_lose_nothing_while_attacks_run(br_run: RunFolder) -> None:
    result = run_hostile(2.0, model=br_run.path, clients=2, rounds=2)
    assert result.wrong == Counter()
    assert result.lost == 0
    assert result.acknowledged
    assert set(result.attacks) == {attack.__name__ for attack in ATTACKS}
    assert len(result.memory) == 2
    assert min(result.memory) > 2**20
    assert len(result.files) == 3
    assert result.files[-1] <= result.files[0]


@pytest.mark.parametrize(
    ("changes", "passed"),
    [
        ({}, True),
        ({"memory": [100, 106]}, False),
        ({"files": [10, 10, 11]}, False),
        ({"lost": 1}, False),
        ({"wrong": Counter({"predict: 503": 1})}, False),
        # 98 of 100 take 0.02 s: of the hundred the 99th percentile lies at place 98.01, between the last two
        ({"attacked": [0.02] * 98 + [0.03] * 2}, False),
        ({"attacked": [0.02] * 99 + [0.0200001]}, False),
    ],
)
def test_attacks_must_not_be_felt(changes: dict[str, Any], passed: bool) -> None:
    result = HostileResult(1.0, **{**FINE, **changes})
    assert result.passed is passed
    assert (result.failure is None) is passed


def test_the_command_says_what_honest_clients_saw(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    result = HostileResult(1.0, **FINE, attacks=Counter({"stall": 2}))
    monkeypatch.setattr("seq2set.benchmarks.serving.hostile.run_hostile", lambda: result)
    monkeypatch.setattr(sys, "argv", ["seq2set", "bench", "hostile"])
    with pytest.raises(SystemExit, match="0"):
        main()
    assert capsys.readouterr().out == (
        "hostile: 200 honest requests, p99 20 ms under attack against 10 ms (2.00 times); attacks (times): "
        "stall 2; wrong answers: none; feedback 0 acknowledged and 0 lost; memory 0, 0 MB (+4.0%); "
        "files 10, 12, 10: passed\n"
    )
