"""Worlds of three labels, in which every sequence and every set can be counted."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from torch import Tensor

from seq2set.nn.attention import Source
from seq2set.nn.decoder import AttentionDecoder, DecoderPolicy
from seq2set.nn.decoding.beam import search_set_beam
from seq2set.nn.decoding.rollout import mark_labels, roll_out_greedily, sample
from seq2set.nn.decoding.teacher_forcing import score_sequences, score_sets
from seq2set.nn.decoding.torch_decoder import TorchDecoder
from seq2set.objectives.losses import compute_likelihood_loss, compute_self_critical_loss, leave_one_out
from seq2set.objectives.rewards import f1

LABELS, PAD = 3, 5
ORDERS = [order for size in range(4) for order in itertools.permutations(range(LABELS), size)]
SEQUENCES = torch.tensor([list(order) + [PAD] * (LABELS - len(order)) for order in ORDERS])  # (16, 3)


def decoder_and_document(seed: int = 0) -> tuple[AttentionDecoder, Tensor, Source]:
    torch.manual_seed(seed)
    decoder = AttentionDecoder(LABELS, 4, 8, sources=(3,), start=4)
    return decoder, torch.randn(1, 4), Source(torch.randn(1, 2, 3), torch.ones(1, 2, dtype=torch.bool))


def bound(decoder: AttentionDecoder, start: Tensor, source: Source, documents: int = 1) -> DecoderPolicy:
    """The decoder before so many copies of one document."""
    values, mask = (part.expand(documents, -1, *[-1] * (part.dim() - 2)) for part in source)
    return decoder.bind(start.expand(documents, -1), [Source(values, mask)])


def flat(gradients: tuple[Tensor, ...]) -> Tensor:
    return torch.cat([gradient.flatten() for gradient in gradients])


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("baseline", ["greedy", "leave one out"])
def test_sampled_gradients_approach_that_of_the_expected_reward(baseline: str, limit: int) -> None:
    decoder, start, source = decoder_and_document()
    for weight in decoder.parameters():
        weight.data *= 2
    gold, weights = torch.tensor([[True, False, True]]), list(decoder.parameters())
    policy = bound(decoder, start, source)
    rewards = f1(mark_labels(SEQUENCES, LABELS), gold)  # (16,)
    chances = score_sequences(policy, SEQUENCES[None], max_steps=limit).log_prob.exp()[0]  # (16,)
    assert chances.sum().item() == pytest.approx(1, abs=1e-6)
    expected_reward = (chances * rewards)[chances > 0].sum()
    exact = flat(torch.autograd.grad(-expected_reward, weights))  # eq. 9

    draws = torch.Generator().manual_seed(0)
    drawn = sample(bound(decoder, start, source), samples=60_000, generator=draws, max_steps=limit)
    reward = f1(drawn.masks(LABELS), gold[:, None])
    first = f1(roll_out_greedily(policy, max_steps=limit).masks(LABELS), gold)
    best = first if baseline == "greedy" else leave_one_out(reward)
    sampled = flat(
        torch.autograd.grad(compute_self_critical_loss(drawn.log_prob, reward, best), weights)
    )  # eq. 10
    assert exact.norm() > 0.01
    assert (sampled - exact).norm() / exact.norm() < 0.03


GOLD = [[0, 1]] * 3 + [[1, 0]] * 3 + [[]] * 4
"""Ten equal documents: six hold {0, 1}, written down in one order or the other; four hold nothing."""


def padded(sequences: list[list[int]]) -> Tensor:
    return torch.tensor([sequence + [PAD] * (2 - len(sequence)) for sequence in sequences])


def expected_f1(found: Tensor) -> float:
    """The mean F1 of one set, given to all ten documents."""
    return f1(found, mark_labels(padded(GOLD), LABELS)).mean().item()


def trained(steps: int, loss: object, parts: tuple[AttentionDecoder, Tensor, Source], rate: float) -> Tensor:
    """The set that greedy decoding gives after so many updates."""
    decoder, start, source = parts
    optimiser = torch.optim.Adam(decoder.parameters(), lr=rate)
    for _ in range(steps):
        optimiser.zero_grad()
        loss(bound(decoder, start, source, len(GOLD))).backward()  # type: ignore[operator]
        optimiser.step()
    return roll_out_greedily(bound(decoder, start, source)).masks(LABELS)[0]


def likelihood_of(sequences: list[list[int]]) -> object:
    return lambda policy: compute_likelihood_loss(score_sequences(policy, padded(sequences)).steps)


def test_self_critical_training_finds_the_best_set_where_likelihood_on_a_wrong_order_does_not() -> None:
    # Likelihood learns 0.3, 0.3 and 0.4 for 0, 1 and eos: greedy decoding ends at once, right 4 times in 10.
    # {0, 1} is right 6 times in 10.
    every = [torch.tensor(bits) for bits in itertools.product([False, True], repeat=LABELS)]
    best = max(expected_f1(candidate) for candidate in every)
    assert best == pytest.approx(0.6)

    parts = decoder_and_document(seed=1)
    after_likelihood = trained(120, likelihood_of(GOLD), parts, 0.03)
    assert after_likelihood.tolist() == [False, False, False]
    assert expected_f1(after_likelihood) == pytest.approx(0.4)

    draws, gold = torch.Generator().manual_seed(0), mark_labels(padded(GOLD), LABELS)

    def policy_gradient(policy: DecoderPolicy) -> Tensor:
        with torch.no_grad():
            baseline = f1(roll_out_greedily(policy).masks(LABELS), gold)
        drawn = sample(policy, samples=2, generator=draws)
        return compute_self_critical_loss(drawn.log_prob, f1(drawn.masks(LABELS), gold[:, None]), baseline)

    after_rewards = trained(120, policy_gradient, parts, 0.01)
    assert after_rewards.tolist() == [True, True, False]
    assert expected_f1(after_rewards) == pytest.approx(best)


def test_likelihood_on_one_order_finds_it_too() -> None:
    sorted_gold = [sorted(sequence) for sequence in GOLD]
    assert trained(120, likelihood_of(sorted_gold), decoder_and_document(seed=1), 0.03).tolist() == [1, 1, 0]


def test_a_set_beam_finds_it_after_likelihood_without_an_order() -> None:
    # Without an order 0 and 1 share the 0.6 of their set, and only together they are likelier than eos.
    parts, gold = decoder_and_document(seed=1), mark_labels(padded(GOLD), LABELS)
    trained(200, lambda policy: compute_likelihood_loss(score_sets(policy, gold).steps), parts, 0.03)
    found = search_set_beam(TorchDecoder(bound(*parts)), width=3)
    assert found.masks(LABELS)[0, 0].tolist() == [True, True, False]
    assert np.exp(found.set_log_prob[0, 0]) == pytest.approx(0.6, abs=0.02)
