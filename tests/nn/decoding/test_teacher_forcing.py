from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch

from seq2set.nn.decoder import DecoderPolicy
from seq2set.nn.decoding.teacher_forcing import score_sequences, score_sets

World = Callable[..., DecoderPolicy]


def all_sequences(labels: int) -> torch.Tensor:
    """Every sequence without a repeated label, padded."""
    kinds = [order for size in range(labels + 1) for order in itertools.permutations(range(labels), size)]
    return torch.tensor([list(order) + [labels + 2] * (labels - len(order)) for order in kinds])


def test_the_probabilities_of_all_sequences_add_up_to_one(world: World) -> None:
    sequences = all_sequences(4)
    assert len(sequences) == 65  # 1 + 4 + 12 + 24 + 24
    scores = score_sequences(world(labels=4, documents=3), sequences.expand(3, -1, -1))
    torch.testing.assert_close(scores.log_prob.exp().sum(1), torch.ones(3))


def test_scoring_equals_stepping(world: World) -> None:
    policy = world(labels=5, documents=6, sources=(3, 2), layers=2)
    labels = torch.tensor([[7, 7, 7], [4, 7, 7], [0, 3, 1], [2, 7, 7], [7, 7, 7], [1, 0, 7]])
    scores = score_sequences(policy, labels)
    for row, sequence in enumerate([[], [4], [0, 3, 1], [2], [], [1, 0]]):
        alone = policy.select(torch.tensor([row]))
        state, steps = alone.start(), []
        for position, symbol in enumerate([6, *sequence]):  # 6 is bos
            state = alone.advance(state, torch.tensor([[symbol]]))
            logits = alone.logits(state.features)[0, 0].clone()
            logits[sequence[:position]] = float("-inf")
            steps.append(torch.log_softmax(logits, -1)[[*sequence, 5][position]])
        torch.testing.assert_close(scores.steps[row, : len(steps)], torch.stack(steps), atol=1e-5, rtol=1e-5)
        assert (scores.steps[row, len(steps) :] == 0).all()


def test_padding_beyond_the_longest_sequence_changes_nothing(world: World) -> None:
    policy = world(labels=5, documents=2)
    labels = torch.tensor([[3, 1], [7, 7]])
    wide = torch.nn.functional.pad(labels, (0, 4), value=7)
    short, long = score_sequences(policy, labels), score_sequences(policy, wide)
    assert long.steps.shape == (2, 7)
    torch.testing.assert_close(long.steps[:, :3], short.steps)
    assert long.steps[:, 3:].abs().sum() == 0


def test_documents_without_labels_score_their_eos(world: World) -> None:
    policy = world(labels=3, documents=2)
    none = score_sequences(policy, torch.empty(2, 0, dtype=torch.long))
    padded = score_sequences(policy, torch.full((2, 2), 5))
    assert none.steps.shape == (2, 1)
    torch.testing.assert_close(none.log_prob, padded.log_prob)
    assert (none.log_prob < 0).all()


def test_a_repeated_label_is_impossible(world: World) -> None:
    scores = score_sequences(world(labels=3, documents=1), torch.tensor([[1, 1]]))
    assert scores.log_prob.tolist() == [float("-inf")]


def test_without_an_order_every_label_left_is_right(table: Any) -> None:
    policy = table(
        3,
        {
            (): (0.1, 0.2, 0.3, 0.4),
            (2,): (0.25, 0.25, 0.3, 0.2),
            (2, 0): (0.5, 0.1, 0.2, 0.3),
        },
        documents=3,
    )
    gold = torch.tensor([[True, False, True], [False, False, False], [False, False, True]])
    found = score_sets(policy, gold)
    # {0, 2}: 0.1 + 0.3 are right, 2 the likelier; then 0 out of 0.25, 0.25, 0.2; then eos out of 0.1, 0.3.
    # {}: eos alone is right. {2}: 0.3, then eos out of 0.25, 0.25, 0.2.
    expected = [[0.4, 0.25 / 0.7, 0.75], [0.4, 1.0, 1.0], [0.3, 0.2 / 0.7, 1.0]]
    torch.testing.assert_close(found.steps.exp(), torch.tensor(expected))
    assert found.labels.tolist() == [[2, 0], [5, 5], [2, 5]]
    assert found.lengths.tolist() == [2, 0, 1]


def test_without_an_order_a_single_label_counts_as_with_one(world: World) -> None:
    policy = world(labels=4, documents=4, dtype=torch.float64)
    gold = torch.eye(4, dtype=torch.bool)
    labels = torch.arange(4)[:, None]
    free, ordered = score_sets(policy, gold).log_prob, score_sequences(policy, labels).log_prob
    torch.testing.assert_close(free, ordered)
    weights = list(policy.decoder.parameters())
    pairs = zip(
        torch.autograd.grad(free.sum(), weights, retain_graph=True),
        torch.autograd.grad(ordered.sum(), weights),
        strict=True,
    )
    for ours, theirs in pairs:
        torch.testing.assert_close(ours, theirs)


def test_without_an_order_whole_sets_come_out(world: World) -> None:
    policy = world(labels=6, documents=10, seed=3)
    gold = torch.rand(10, 6, generator=torch.Generator().manual_seed(0)) < 0.4
    found = score_sets(policy, gold)
    assert torch.equal(found.masks(6), gold)
    assert torch.isfinite(found.log_prob).all()
    assert (found.log_prob >= score_sequences(policy, found.labels).log_prob - 1e-5).all()
