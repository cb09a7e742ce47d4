"""States of an encoder that stays as it is: computed once, read in every epoch, safe to delete and share."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from seq2set.config import Config
from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import ConfigError, InputError
from seq2set.core.progress import Silent
from seq2set.corpora.cache import clean_cache, get_cache_folder, list_cached
from seq2set.models.network import build_encoder
from seq2set.models.predictions import Request
from seq2set.nn.encoders import Encoder
from seq2set.nn.pretrained import kept_states
from seq2set.nn.pretrained.window_reader import WindowReader
from seq2set.text.batches import collate
from tiny_encoders import SIZE, write_encoder
from tiny_networks import tiny_config, trained

ROWS = [np.array(one, np.int32) for one in ([6, 7, 8], [9, 10], [], [6, 7, 8], [7] * 40)]
"""Sub-words of five texts, of which two are alike and one has none; one has three windows"""


class Notes(Silent):
    def __init__(self) -> None:
        self.sentences: list[str] = []

    def note(self, sentence: str) -> None:
        self.sentences.append(sentence)


class Disk(NamedTuple):
    total: int
    used: int
    free: int


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEQ2SET_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many documents the encoder read, each time that it did."""
    seen: list[int] = []
    read = WindowReader.read

    def watch(self: WindowReader, body: Any, tokens: Tensor, lengths: Tensor) -> Tensor:
        seen.append(len(tokens))
        return read(self, body, tokens, lengths)

    monkeypatch.setattr(WindowReader, "read", watch)
    return seen


def config_of(folder: Path, *settings: str) -> Config:
    own = "encoder.kind=transformer", f'encoder.pretrained="{folder}"'
    return tiny_config(*own, *settings, model="seq2set-simp")


def build(folder: Path, *settings: str) -> Encoder:
    return build_encoder(config_of(folder, *settings), 30).eval()


def keep(encoder: Encoder, *, rows: list[Any] = ROWS) -> list[str]:
    notes = Notes()
    encoder.keep_states([rows[:2], rows[2:]], 1, notes)
    return notes.sentences


def encode(encoder: Encoder, rows: list[Any] = ROWS) -> Tensor:
    batch = collate(rows, range(len(rows)))
    states: Tensor = encoder(batch.ids, batch.lengths).states
    return states


def list_files() -> list[Path]:
    return sorted(one for one in (get_cache_folder() / "states").rglob("*") if one.is_file())


def test_states_are_computed_once_and_agree(tmp_path: Path, reads: list[int]) -> None:
    encoder = build(write_encoder(tmp_path / "encoder"))
    exact = encode(encoder)
    reads.clear()
    (note,) = keep(encoder)
    assert sum(reads) == 4  # two texts are alike
    # The four texts lie in one file, each as long as the longest: 4 * (72 + 40 * 8 * 2) = 2848 bytes.
    assert note.startswith(f"the encoder's states take 3 kB in {get_cache_folder() / 'states'}")
    assert note.endswith("are free: they are computed once for all epochs")
    reads.clear()
    assert keep(encoder) == []
    with encoder.reuse_states():
        kept = encode(encoder)
        assert reads == []
        encode(encoder, [ROWS[0], np.array([11], np.int32)])  # not there, so that both are computed
        assert reads == [2]
    # 16 bits have 11 of precision: half a unit in the last place is 2 ** -12 of the number.
    torch.testing.assert_close(kept, exact, rtol=2**-11, atol=1e-5)
    assert (kept[1, 2:] == 0).all()
    assert kept.dtype == torch.float32
    encode(encoder)
    assert reads == [2, 5]  # out of the block, as in prediction


@pytest.mark.parametrize("other", ["seed", "window"])
def test_states_belong_to_an_encoder_and_how_it_reads(
    other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reads: list[int]
) -> None:
    keep(build(write_encoder(tmp_path / "encoder")))
    if other == "seed":
        write_encoder(tmp_path / "encoder", seed=2)
    else:
        monkeypatch.setattr("seq2set.nn.pretrained.encoder_source.WINDOW", 9)
    encoder = build(tmp_path / "encoder")
    reads.clear()
    with encoder.reuse_states():
        encode(encoder)
    assert reads == [5]
    assert len(keep(encoder)) == 1
    assert len({path.parent for path in list_files()}) == 2


def test_other_sub_words_are_another_text(tmp_path: Path, reads: list[int]) -> None:
    encoder = build(write_encoder(tmp_path / "encoder"))
    keep(encoder)
    reads.clear()
    keep(encoder, rows=[*ROWS[:4], np.array([7] * 39, np.int32)])  # as where fewer words are read
    assert sum(reads) == 1


def test_epochs_and_looks_read_them(tmp_path: Path, reads: list[int]) -> None:
    folder = write_encoder(tmp_path / "encoder", spread=0.2)
    counts, scores = {}, {}
    for epochs in (1, 3):
        for gigabytes in (0, 1):
            reads.clear()
            settings = f"warm_start.epochs={epochs}", f"encoder.cache_gigabytes={gigabytes}"
            tagger = trained(tmp_path / f"{epochs}-{gigabytes}", config_of(folder, *settings))
            counts[epochs, gigabytes] = sum(reads)
            scores[epochs, gigabytes] = tagger.infer(["wheat bank"], Request(search="marginal")).scores
    # 20 documents to learn and 12 to look at, per epoch; the rule is tuned on the 12 in the end. Of the last
    # training all states are there.
    assert counts == {(1, 0): 32 + 12, (1, 1): 32 + 12, (3, 0): 3 * 32 + 12, (3, 1): 12}
    np.testing.assert_allclose(scores[3, 1], scores[3, 0], atol=0.02)
    shutil.rmtree(get_cache_folder())
    again = tagger.infer(["wheat bank"], Request(search="marginal")).scores
    np.testing.assert_array_equal(again, scores[3, 1])


@pytest.mark.parametrize("damage", ["cut", "changed", "foreign", "other", "vectors"])
def test_a_damaged_file_is_noticed(damage: str, tmp_path: Path) -> None:
    encoder = build(write_encoder(tmp_path / "encoder"))
    exact = encode(encoder)
    keep(encoder)
    (path,) = list_files()
    whole = path.read_bytes()
    if damage == "foreign":
        keep(build(write_encoder(tmp_path / "other", seed=2)))
        (other,) = set(list_files()) - {path}
        whole = other.read_bytes()
    elif damage in ("other", "vectors"):
        fields = [("text", "u1", (32,)), ("source", "u1", (32,)), ("check", "<u4"), ("cut", "<i4")]
        kind = np.dtype([*fields, ("vector", "<f4", (SIZE,))]) if damage == "vectors" else float
        with path.open("wb") as stream:
            np.save(stream, np.zeros(3, kind))
        whole = path.read_bytes()
    path.write_bytes({"cut": whole[:-9], "changed": whole[:-1] + b"\x77"}.get(damage, whole))
    with encoder.reuse_states():  # not read, whatever it says
        torch.testing.assert_close(encode(encoder), exact, rtol=1e-5, atol=1e-5)
    noticed, taken = keep(encoder)
    assert noticed.startswith("files of states in ")
    assert noticed.endswith("damaged or another encoder's: 1; what they should hold is computed again")
    assert taken.endswith("they are computed once for all epochs")
    assert keep(encoder) == []


def test_no_more_disk_than_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = build(write_encoder(tmp_path / "encoder"))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Disk(10**12, 0, kept_states.SPARE + 2847))
    (note,) = keep(encoder)
    assert note.endswith(
        ", where 1.1 GB are free, of which 1.1 GB stay for the run itself; "
        "the states are computed again in every epoch"
    )
    assert list_files() == []
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Disk(10**12, 0, kept_states.SPARE + 2848))
    keep(encoder)
    assert len(list_files()) == 1


def test_no_more_disk_than_is_set(tmp_path: Path) -> None:
    folder = write_encoder(tmp_path / "encoder")
    few = [np.array([6, 7], np.int32)]
    keep(build(folder), rows=few)
    (small,) = list_files()
    os.utime(small, (1, 1))
    refused = build(folder, "encoder.cache_gigabytes=0.000002")  # 2,000 bytes, and 2,848 are wanted
    (note,) = keep(refused)
    assert note.endswith(
        "and 2 kB are left of encoder.cache_gigabytes; the states are computed again in every epoch"
    )
    assert list_files() == [small]
    keep(build(folder, "encoder.cache_gigabytes=0.000003"))  # there is room where the oldest file leaves
    (large,) = list_files()
    assert large != small
    assert keep(build(folder, "encoder.cache_gigabytes=0"), rows=few) == []
    assert list_files() == [large]


def test_what_a_training_reads_is_not_deleted_for_it(tmp_path: Path) -> None:
    folder = write_encoder(tmp_path / "encoder")
    keep(build(folder), rows=ROWS[:2])
    (first,) = list_files()
    os.utime(first, (1, 1))
    (note,) = keep(build(folder, "encoder.cache_gigabytes=0.0000015"))
    assert "are left of encoder.cache_gigabytes" in note
    assert list_files() == [first]
    assert keep(build(folder, "encoder.cache_gigabytes=0.0000015"), rows=ROWS[:2]) == []
    assert first.stat().st_mtime > 1  # the oldest no more


def fail_to_save(monkeypatch: pytest.MonkeyPatch, number: int, *, after: int = 0) -> None:
    save, calls = np.save, iter(range(100))

    def fail(stream: Any, *given: Any, **named: Any) -> None:
        if next(calls) >= after:
            stream.write(b"half")
            raise OSError(number, os.strerror(number))
        save(stream, *given, **named)

    monkeypatch.setattr(np, "save", fail)


def test_a_full_disk_leaves_nothing_and_training_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_states, "TEXTS_PER_FILE", 3)
    fail_to_save(monkeypatch, errno.ENOSPC, after=1)
    encoder = build(write_encoder(tmp_path / "encoder"))
    _, note = keep(encoder)
    assert note.startswith("cannot write to ")
    assert note.endswith(": the disk is full; the states are computed again in every epoch")
    assert list_files() == []
    trained(tmp_path / "run", config_of(tmp_path / "encoder"))


def test_a_cache_that_nobody_may_write(tmp_path: Path, own_cache: Path) -> None:
    own_cache.write_text("a file, not a folder")
    _, note = keep(build(write_encoder(tmp_path / "encoder")))
    assert note.endswith("a file, not a folder; the states are computed again in every epoch")


def change_scale(folder: Path, factor: float) -> None:
    path = folder / "model.safetensors"
    weights = load_file(path)
    name = "encoder.layer.0.output.LayerNorm.weight"
    save_file(weights | {name: weights[name] * factor}, path, metadata={"format": "pt"})


def test_numbers_that_16_bits_cannot_hold(tmp_path: Path) -> None:
    folder = write_encoder(tmp_path / "encoder")
    change_scale(folder, 1e6)
    _, note = keep(build(folder))
    assert note.startswith(
        "the encoder's states are too large to be kept with 16 bits; the states are computed "
    )
    assert list_files() == []
    change_scale(folder, float("nan"))
    with pytest.raises(InputError, match="model.safetensors gives states that are not finite numbers"):
        keep(build(folder))


def test_two_processes_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reads: list[int]) -> None:
    """The second does all of its work while the first computes, and the cache is emptied while both read."""
    encoder, other = (build(write_encoder(tmp_path / "encoder")) for _ in range(2))
    exact, compute = encode(encoder), kept_states._read_alone

    def meanwhile(*given: Any, **named: Any) -> Any:
        monkeypatch.setattr(kept_states, "_read_alone", compute)
        assert len(keep(other)) == 1
        return compute(*given, **named)

    monkeypatch.setattr(kept_states, "_read_alone", meanwhile)
    keep(encoder)
    assert len(list_files()) == 1  # the same under the same name
    reads.clear()
    with encoder.reuse_states(), other.reuse_states():
        shutil.rmtree(get_cache_folder())
        for one in (encoder, other):
            torch.testing.assert_close(encode(one), exact, rtol=2**-11, atol=1e-5)
    assert reads == []


def test_cleaning_the_cache_empties_it(tmp_path: Path) -> None:
    keep(build(write_encoder(tmp_path / "encoder")))
    (path,) = list_files()
    (path.parent / f".{path.name}.half").write_bytes(b"x")  # of a process that was killed
    assert [one.name for one in list_cached()] == [path.parent.name]
    assert [one.name for one in clean_cache()] == [path.parent.name]
    assert list_files() == []


def test_texts_of_like_lengths_lie_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_states, "TOKENS_PER_FILE", 12)
    rows = [np.full(length, 5 + length, np.int32) for length in (5, 1, 2, 13, 4, 3)]
    encoder = build(write_encoder(tmp_path / "encoder"))
    exact = encode(encoder, rows)
    keep(encoder, rows=rows)
    # 1, 2 and 3 make 3 * 3 numbers, and with 4 it would be 16; 4 and 5 make 10; 13 is too long for any.
    assert sorted(np.load(path)["vector"].shape for path in list_files()) == [
        (1, 13, 8),
        (2, 5, 8),
        (3, 3, 8),
    ]
    with encoder.reuse_states():
        torch.testing.assert_close(encode(encoder, rows), exact, rtol=2**-11, atol=1e-5)


def test_nothing_is_kept_of_an_encoder_that_learns(tmp_path: Path) -> None:
    encoder = build(write_encoder(tmp_path / "encoder"), "encoder.tune=1")
    assert keep(encoder) == []
    with encoder.reuse_states():
        assert encode(encoder).requires_grad
    assert list_files() == []


def test_a_run_goes_on_with_another_limit(tmp_path: Path) -> None:
    folder = write_encoder(tmp_path / "encoder")
    RunFolder.start(tmp_path / "run", config_of(folder))
    RunFolder.start(tmp_path / "run", config_of(folder, "encoder.cache_gigabytes=7"), resume=True)
    with pytest.raises(ConfigError, match="encoder.max_words"):
        RunFolder.start(tmp_path / "run", config_of(folder, "encoder.max_words=7"), resume=True)
