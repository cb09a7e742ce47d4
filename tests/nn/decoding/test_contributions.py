from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from seq2set.nn.decoder import DecoderPolicy
from seq2set.nn.decoding.contributions import OutputLayer, StepReading, find_contributions
from seq2set.nn.decoding.rollout import begin
from seq2set.nn.decoding.teacher_forcing import find_contributions_along, score_sequences

World = Callable[..., DecoderPolicy]


def test_words_add_their_attention_times_what_they_change() -> None:
    # One hidden unit, state and context 0: tanh(0) = 0, so that the slope is 1. The readout reads the
    # context with 2, the label 0 has the weight 3, all three are equally likely: 3 - 1 = 2, g = 2 * 2 = 4.
    # The words' values are 1 and -1 and both have a half of the attention: 0.5 * 1 * 4 = 2 and -2.
    layer = OutputLayer(np.array([[5.0, 2.0]]), np.array([[3.0], [0.0], [0.0]]))
    values = np.array([[[1.0], [-1.0]]])
    step = StepReading(np.zeros((1, 2)), np.array([[0.5, 0.5]]), values, np.full((1, 3), 1 / 3))
    assert find_contributions(step, np.array([0]), layer).tolist() == [[pytest.approx(2), pytest.approx(-2)]]
    assert find_contributions(step, np.array([1]), layer).tolist() == [[pytest.approx(-1), pytest.approx(1)]]
    for end in (2, 3, 4):  # eos, bos and pad
        assert find_contributions(step, np.array([end]), layer).tolist() == [[0, 0]]


def test_they_are_the_slopes_of_the_first_label_in_the_log_of_the_attention(world: World) -> None:
    policy = world(labels=5, documents=7, sources=(3, 2))
    labels = torch.arange(7)[:, None] % 5
    state = begin(policy, 1)
    energies = state.attention[0].log().detach().requires_grad_()
    with torch.enable_grad():
        context = torch.softmax(energies, -1) @ policy.memories[0].values
        features = torch.cat([state.output, context, *state.contexts[1:]], -1)
        log_probs = torch.log_softmax(policy.logits(features)[:, 0], -1)
        log_probs.gather(1, labels).sum().backward()
    assert energies.grad is not None
    found = find_contributions_along(policy, labels)
    torch.testing.assert_close(found[:, 0], energies.grad[:, 0])
    assert found.abs().max() > 1e-4


def test_each_label_is_explained_in_its_step_after_those_before(world: World) -> None:
    policy = world(labels=5, documents=2)
    found = find_contributions_along(policy, torch.tensor([[3, 1], [4, 7]]))  # 7: pad
    assert found.shape == (2, 2, 5)
    assert (found[1, 1] == 0).all()
    assert (found[0] != 0).any(-1).all()
    swapped = find_contributions_along(policy, torch.tensor([[1, 3], [4, 7]]))
    assert not torch.allclose(found[0, 1], swapped[0, 0])
    torch.testing.assert_close(found[1], swapped[1])
    assert score_sequences(policy, torch.tensor([[3, 1], [4, 7]])).steps.shape == (2, 3)


def test_no_label_adds_nothing(world: World) -> None:
    nothing = torch.empty(3, 0, dtype=torch.long)
    assert find_contributions_along(world(documents=3), nothing).shape == (3, 0, 5)
