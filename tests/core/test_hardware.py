from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from seq2set.core.hardware import (
    CORES,
    count_cores,
    count_processes,
    count_threads,
    get_rank,
    limit_threads,
    read_resident_memory,
    release_memory,
    share_cores,
    share_heap,
)


def test_auto_shares_the_cores_among_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    assert count_threads("auto") == count_cores() >= 1
    assert count_threads(3) == 3
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "1000")
    assert count_threads("auto") == 1


def test_cores_are_those_that_a_cluster_gives_or_the_system_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 4, 6}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    monkeypatch.setenv(CORES, "5")
    assert count_cores() == 5
    monkeypatch.delenv(CORES)
    assert count_cores() == 3
    assert [count_processes("auto", "auto"), count_processes("auto", 2), count_processes(7, 2)] == [3, 2, 7]
    monkeypatch.delattr(os, "sched_getaffinity")
    assert count_cores() == 16
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert count_cores() == 1


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


def test_threads_are_limited_for_a_block_or_for_good() -> None:
    before = torch.get_num_threads()
    with limit_threads(3) as limit:
        assert torch.get_num_threads() == limit.threads == 3
    assert torch.get_num_threads() == before
    try:
        assert limit_threads("auto").threads == torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


def test_a_limit_does_not_load_torch_and_reaches_it_when_it_is_loaded() -> None:
    code = """
import sys, seq2set
from seq2set.core.hardware import limit_threads
with limit_threads(1):
    assert "torch" not in sys.modules
    import torch
    environ = __import__("os").environ
    print(torch.get_num_threads(), environ["OMP_WAIT_POLICY"], environ["THP_MEM_ALLOC_ENABLE"])
"""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("OMP_", "THP_"))}
    done = subprocess.run([sys.executable, "-c", code], env=clean, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "PASSIVE", "1"]


def test_freed_memory_goes_back_to_the_system_where_the_c_library_can(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trimmed: list[int] = []
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace(malloc_trim=trimmed.append))
    release_memory()
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace())
    release_memory()
    assert trimmed == [0]


def test_threads_share_a_heap_where_the_c_library_can(monkeypatch: pytest.MonkeyPatch) -> None:
    options: list[tuple[int, int]] = []

    def set_option(option: int, value: int) -> int:
        options.append((option, value))
        return 1

    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace(mallopt=set_option))
    share_heap()
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace())
    share_heap()
    assert options == [(-8, 1)]  # M_ARENA_MAX


@pytest.mark.skipif(os.name != "posix", reason="counts pages")
def test_resident_memory_is_counted_in_pages(tmp_path: Path) -> None:
    sizes = tmp_path / "statm"
    assert read_resident_memory(sizes) is None
    sizes.write_text("900 25 7 1 0 3 0\n")
    assert read_resident_memory(sizes) == 25 * os.sysconf("SC_PAGE_SIZE")
