"""Marginals against worlds that can be counted out."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import torch
from opened import estimate_marginals
from torch import Tensor

from seq2set.nn.decoder import DecoderPolicy
from seq2set.nn.decoding.rollout import mark_labels, sample
from seq2set.nn.decoding.teacher_forcing import score_sequences

World = Callable[..., DecoderPolicy]


def exact(policy: DecoderPolicy, labels: int, limit: int | None = None) -> Tensor:
    """Add up the probabilities of all sequences that hold a label."""
    orders = [order for size in range(labels + 1) for order in itertools.permutations(range(labels), size)]
    rows = torch.tensor([list(order) + [labels + 2] * (labels - len(order)) for order in orders])
    every = rows.expand(policy.documents, -1, -1)
    chances = score_sequences(policy, every, max_steps=limit).log_prob.exp()  # (B, orders)
    assert torch.allclose(chances.sum(1), torch.ones(policy.documents), atol=1e-5)
    return chances @ mark_labels(rows, labels).float()


@pytest.mark.parametrize("limit", [None, 2])
def test_they_approach_what_can_be_counted(world: World, limit: int | None) -> None:
    policy = world(labels=3, documents=4, sharpness=2.5)
    expected = exact(policy, 3, limit)
    assert expected.std() > 0.1
    found = [estimate_marginals(policy, size, max_steps=limit) for size in (8, 20_000)]
    errors = [(one - expected).abs().max().item() for one in found]
    # A mean of 20,000 numbers whose spread is below 1/2 lies within 4 x 0.5 / 141 = 0.014 of the truth.
    assert errors[1] < 0.014
    assert errors[1] < errors[0]


def test_they_are_less_noisy_than_counts(world: World) -> None:
    policy = world(labels=4, documents=3, sharpness=2.5)
    expected = exact(policy, 4)
    generator = torch.Generator().manual_seed(0)
    summed, counted = [], []
    for seed in range(40):
        summed.append((estimate_marginals(policy, 16, seed=seed) - expected).square().mean().item())
        drawn = sample(policy, samples=16, generator=generator).masks(4).float().mean(1)
        counted.append((drawn - expected).square().mean().item())
    assert sum(summed) < 0.6 * sum(counted)


@pytest.mark.parametrize("sharpness", [0.1, 2.0, 50.0])
def test_they_are_probabilities(world: World, sharpness: float) -> None:
    found = estimate_marginals(world(labels=6, documents=5, sharpness=sharpness), 7)
    assert found.shape == (5, 6)
    assert found.isfinite().all()
    assert (found >= 0).all()
    assert (found <= 1).all()


def test_a_document_has_them_alone_as_in_any_batch(world: World) -> None:
    policy = world(labels=5, documents=6, sharpness=3.0)
    together = estimate_marginals(policy, 9)
    for rows in ([2], [5, 0], [4, 3, 1]):
        apart = estimate_marginals(policy.select(torch.tensor(rows)), 9)
        assert torch.allclose(apart, together[rows], atol=1e-6, rtol=0)


def test_a_seed_gives_them_twice(world: World) -> None:
    policy = world(labels=5)
    assert torch.equal(estimate_marginals(policy, 4), estimate_marginals(policy, 4))
    assert not torch.equal(estimate_marginals(policy, 4), estimate_marginals(policy, 4, seed=2))


def test_a_limit_leaves_out_what_would_come_later(world: World) -> None:
    policy = world(labels=4, documents=3)
    first = score_sequences(policy, torch.arange(4).view(1, 4, 1).expand(3, -1, -1)).steps[..., 0].exp()
    # With room for one label, its marginal is its probability at the first step, whatever is sampled.
    assert torch.allclose(estimate_marginals(policy, 5, max_steps=1), first, atol=1e-6)
