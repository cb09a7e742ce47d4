from __future__ import annotations

from pathlib import Path

import pytest

from seq2set.core.errors import WorkError
from seq2set.core.files import hold_lock


def test_a_lock_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with hold_lock(lock, busy="first", seconds=0):
        with (
            pytest.raises(WorkError, match="^somebody is here$"),
            hold_lock(lock, busy="somebody is here", seconds=0),
        ):
            pass
    with hold_lock(lock, busy="nobody is left", seconds=0):
        pass


def test_those_who_share_a_lock_keep_others_out(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with hold_lock(lock, busy="", seconds=0, shared=True), hold_lock(lock, busy="", seconds=0, shared=True):
        with (
            pytest.raises(WorkError, match="^two are here$"),
            hold_lock(lock, busy="two are here", seconds=0),
        ):
            pass


def test_a_lock_is_let_go_of_when_its_block_fails(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), hold_lock(tmp_path / "lock", busy="", seconds=0):
        raise ZeroDivisionError
    with hold_lock(tmp_path / "lock", busy="it is still held", seconds=0):
        pass
