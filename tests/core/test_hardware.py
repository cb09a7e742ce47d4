from __future__ import annotations

import pytest

from seq2set.core.hardware import core_count, process_rank, thread_count


def test_auto_shares_the_cores_among_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    assert thread_count("auto") == core_count() >= 1
    assert thread_count(3) == 3
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "1000")
    assert thread_count("auto") == 1


def test_the_first_process_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)
    assert process_rank() == 0
    monkeypatch.setenv("RANK", "2")
    assert process_rank() == 2
