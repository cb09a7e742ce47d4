"""A sealed file says so when a single bit of it is another."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from seq2set.core.seals import UNSEALED, check_seal, seal_file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.safetensors"
    save_file({"a": np.arange(500, dtype=np.float32)}, path, metadata={"place": "{}", **UNSEALED})
    seal_file(path)
    return path


def test_a_sealed_file_is_read_as_before(path: Path) -> None:
    check_seal(path)
    assert load_file(path)["a"].tolist() == list(range(500))


def test_every_flip_is_noticed_or_in_the_name_of_the_seal(path: Path) -> None:
    whole = path.read_bytes()
    start = whole.index(b"sha256")
    name = {*range(start - 1, start + 9), start + 9 + 64}  # and the sign after it
    draw = random.Random(1)
    for place in range(len(whole)):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << draw.randrange(8)
        path.write_bytes(flipped)
        try:
            check_seal(path)
        except ValueError:
            continue
        # Without its name the seal is none; every other byte is as it was written. The first eight say how
        # long the header is, which safetensors itself checks.
        assert place in name or place < 8


def test_a_file_of_earlier_versions_has_no_seal(tmp_path: Path) -> None:
    save_file({"a": np.zeros(3, np.float32)}, tmp_path / "old.safetensors")
    check_seal(tmp_path / "old.safetensors")
