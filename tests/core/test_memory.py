from __future__ import annotations

import ctypes
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from seq2set.core.memory import read_resident_memory, release_memory, share_heap


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
