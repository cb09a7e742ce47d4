from __future__ import annotations

import pytest

from seq2set.core.hardware import count_cores, count_threads, get_rank


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
