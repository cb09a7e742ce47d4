"""An encoder that learns: which layers move when, parts of a batch, several processes, and runs that stop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.optim import Adam

from seq2set.config import Config
from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import StoppedError
from seq2set.core.progress import Silent
from seq2set.training.learning_rates import LearningRates, drop_gradients, hold_still, touch
from seq2set.training.train_network import train_network
from tiny_encoders import write_encoder
from tiny_networks import tiny_config, tiny_examples, trained


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    return write_encoder(tmp_path / "encoder", layers=2, spread=0.2)


def config_of(encoder: Path, *settings: str) -> Config:
    own = "encoder.kind=transformer", f'encoder.pretrained="{encoder}"', "encoder.learning_rate=0.003"
    return tiny_config(*own, "encoder.tune=all", *settings, model="seq2set-simp")


class Update:
    """What an update did to the groups of weights: the decoder's, and the encoder's from the top."""

    def __init__(self, adam: Adam):
        self.before = [[one.detach().clone() for one in group["params"]] for group in adam.param_groups]
        self.gradients = [
            [None if one.grad is None else one.grad.clone() for one in group["params"]]
            for group in adam.param_groups
        ]
        self.rates = [group["lr"] for group in adam.param_groups]

    def finish(self, adam: Adam) -> Update:
        now = [group["params"] for group in adam.param_groups]
        self.moved = [
            any(not torch.equal(old, new) for old, new in zip(*pair, strict=True))
            for pair in zip(self.before, now, strict=True)
        ]
        self.steps = [{int(adam.state[one]["step"]) for one in group if one in adam.state} for group in now]
        return self


@pytest.fixture
def updates(monkeypatch: pytest.MonkeyPatch) -> list[Update]:
    seen: list[Update] = []
    step = Adam.step

    def watch(self: Adam, *given: Any, **named: Any) -> Any:
        update = Update(self)
        found = step(self, *given, **named)
        seen.append(update.finish(self))
        return found

    monkeypatch.setattr(Adam, "step", watch)
    return seen


def test_a_further_layer_begins_every_epoch(encoder: Path, tmp_path: Path, updates: list[Update]) -> None:
    """20 documents in batches of 8 are 3 updates per epoch; there are two layers, and sub-words' vectors."""
    settings = "encoder.unfreeze_every=1", "warm_start.epochs=2", "self_critical.epochs=1"
    trained(tmp_path / "run", config_of(encoder, *settings, "encoder.warm_up=0.5", "encoder.layer_decay=0.5"))
    top, both, whole = [True, True, False, False], [True, True, True, False], [True] * 4
    assert [one.moved for one in updates] == [top] * 3 + [both] * 3 + [whole] * 3
    assert [one.moved for one in updates] == [
        [any(part is not None for part in group) for group in one.gradients] for one in updates
    ]
    # Adam counts the updates of each weight alone, and begins anew with the second phase.
    assert [one.steps[2] for one in updates] == [set()] * 3 + [{1}, {2}, {3}] + [{1}, {2}, {3}]
    assert [one.steps[3] for one in updates] == [set()] * 6 + [{1}, {2}, {3}]
    # Rates by layer and warm-up are as they are without: 0.003 times 0.5 per layer, over 3 of 6 updates.
    assert [one.rates[2] for one in updates[:4]] == pytest.approx([0.0005, 0.001, 0.0015, 0.00075])


@pytest.mark.parametrize(
    ("every", "begins"), [(0, (0, 0, 0)), (0.5, (0, 2, 3)), (0.1, (0, 1, 1)), (2, (0, 6, 9))]
)
def test_parts_of_epochs(
    every: float, begins: tuple[int, ...], encoder: Path, tmp_path: Path, updates: list[Update]
) -> None:
    """Of 3 updates, half an epoch is the second, and 0.1 the first; 9 updates are too few for 4 epochs."""
    trained(tmp_path / "run", config_of(encoder, f"encoder.unfreeze_every={every}", "warm_start.epochs=3"))
    first = [next((at for at, one in enumerate(updates) if one.moved[group]), 9) for group in (1, 2, 3)]
    assert tuple(first) == begins


def test_products_are_not_late_by_rounding() -> None:
    from seq2set.nn.encoders import OwnRate

    weight = torch.nn.Parameter(torch.zeros(2))
    rates = LearningRates([OwnRate([weight], 1.0, 0.0, 3 * 0.1)], 10)
    assert rates.list_waiting(2) == [weight]
    assert rates.list_waiting(3) == []  # 3 * 0.1 * 10 is more than 3


def test_what_waits_costs_no_backward_pass() -> None:
    lower, upper = (torch.nn.Parameter(torch.ones(2)) for _ in range(2))
    with hold_still([lower]):
        state = lower * 3
        total = (state * upper).sum()
    assert not state.requires_grad
    assert lower.requires_grad
    (total + touch([lower])).backward()
    assert lower.grad is not None  # which other processes wait for
    assert lower.grad.tolist() == [0, 0]
    drop_gradients([lower])
    assert lower.grad is None
    assert upper.grad is not None
    assert upper.grad.tolist() == [3, 3]


def test_layers_that_never_begin_are_said(encoder: Path, tmp_path: Path) -> None:
    class Notes(Silent):
        def note(self, sentence: str) -> None:
            sentences.append(sentence)

    sentences: list[str] = []
    config = config_of(encoder, "encoder.unfreeze_every=0.5")  # the vectors would begin after 1 epoch of 1
    run = RunFolder.start(tmp_path / "run", config)
    train_network(config, tiny_examples(), tiny_examples(12, seed=2), run, Notes())
    assert sentences == [
        "1 of the 3 layers that encoder.tune names (sub-word vectors are one) never begin to learn: "
        "encoder.unfreeze_every is too long for 1 epochs"
    ]


def weights_of(tagger: Any) -> dict[str, list[float]]:
    return {name: value.tolist() for name, value in tagger.state().tensors.items()}


def test_what_waits_changes_nothing_for_the_others(encoder: Path, tmp_path: Path) -> None:
    waiting = trained(tmp_path / "one", config_of(encoder, "encoder.unfreeze_every=9"))
    without = trained(tmp_path / "two", config_of(encoder, "encoder.tune=1"))
    assert weights_of(waiting) == weights_of(without)


@pytest.mark.parametrize("stop", [1, 2, 3, 5])
def test_a_run_goes_on_from_any_update(stop: int, encoder: Path, tmp_path: Path) -> None:
    settings = "encoder.unfreeze_every=0.5", "self_critical.epochs=1", "training.averaging=0.5"
    config = config_of(encoder, *settings, "training.validate_every=1", "encoder.dropout=0.2")
    whole = trained(tmp_path / "whole", config)

    def watch(number: int, record: dict[str, Any]) -> None:
        if number == stop:
            raise StoppedError("here")

    run = RunFolder.start(tmp_path / "stopped", config, watch=watch)
    with pytest.raises(StoppedError):
        train_network(config, tiny_examples(), tiny_examples(12, seed=2), run, Silent())
    assert weights_of(trained(tmp_path / "stopped", config)) == weights_of(whole)
    histories = [RunFolder(tmp_path / name).records() for name in ("whole", "stopped")]
    assert [[one["loss"] for one in history] for history in histories] == [
        [one["loss"] for one in histories[0]]
    ] * 2


def test_two_processes_unfreeze_alike(encoder: Path, tmp_path: Path, updates: list[Update]) -> None:
    settings = "encoder.unfreeze_every=0.5", "encoder.dropout=0.2", "self_critical.epochs=1"
    settings += (
        "training.accumulate=2",
        "threads=auto",
        "training.batch_size=9",
        "training.validate_every=1",
    )
    one, two = (
        trained(tmp_path / str(workers), config_of(encoder, *settings, f"workers={workers}"))
        for workers in (1, 2)
    )
    records = [RunFolder(tmp_path / name).records() for name in ("1", "2")]
    assert [record["workers"] for record in records[1]] == [2] * 6
    # Adam in this process, which is the first of two: what waits has no updates behind it.
    assert [one.steps for one in updates[6:]] == [one.steps for one in updates[:6]]
    for ours, theirs in zip(*records, strict=True):
        assert ours["loss"] == pytest.approx(theirs["loss"], abs=1e-4)
    ours, theirs = one.state().tensors, two.state().tensors
    for name in ours:
        np.testing.assert_allclose(ours[name], theirs[name], atol=2e-3, err_msg=name)


@pytest.mark.parametrize("every", [0, 0.5])
def test_a_batch_in_parts_is_one_batch(
    every: float, encoder: Path, tmp_path: Path, updates: list[Update]
) -> None:
    """Gradients as Adam sees them, clipped by their norm; dropout and samples belong to documents."""
    settings = f"encoder.unfreeze_every={every}", "encoder.dropout=0.2", "training.clip_norm=0.5"
    settings += ("threads=auto", "workers=1", "objective.samples=2", "self_critical.epochs=1")
    settings += ("warm_start.learning_rate=0.0001", "encoder.learning_rate=0.0001")  # rounding grows slowly
    for parts in (1, 3, 8):
        trained(tmp_path / str(parts), config_of(encoder, *settings, f"training.accumulate={parts}"))
    whole, *others = (updates[start : start + 6] for start in (0, 6, 12))
    for parted in others:
        for one, other in zip(whole, parted, strict=True):
            assert one.moved == other.moved
            torch.testing.assert_close(gradients(other), gradients(one), rtol=1e-3, atol=1e-5)
    assert gradients(whole[0]).norm() == pytest.approx(0.5, rel=1e-3)


def gradients(update: Update) -> Tensor:
    return torch.cat([one.flatten() for group in update.gradients for one in group if one is not None])
