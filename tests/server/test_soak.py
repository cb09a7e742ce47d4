from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from seq2set.benchmarks.serving.serve import Client, Reply, ServerProcess, start_server
from seq2set.benchmarks.serving.soak import ACTIONS, Soak, run_soak, send_too_much
from seq2set.cli.app import main
from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import WorkError
from seq2set.server import listen as running

CACHE = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"


def test_a_short_soak_loses_nothing_and_is_answered_as_it_should(br_run: RunFolder) -> None:
    soak = run_soak(150, model=br_run.path, clients=8, seed=4)
    assert soak.wrong == Counter()
    assert set(soak.actions) == {action.__name__ for action in ACTIONS}
    assert soak.actions.total() == 150
    assert len(soak.acknowledged) == soak.actions["give_feedback"] > 0
    assert soak.lost == 0
    assert not [status for status in soak.statuses if status >= 500]
    assert len(soak.memory) == 3
    assert min(soak.memory) > 2**20


def test_too_much_is_too_much_of_the_shortest_text_too(br_run: RunFolder) -> None:
    async def sent(server: ServerProcess) -> Reply:
        async with Client(server) as client:
            return await send_too_much(client, "a")

    with start_server(br_run.path, "--max-body-bytes", "1000000", "--body-seconds", "20") as server:
        assert asyncio.run(sent(server)).status == 413


@pytest.mark.parametrize(("told", "kept"), [(None, "32"), ("7", "7")])
def test_a_server_keeps_little_code_for_shapes_unless_told(
    monkeypatch: pytest.MonkeyPatch, told: str | None, kept: str
) -> None:
    found: list[str] = []
    monkeypatch.setattr(running, "serve", lambda *_: found.append(os.environ[CACHE]))
    monkeypatch.setenv(CACHE, told or "")  # Set in any case, so that what the command sets is taken back.
    if told is None:
        monkeypatch.delenv(CACHE)
    monkeypatch.setattr(sys, "argv", ["seq2set", "serve", "no-model"])
    with pytest.raises(SystemExit, match="0"):
        main()
    assert found == [kept]


def test_everything_that_waits_for_an_answer_has_one_that_is_expected() -> None:
    assert {action.__name__ for action, (_, expected) in ACTIONS.items() if not expected} == {
        "hang_up_after_sending",
        "hang_up_while_sending",
        "hang_up_while_reading",
    }


@pytest.mark.parametrize(
    ("changes", "passed"),
    [
        ({}, True),
        ({"memory": [100, 104]}, True),
        ({"memory": [100, 106]}, False),
        ({"lost": 1}, False),
        ({"wrong": Counter({"predict: 500": 1})}, False),
        ({"statuses": Counter({503: 1})}, False),
    ],
)
def test_a_soak_passes_only_if_all_is_well(changes: dict, passed: bool) -> None:
    assert Soak(**{"requests": 1, "memory": [100, 100], **changes}).passed is passed


@pytest.mark.parametrize(("lost", "code", "end"), [(0, 0, "passed"), (2, 1, "FAILED")])
def test_the_command_tells_how_the_soak_went(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], lost: int, code: int, end: str
) -> None:
    soak = Soak(3, memory=[2**20, 2**20], lost=lost, statuses=Counter({200: 3}))
    monkeypatch.setattr("seq2set.benchmarks.serving.soak.run_soak", lambda: soak)
    for option in ([], ["--json"]):
        monkeypatch.setattr(sys, "argv", ["seq2set", "bench", "soak", *option])
        with pytest.raises(SystemExit) as stop:
            main()
        assert int(stop.value.code or 0) == code
    plain, found = capsys.readouterr().out.splitlines()
    assert plain == (
        "soak: 3 requests, statuses (times): 200 3; wrong answers: none; feedback 0 acknowledged and "
        f"{lost} lost; memory 1, 1 MB (+0.0%): {end}"
    )
    assert json.loads(found)["feedback"] == {"acknowledged": 0, "lost": lost}


def test_a_server_that_does_not_start_is_said(tmp_path: Path) -> None:
    with pytest.raises(WorkError, match="the server did not start; see its messages above"):
        with start_server(tmp_path):
            pass
