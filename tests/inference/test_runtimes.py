"""What is installed, and numbers that are read from a file without loading it."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from seq2set.core.names import is_installed
from seq2set.core.tensor_files import map_tensors


def test_mapped_numbers_are_those_that_were_saved(tmp_path: Path) -> None:
    saved = {
        "reals": np.arange(6, dtype=np.float32).reshape(2, 3),
        "codes": np.array([2**40, -1]),
        "flags": np.array([True, False, True]),
        "nothing": np.zeros((0, 4), np.float32),
    }
    save_file(saved, tmp_path / "file.safetensors", metadata={"made": "here"})
    mapped = map_tensors(tmp_path / "file.safetensors")
    assert mapped.keys() == load_file(tmp_path / "file.safetensors").keys()
    for name, array in saved.items():
        assert mapped[name].dtype == array.dtype
        assert mapped[name].tolist() == array.tolist()


def test_a_package_that_cannot_be_looked_for_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        def find_spec(self, name: str, path: object = None, target: object = None) -> None:
            if name == "blocked_package":
                raise ModuleNotFoundError(name)

    monkeypatch.setattr(sys, "meta_path", [Refusing(), *sys.meta_path])
    assert is_installed("numpy")
    assert not is_installed("blocked_package")
    assert not is_installed("there_is_no_such_package")
