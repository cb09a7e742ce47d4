"""Checkpoints: one safetensors file, replaced whole, that a killed run resumes from bit for bit.

Everything that the next update depends on is in it: weights, Adam's moments, the averaged weights, the
position in the phases and epochs, and how well the samples did. Random numbers follow from the update's own
number.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from seq2set.core.errors import InputError
from seq2set.core.files import write_aside
from seq2set.core.seals import UNSEALED, check_seal, seal_file
from seq2set.objectives.rewards import RunningF1

LAST = "last.safetensors"
_WEIGHTS, _ADAM, _AVERAGE = "weights/", "adam/", "average/"


@dataclass(frozen=True)
class Position:
    """Where a run is, and the best that it has reached."""

    phase: int = 0
    epoch: int = 0
    batch: int = 0
    """The next batch of the epoch"""
    update: int = 0
    """Updates so far, over all phases"""
    best: float = -1.0
    """The best validation score so far"""
    best_update: int = -1
    """The update after which it was reached"""
    best_phase: str = ""
    """The phase in which it was reached"""
    waited: int = 0
    """Validations since"""
    records: int = 0
    """Lines of the history so far"""
    so_far: RunningF1 = field(default_factory=RunningF1)
    """How well the sampled sets did, where the reward asks for it"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "so_far", RunningF1(*self.so_far))  # from JSON it comes as a list

    def move(self, **changes: Any) -> Position:
        """Return a copy that differs as given."""
        return replace(self, **changes)


class AveragedWeights:
    """The running average of a network's weights; with a decay of 0 it is the weights themselves.

    Policy gradient on a few sampled sets moves the weights as much by chance as by what it learnt; the
    average over the last updates keeps the second and loses most of the first. So it is measured and kept.
    """

    def __init__(self, network: nn.Module, decay: float):
        self.network, self.decay = network, decay
        self.restart()

    @torch.no_grad()
    def restart(self) -> None:
        """Begin again, from the weights as they are."""
        self.average = {name: value.clone() for name, value in self._weights().items()}

    @torch.no_grad()
    def add(self, updates: int) -> None:
        """Take in the weights after an update, `updates` updates after the beginning.

        The first ones count more, as the weights that the average begins with are the least learnt.
        """
        decay = min(self.decay, (1 + updates) / (10 + updates))
        for name, value in self._weights().items():
            self.average[name].lerp_(value, 1 - decay)

    @contextmanager
    def apply(self) -> Iterator[None]:
        """Give the network the averaged weights for a while."""
        own = {name: value.clone() for name, value in self._weights().items()}
        self._set(self.average)
        try:
            yield
        finally:
            self._set(own)

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Continue from a checkpoint's average."""
        for name, value in self.average.items():
            value.copy_(tensors[name])

    def _weights(self) -> dict[str, Tensor]:
        return {name: value.detach() for name, value in self.network.named_parameters() if self.decay}

    @torch.no_grad()
    def _set(self, values: Mapping[str, Tensor]) -> None:
        for name, value in self._weights().items():
            value.copy_(values[name])


def save_checkpoint(
    folder: Path,
    place: Position,
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    averaged: AveragedWeights,
) -> None:
    """Write `last.safetensors`, whole or not at all."""
    tensors = {_WEIGHTS + name: value.contiguous() for name, value in network.state_dict().items()}
    state = optimizer.state_dict()["state"]
    tensors |= {
        f"{_ADAM}{number}/{key}": value for number, moments in state.items() for key, value in moments.items()
    }
    tensors |= {_AVERAGE + name: value for name, value in averaged.average.items()}
    with write_aside(folder / LAST) as aside:
        save_file(tensors, aside, metadata={"place": json.dumps(asdict(place)), **UNSEALED})
        seal_file(aside)


def load_checkpoint(
    folder: Path, network: nn.Module, optimizer: torch.optim.Optimizer, averaged: AveragedWeights
) -> Position | None:
    """Bring everything back to where the last checkpoint stood, or return None where there is none."""
    if not (folder / LAST).is_file():
        return None
    with _refuse_misfit(folder / LAST):
        check_seal(folder / LAST)
        place, tensors = _read_place(folder / LAST), load_file(folder / LAST)
        network.load_state_dict(_select_prefix(tensors, _WEIGHTS))
        state: dict[int, dict[str, Tensor]] = {}
        for name, value in _select_prefix(tensors, _ADAM).items():
            number, key = name.split("/")
            state.setdefault(int(number), {})[key] = value
        optimizer.load_state_dict(optimizer.state_dict() | {"state": state})
        averaged.restore(_select_prefix(tensors, _AVERAGE))
    return place


def read_position(path: Path) -> Position:
    """Read where a checkpoint stands."""
    with _refuse_misfit(path):
        return _read_place(path)


def _read_place(path: Path) -> Position:
    with safe_open(path, framework="pt") as stored:
        place = json.loads(stored.metadata()["place"])
    place.pop("search", None)  # which version 0.1.0 wrote; it cannot change within a run
    return Position(**place)


def read_weights(path: Path) -> dict[str, Tensor]:
    """Read a checkpoint's weights."""
    with _refuse_misfit(path):
        check_seal(path)
        return _select_prefix(load_file(path), _WEIGHTS)


def find_best_weights(folder: Path, update: int) -> Path:
    """Return where the best weights lie, which were reached after an update."""
    return folder / f"best-{update}.safetensors"


def save_weights(path: Path, network: nn.Module) -> None:
    """Write the weights alone."""
    tensors = {name: value.contiguous() for name, value in network.state_dict().items()}
    with write_aside(path) as aside:
        save_file(tensors, aside, metadata=UNSEALED)
        seal_file(aside)


def load_weights(path: Path, network: nn.Module) -> None:
    """Read weights back."""
    with _refuse_misfit(path):
        check_seal(path)
        network.load_state_dict(load_file(path))


def remove_leftovers(folder: Path) -> None:
    """Remove files that a killed run was still writing."""
    for path in folder.glob(".*.safetensors.*"):
        path.unlink()


@contextmanager
def _refuse_misfit(path: Path) -> Iterator[None]:
    """Say in one sentence that a file is damaged, or that it belongs to another network."""
    try:
        yield
    except (OSError, SafetensorError, RuntimeError, KeyError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"{path} does not fit this run ({reason}); it is damaged, or the corpus has changed; "
            "begin a new run"
        ) from error


def _select_prefix(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
