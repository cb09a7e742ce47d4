from __future__ import annotations

from pathlib import Path

import pytest

from seq2set.core.errors import CorpusError
from seq2set.corpora.readers import read_documents


def test_a_missing_file_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"a\.csv: the file does not exist"):
        read_documents(tmp_path / "a.csv")


@pytest.mark.parametrize(("name", "seen"), [("a.xlsx", ".xlsx"), ("a.txt.gz", ".txt"), ("plain", "plain")])
def test_an_unknown_format_lists_the_known_ones(tmp_path: Path, name: str, seen: str) -> None:
    (tmp_path / name).write_text("x")
    with pytest.raises(CorpusError, match=f"the format '{seen}' is not known; it must be .csv, .tsv, .jsonl"):
        read_documents(tmp_path / name)


def test_compressed_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.parquet.gz").write_text("x")
    with pytest.raises(CorpusError, match=r"the format '.parquet' is not known.*\(Parquet may not\)"):
        read_documents(tmp_path / "a.parquet.gz")


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet"])
def test_an_empty_file_is_refused_in_every_format(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(CorpusError, match=f"{name}: the file is empty"):
        list(read_documents(tmp_path / name))
