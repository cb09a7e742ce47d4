"""What a run goes on from: everything, or the file as it was before."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from seq2set.core.errors import InputError, OutputError
from seq2set.objectives.rewards import RunningF1
from seq2set.training import checkpoint
from seq2set.training.checkpoint import (
    LAST,
    AveragedWeights,
    Position,
    load_checkpoint,
    load_weights,
    remove_leftovers,
    save_checkpoint,
    save_weights,
)

PLACE = Position(
    phase=1,
    epoch=2,
    batch=3,
    update=45,
    best=0.625,
    best_update=40,
    waited=1,
    records=9,
    so_far=RunningF1(1 / 3, 0.1, 2.0, 7.7),
)


def network(seed: int, width: int = 3) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, 1))


def adam(model: nn.Module) -> torch.optim.Adam:
    return torch.optim.Adam(model.parameters(), lr=0.01, fused=True)


def averaged(model: nn.Module) -> AveragedWeights:
    return AveragedWeights(model, 0.9)


def update(model: nn.Module, optimizer: torch.optim.Optimizer, seed: int) -> None:
    model(torch.randn(5, 4, generator=torch.Generator().manual_seed(seed))).square().sum().backward()
    optimizer.step()
    optimizer.zero_grad()


def same_weights(one: nn.Module, other: nn.Module) -> bool:
    pairs = zip(one.state_dict().values(), other.state_dict().values(), strict=True)
    return all(torch.equal(*pair) for pair in pairs)


def test_the_next_update_is_the_one_that_would_have_been(tmp_path: Path) -> None:
    first, second = network(1), network(2)
    before, after = adam(first), adam(second)
    for seed in range(3):
        update(first, before, seed)
    save_checkpoint(tmp_path, PLACE, first, before, averaged(first))
    place = load_checkpoint(tmp_path, second, after, averaged(second))
    assert place == PLACE
    assert place.so_far == RunningF1(1 / 3, 0.1, 2.0, 7.7)
    assert same_weights(first, second)
    update(first, before, 3)
    update(second, after, 3)
    assert same_weights(first, second)
    assert [state["step"].item() for state in after.state.values()] == [4.0] * 4


def test_the_averaged_weights_come_back(tmp_path: Path) -> None:
    first, second = network(1), network(2)
    optimizer, before, after = adam(first), averaged(first), averaged(second)
    for seed in range(3):
        update(first, optimizer, seed)
        before.add(seed + 1)
    save_checkpoint(tmp_path, PLACE, first, optimizer, before)
    load_checkpoint(tmp_path, second, adam(second), after)
    assert after.average.keys() == before.average.keys() != set()
    assert all(torch.equal(value, before.average[name]) for name, value in after.average.items())
    assert not torch.equal(after.average["0.weight"], second.state_dict()["0.weight"])  # not the weights


def test_an_optimiser_without_memory_comes_back_without(tmp_path: Path) -> None:
    first, second = network(1), network(2)
    save_checkpoint(tmp_path, Position(), first, adam(first), averaged(first))
    optimizer = adam(second)
    assert load_checkpoint(tmp_path, second, optimizer, averaged(second)) == Position()
    assert not optimizer.state


def test_a_checkpoint_from_before_there_was_a_running_f1_is_read(tmp_path: Path) -> None:
    model = network(1)
    save_checkpoint(tmp_path, Position(update=3), model, adam(model), averaged(model))
    tensors = load_file(tmp_path / LAST)
    old = {"phase": 0, "epoch": 0, "batch": 0, "update": 3, "best": 0.5, "best_update": 2, "waited": 0}
    save_file(tensors, tmp_path / LAST, metadata={"place": json.dumps(old)})
    place = load_checkpoint(tmp_path, model, adam(model), averaged(model))
    assert place == Position(update=3, best=0.5, best_update=2)
    assert place.so_far == RunningF1()


def test_without_a_checkpoint_nothing_changes(tmp_path: Path) -> None:
    model = network(1)
    assert load_checkpoint(tmp_path, model, adam(model), averaged(model)) is None
    assert same_weights(model, network(1))


def test_weights_alone(tmp_path: Path) -> None:
    first, second = network(1), network(2)
    save_weights(tmp_path / "best.safetensors", first)
    load_weights(tmp_path / "best.safetensors", second)
    assert same_weights(first, second)


def test_a_full_disk_leaves_the_checkpoint_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = network(1)
    save_checkpoint(tmp_path, PLACE, model, adam(model), averaged(model))
    whole = (tmp_path / LAST).read_bytes()

    def full(tensors: object, path: Path, metadata: object) -> None:
        path.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(checkpoint, "save_file", full)
    with pytest.raises(OutputError, match="cannot write to .*last.safetensors: the disk is full"):
        save_checkpoint(tmp_path, Position(), model, adam(model), averaged(model))
    assert (tmp_path / LAST).read_bytes() == whole
    assert [path.name for path in tmp_path.iterdir()] == [LAST]


@pytest.mark.parametrize("damage", ["cut", "another network", "no place"])
def test_what_does_not_fit_is_a_sentence(tmp_path: Path, damage: str) -> None:
    model, other = network(1), network(1, width=5)
    if damage == "no place":
        save_weights(tmp_path / LAST, model)
    else:
        save_checkpoint(tmp_path, PLACE, model, adam(model), averaged(model))
    if damage == "cut":
        (tmp_path / LAST).write_bytes((tmp_path / LAST).read_bytes()[:50])
    wanted = other if damage == "another network" else model
    with pytest.raises(
        InputError, match=r"last.safetensors does not fit this run \(.+\); .* begin a new run"
    ):
        load_checkpoint(tmp_path, wanted, adam(wanted), averaged(wanted))


def test_lost_weights_are_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="best-3.safetensors does not fit this run"):
        load_weights(tmp_path / "best-3.safetensors", network(1))


def test_what_a_killed_run_was_writing_goes(tmp_path: Path) -> None:
    for name in (".last.safetensors.ab12", ".best-3.safetensors.x", LAST, "best-3.safetensors"):
        (tmp_path / name).write_bytes(b"")
    remove_leftovers(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["best-3.safetensors", LAST]


def test_a_flipped_bit_is_noticed_before_a_run_goes_on(tmp_path: Path) -> None:
    model = network(1)
    save_checkpoint(tmp_path, PLACE, model, adam(model), averaged(model))
    save_weights(tmp_path / "best-1.safetensors", model)
    for path in (tmp_path / LAST, tmp_path / "best-1.safetensors"):
        content = bytearray(path.read_bytes())
        content[-3] ^= 1
        path.write_bytes(content)
    other = network(2)
    with pytest.raises(InputError, match="its content is not what was written"):
        load_checkpoint(tmp_path, other, adam(other), averaged(other))
    with pytest.raises(InputError, match="its content is not what was written"):
        load_weights(tmp_path / "best-1.safetensors", other)
    assert same_weights(other, network(2))


def test_a_checkpoint_of_an_earlier_version_has_no_digest(tmp_path: Path) -> None:
    model = network(1)
    save_file(model.state_dict(), tmp_path / "best-1.safetensors")
    other = network(2)
    load_weights(tmp_path / "best-1.safetensors", other)
    assert same_weights(model, other)
