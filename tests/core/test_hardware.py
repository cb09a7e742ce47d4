from __future__ import annotations

import os

import pytest

from seq2set.core.hardware import count_cores, count_threads, get_rank, share_cores


def test_auto_shares_the_cores_among_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    assert count_threads("auto") == count_cores() >= 1
    assert count_threads(3) == 3
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "1000")
    assert count_threads("auto") == 1


def test_the_first_process_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)
    assert get_rank() == 0
    monkeypatch.setenv("RANK", "2")
    assert get_rank() == 2


def test_cores_are_shared_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3, 4}, raising=False)
    assert [share_cores(slot, 2) for slot in range(2)] == [[0, 2, 4], [1, 3]]
    assert share_cores(6, 7) == [1]
    monkeypatch.delattr(os, "sched_getaffinity")
    assert share_cores(0, 2) == []
