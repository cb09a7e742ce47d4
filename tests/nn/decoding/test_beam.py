from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from opened import search_beam, search_set_beam

from seq2set.nn.decoder import DecoderPolicy
from seq2set.nn.decoding.rollout import roll_out_greedily
from seq2set.nn.decoding.teacher_forcing import score_sequences

World = Callable[..., DecoderPolicy]


def all_sequences(labels: int) -> torch.Tensor:
    kinds = [order for size in range(labels + 1) for order in itertools.permutations(range(labels), size)]
    return torch.tensor([list(order) + [labels + 2] * (labels - len(order)) for order in kinds])


def exhaustive_sets(policy: DecoderPolicy) -> torch.Tensor:
    """The probability (B, 2 ** L) of each set, over all its orders; a set is numbered by its bits."""
    sequences = all_sequences(policy.labels)
    probabilities = score_sequences(policy, sequences.expand(policy.documents, -1, -1)).log_prob.exp()
    return torch.zeros(policy.documents, 2**policy.labels).index_add(1, numbers(sequences), probabilities)


def numbers(sequences: torch.Tensor, labels: int | None = None) -> torch.Tensor:
    count = sequences.shape[-1] if labels is None else labels
    bits = torch.where(sequences < count, 2**sequences, 0)
    return bits.sum(-1)


@pytest.mark.parametrize("search", [search_beam, search_set_beam])
def test_a_beam_of_one_is_greedy(world: World, search: Callable[..., Any]) -> None:
    policy = world(labels=6, documents=30, seed=5)
    best, found = roll_out_greedily(policy), search(policy, width=1)
    assert torch.equal(found.labels[:, 0], best.labels)
    torch.testing.assert_close(found.log_prob[:, 0], best.log_prob, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(found.set_log_prob, found.log_prob)


def test_a_beam_as_wide_as_all_sequences_ranks_them_all(world: World) -> None:
    policy = world(labels=3, documents=5)
    found = search_beam(policy, width=20)
    expected = (
        score_sequences(policy, all_sequences(3).expand(5, -1, -1)).log_prob.sort(descending=True).values
    )
    torch.testing.assert_close(found.log_prob[:, :16], expected, atol=1e-5, rtol=1e-5)  # 1 + 3 + 6 + 6
    assert found.log_prob[:, 16:].isneginf().all()
    assert (found.labels[:, 16:] == 5).all()
    assert found.lengths[:, 16:].sum() == 0


def test_one_label_leaves_two_hypotheses(world: World) -> None:
    found = search_set_beam(world(labels=1, documents=4), width=3)
    assert found.lengths.sum(1).tolist() == [1, 1, 1, 1]  # the empty set and {0}
    torch.testing.assert_close(found.set_log_prob.exp().sum(1), torch.ones(4))


WRONG_WAYS = {
    (): (0.3, 0.3, 0.0, 0.4),
    (0,): (0.0, 0.9, 0.0, 0.1),
    (1,): (0.8, 0.0, 0.0, 0.2),
}
"""{0, 1} in both orders: 0.3 x 0.9 + 0.3 x 0.8 = 0.51, each less likely than the empty set's 0.4."""


def test_orders_of_one_set_count_together(table: Any) -> None:
    policy = table(3, WRONG_WAYS, documents=2)
    plain, merged = search_beam(policy, width=3), search_set_beam(policy, width=3)
    assert plain.labels[0].tolist() == [[5, 5], [0, 1], [1, 0]]
    torch.testing.assert_close(plain.log_prob[0].exp(), torch.tensor([0.4, 0.27, 0.24]))
    assert merged.labels[1].tolist() == [[0, 1], [5, 5], [1, 5]]
    torch.testing.assert_close(merged.set_log_prob[1].exp(), torch.tensor([0.51, 0.4, 0.06]))
    torch.testing.assert_close(merged.log_prob[1].exp(), torch.tensor([0.27, 0.4, 0.06]))
    assert merged.masks(3)[0].tolist() == [[True, True, False], [False] * 3, [False, True, False]]


def test_three_orders_meet_in_one_set(table: Any) -> None:
    # {0, 1, 2} grows from {0, 1}, {0, 2} and {1, 2}, each reached by one order, with 0.3, 0.3 and 0.4.
    policy = table(
        3,
        {
            (): (0.3, 0.4, 0.3, 0.0),
            (0,): (0.0, 1.0, 0.0, 0.0),
            (1,): (0.0, 0.0, 1.0, 0.0),
            (2,): (1.0, 0.0, 0.0, 0.0),
            (0, 1): (0.0, 0.0, 1.0, 0.0),
            (1, 2): (0.5, 0.0, 0.0, 0.5),
            (2, 0): (0.0, 0.9, 0.0, 0.1),
        },
    )
    found = search_set_beam(policy, width=4)
    # 0.3 + 0.4 x 0.5 + 0.3 x 0.9 = 0.77; the likeliest order is 0, 1, 2 with 0.3
    assert found.labels[0].tolist() == [[0, 1, 2], [1, 2, 5], [2, 0, 5], [5, 5, 5]]
    torch.testing.assert_close(found.set_log_prob[0].exp(), torch.tensor([0.77, 0.2, 0.03, 0.0]))
    torch.testing.assert_close(found.log_prob[0].exp(), torch.tensor([0.3, 0.2, 0.03, 0.0]))


def test_equally_likely_orders_leave_one(table: Any) -> None:
    even = {(): (0.5, 0.5, 0.0), (0,): (0.0, 1.0, 0.0), (1,): (1.0, 0.0, 0.0)}
    found = search_set_beam(table(2, even), width=3)
    assert found.set_log_prob[0].exp().tolist() == [1.0, 0.0, 0.0]
    assert sorted(found.labels[0, 0].tolist()) == [0, 1]
    assert found.labels[0, 1:].tolist() == [[4, 4], [4, 4]]


def test_no_set_is_listed_twice(world: World) -> None:
    policy = world(labels=5, documents=20, seed=6)
    found = search_set_beam(policy, width=6)
    for row, masses in zip(numbers(found.labels, 5), found.set_log_prob, strict=True):
        real = row[~masses.isneginf()].tolist()
        assert len(set(real)) == len(real)
    assert (found.set_log_prob[:, 0] >= found.log_prob[:, 0] - 1e-6).all()


def test_a_limit_holds_in_a_beam(world: World) -> None:
    policy = world(labels=5, documents=8)
    found = search_set_beam(policy, width=4, max_steps=2)
    assert found.lengths.max() == 2
    torch.testing.assert_close(
        found.log_prob, score_sequences(policy, found.labels, max_steps=2).log_prob, atol=1e-5, rtol=1e-5
    )


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_all_sets_within_a_limit_have_probability_one_together(world: World, limit: int) -> None:
    policy = world(labels=3, documents=6, seed=2)
    found = search_set_beam(policy, width=8, max_steps=limit)  # there are 8 sets
    assert found.lengths.max() == limit
    torch.testing.assert_close(found.set_log_prob.exp().sum(1), torch.ones(6), atol=1e-6, rtol=0)


@pytest.mark.parametrize("width", [2, 5, 16])
def test_the_sets_found_have_their_own_probabilities(world: World, width: int) -> None:
    wrong = 0
    for seed in range(20):
        policy = world(labels=4, documents=3, seed=seed)
        every, found = exhaustive_sets(policy), search_set_beam(policy, width=width)
        sets = numbers(found.labels, 4)
        torch.testing.assert_close(found.set_log_prob.exp(), every.gather(1, sets), atol=1e-5, rtol=1e-4)
        wrong += int((sets[:, 0] != every.argmax(1)).sum())
    assert found.labels.shape[1] == width
    assert wrong == 0  # of 60


def test_many_labels_are_scored_by_orders_drawn(table: Any) -> None:
    # Six labels in a row, whatever came before: every order has probability 1/720, and the set has all of it.
    even = {
        order: tuple(0.0 if label in order or label == 6 else 1 / (6 - len(order)) for label in range(7))
        for size in range(6)
        for order in itertools.permutations(range(6), size)
    }
    found = search_set_beam(table(6, even), width=2)
    assert sorted(found.labels[0, 0].tolist()) == [0, 1, 2, 3, 4, 5]
    torch.testing.assert_close(found.set_log_prob[0, 0].exp(), torch.tensor(1.0))


@pytest.mark.parametrize("width", [2, 3])
def test_merging_finds_the_best_set_more_often(world: World, width: int) -> None:
    plain = merged = 0
    for seed in range(8):
        policy = world(labels=4, documents=40, seed=seed, sharpness=1.5)
        best = exhaustive_sets(policy).argmax(1)
        found = (
            numbers(search(policy, width=width).labels[:, 0], 4) for search in (search_beam, search_set_beam)
        )
        first, second = ((guess == best).sum().item() for guess in found)
        plain, merged = plain + first, merged + second
    assert merged > plain + 5  # out of 320 documents
    assert merged > 200
