"""What is dropped and sampled by document keys depends on nothing else."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from loops import encoded

from seq2set.nn.noise import DocumentDropout, derive_keys, draw_uniform, mix_keys, use_keys
from seq2set.training.step import Phase, TrainingStep
from tiny_networks import tiny_config, tiny_examples, tiny_network

DROPOUT = ("encoder.dropout=0.3", "decoder.dropout=0.4", "cnn.dropout=0.3")
DEEP = ("encoder.layers=2", "decoder.layers=2")
SAMPLES = ("objective.samples=3", "objective.likelihood_share=0.2")


@pytest.mark.parametrize(
    ("model", "phase"),
    [
        ("cnn", "likelihood"),
        ("cnn-rnn", "likelihood"),
        ("seq2seq", "likelihood"),
        ("seq2set-simp", "warm-start"),
        ("seq2set", "warm-start"),
        ("seq2set", "self-critical"),
    ],
)
def test_the_parts_of_a_batch_add_up_to_it(model: str, phase: Phase) -> None:
    config = tiny_config(*DROPOUT, *DEEP, *SAMPLES, model=model)
    step = TrainingStep(tiny_network(config), config)
    examples = encoded(config, tiny_examples(12))

    def compute(index: np.ndarray, update: int = 5) -> list[float]:
        keys = derive_keys(1, update, index)
        losses = step(examples.batch(index), phase, torch.Generator(), None, keys)
        return [losses.total.item(), 0.0 if losses.reward is None else losses.reward.item()]

    every = np.arange(12)
    whole, parts = compute(every), [compute(every[start::3]) for start in range(3)]
    assert whole == pytest.approx(np.mean(parts, axis=0).tolist(), abs=1e-5)
    assert compute(every) == whole  # not one number is drawn elsewhere
    assert compute(every, update=6) != pytest.approx(whole, abs=1e-3)
    step.eval()
    assert compute(every)[0] != pytest.approx(whole[0], abs=1e-4)  # something was dropped


def test_the_numbers_are_spread_evenly() -> None:
    keys = derive_keys(7, 3, np.arange(1000))
    assert len(keys.unique()) == 1000
    drawn = draw_uniform(keys, 200).double()  # 200,000 numbers: a mean is off by 0.0006 in one of three draws
    assert 0 < drawn.min() < 0.0001
    assert 0.9999 < drawn.max() < 1
    assert drawn.mean().item() == pytest.approx(0.5, abs=0.003)
    assert drawn.var().item() == pytest.approx(1 / 12, abs=0.002)
    for one, other in ((drawn[:-1], drawn[1:]), (drawn[:, :-1], drawn[:, 1:])):
        assert np.corrcoef(one.flatten(), other.flatten())[0, 1] == pytest.approx(0, abs=0.01)
    again = draw_uniform(mix_keys(keys, 1), 200).double()
    assert np.corrcoef(drawn.flatten(), again.flatten())[0, 1] == pytest.approx(0, abs=0.01)


def test_dropout_keeps_the_mean_and_follows_its_keys() -> None:
    dropout, ones = DocumentDropout(0.3, along=True), torch.ones(50, 20, 30)
    keys = derive_keys(1, 1, np.arange(50))
    with use_keys(keys):
        first, second = dropout(ones), dropout(ones)
    assert first.mean().item() == pytest.approx(1, abs=0.02)
    assert first.unique().tolist() == pytest.approx([0.0, 1 / 0.7])
    assert not torch.equal(first, second)  # two places in a network drop differently
    with use_keys(keys[10:20]):
        assert torch.equal(dropout(ones[:10]), first[10:20])
    shared = DocumentDropout(0.3)
    with use_keys(keys):
        masks = shared(ones)
    assert torch.equal(masks, masks[:, :1].expand(-1, 20, -1))
    assert len(masks[:, 0].unique(dim=0)) == 50
    torch.manual_seed(1)
    plain = dropout(ones)
    torch.manual_seed(1)
    assert torch.equal(plain, torch.nn.functional.dropout(ones, 0.3))
