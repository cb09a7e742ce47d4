"""The running average of the weights: hand-worked, and what the loop does with it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from loops import CRITICAL, WARM, Scripted, new_loop, weights
from torch import nn

from seq2set.training.checkpoint import AveragedWeights


class Number(nn.Module):
    """A network of one weight."""

    def __init__(self, value: float):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(value))

    def put(self, value: float) -> None:
        with torch.no_grad():
            self.weight.fill_(value)


def test_the_average_by_hand() -> None:
    number = Number(0.0)
    averaged = AveragedWeights(number, 0.2)
    number.put(10.0)
    # After one update the share that stays is min(0.2, 2 / 11) = 2 / 11: 0 x 2/11 + 10 x 9/11.
    averaged.add(1)
    assert averaged.average["weight"].item() == pytest.approx(90 / 11)
    number.put(20.0)
    # After two it is min(0.2, 3 / 12) = 0.2.
    averaged.add(2)
    assert averaged.average["weight"].item() == pytest.approx(0.2 * 90 / 11 + 0.8 * 20)
    assert number.weight.item() == 20.0


def test_it_is_lent_and_given_back() -> None:
    number = Number(1.0)
    averaged = AveragedWeights(number, 0.9)
    number.put(5.0)
    with pytest.raises(RuntimeError), averaged.apply():
        assert number.weight.item() == 1.0
        raise RuntimeError
    assert number.weight.item() == 5.0
    averaged.restart()
    assert averaged.average["weight"].item() == 5.0


def test_without_a_decay_it_is_the_weights_and_holds_nothing() -> None:
    number = Number(1.0)
    averaged = AveragedWeights(number, 0.0)
    number.put(5.0)
    averaged.add(1)
    with averaged.apply():
        assert number.weight.item() == 5.0
    assert averaged.average == {}


def test_the_loop_measures_and_keeps_the_average_and_trains_on_without_it(tmp_path: Path) -> None:
    plain, smooth = Scripted([0.1, 0.5, 0.3]), Scripted([0.1, 0.5, 0.3])
    bare = plain.watching(new_loop(tmp_path / "plain", plain, [WARM]))
    bare.run()
    loop = smooth.watching(new_loop(tmp_path / "smooth", smooth, [WARM], averaging=0.5))
    first = weights(loop)
    trail: list[torch.Tensor] = []
    loop.adam.register_step_post_hook(lambda *_: trail.append(weights(loop)))
    loop.run()
    average = first
    for number, after in enumerate(trail[:4], start=1):
        share = min(0.5, (1 + number) / (10 + number))
        average = share * average + (1 - share) * after
    torch.testing.assert_close(smooth.seen[1], average)
    assert torch.equal(weights(loop), smooth.seen[1])
    assert torch.equal(trail[3], plain.seen[1]), "the updates themselves must not feel the average"


def test_a_phase_begins_its_average_at_the_best_weights_of_the_one_before(tmp_path: Path) -> None:
    scores = Scripted([0.1, 0.5, 0.3, 0.2, 0.2, 0.2])
    still = CRITICAL._replace(learning_rate=1e-30)
    loop = scores.watching(new_loop(tmp_path, scores, [WARM, still], averaging=0.5))
    loop.run()
    assert torch.equal(scores.seen[3], scores.seen[1])
