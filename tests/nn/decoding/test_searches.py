from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opened import Found, decode_greedily, search_beam, search_set_beam

from seq2set.core.errors import InputError
from seq2set.nn.decoder import DecoderPolicy
from seq2set.nn.decoding import rollout as rows
from seq2set.nn.decoding.rollout import Rollout, roll_out_greedily, sample
from seq2set.nn.decoding.teacher_forcing import score_sequences

World = Callable[..., DecoderPolicy]

SEARCHES: dict[str, Callable[[DecoderPolicy], Rollout | Found]] = {
    "greedy": roll_out_greedily,
    "greedy by rows": decode_greedily,
    "sample": lambda policy: sample(policy, samples=4, generator=torch.Generator().manual_seed(1)),
    "beam": lambda policy: search_beam(policy, width=4),
    "set beam": lambda policy: search_set_beam(policy, width=4),
}


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("name", SEARCHES)
@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    labels=st.integers(1, 7), documents=st.integers(1, 5), seed=st.integers(0, 999), layers=st.integers(1, 2)
)
def test_no_label_twice_and_nothing_but_labels(
    world: World, name: str, labels: int, documents: int, seed: int, layers: int
) -> None:
    policy = world(labels, documents, seed=seed, sharpness=3.0, layers=layers)
    found = SEARCHES[name](policy)
    flat = found.labels if found.labels.dim() == 2 else found.labels.flatten(0, 1)
    for sequence, length in zip(flat, found.lengths.flatten(), strict=True):
        emitted = sequence[: int(length)].tolist()
        assert len(set(emitted)) == len(emitted)
        assert all(0 <= label < labels for label in emitted)
        assert (sequence[int(length) :] == labels + 2).all()  # pad
    assert torch.equal(found.masks(labels).sum(-1), found.lengths)


@pytest.mark.parametrize("name", SEARCHES)
def test_log_prob_is_that_of_the_sequence_with_its_eos(world: World, name: str) -> None:
    policy = world(labels=5, documents=6, sources=(3, 2))
    found = SEARCHES[name](policy)
    real = ~found.log_prob.isneginf()
    scored = score_sequences(policy, found.labels).log_prob
    torch.testing.assert_close(found.log_prob[real], scored[real], atol=1e-5, rtol=1e-5)
    assert (found.log_prob[real] < 0).all()


@pytest.mark.parametrize("name", ["greedy", "greedy by rows", "beam", "set beam"])
def test_a_document_decodes_alone_as_in_a_batch(world: World, name: str) -> None:
    policy = world(labels=6, documents=9, seed=4)
    together = SEARCHES[name](policy)
    assert len(set(together.lengths.view(9, -1)[:, 0].tolist())) > 2  # documents end at different steps
    for number in range(9):
        alone = SEARCHES[name](policy.select(torch.tensor([number])))
        width = alone.labels.shape[-1]
        assert torch.equal(alone.labels[0], together.labels[number][..., :width])
        torch.testing.assert_close(alone.log_prob[0], together.log_prob[number], atol=1e-5, rtol=1e-5)


def test_rows_that_leave_change_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = world(labels=6, documents=9, seed=4)
    leaving = roll_out_greedily(policy)
    monkeypatch.setattr(rows, "is_worth_leaving", lambda live, rows: False)
    staying = roll_out_greedily(policy)
    assert torch.equal(leaving.labels, staying.labels)
    torch.testing.assert_close(leaving.log_prob, staying.log_prob, atol=1e-5, rtol=1e-5)


def test_greedy_takes_the_likeliest_each_time(table: Any) -> None:
    # After nothing: label 1; after 1: label 0, masked label 1 counting for nothing; after both: only eos.
    policy = table(2, {(): (0.3, 0.5, 0.2), (1,): (0.3, 0.6, 0.1), (1, 0): (0.5, 0.25, 0.25)})
    found = roll_out_greedily(policy)
    assert found.labels.tolist() == decode_greedily(policy).labels.tolist() == [[1, 0]]
    # 0.5, then 0.3 / (0.3 + 0.1) = 0.75, then 1
    torch.testing.assert_close(found.steps.exp(), torch.tensor([[0.5, 0.75, 1.0]]))
    torch.testing.assert_close(found.log_prob, torch.tensor([0.375]).log())


def test_an_eos_that_a_limit_forces_counts_nothing(table: Any) -> None:
    # The model gives eos 0.1 / (0.3 + 0.1) = 0.25 after 1, but at the limit nothing else can come.
    policy = table(2, {(): (0.3, 0.5, 0.2), (1,): (0.3, 0.6, 0.1)})
    torch.testing.assert_close(roll_out_greedily(policy, max_steps=1).steps.exp(), torch.tensor([[0.5, 1.0]]))
    assert decode_greedily(policy, max_steps=1).log_prob.exp().tolist() == [0.5]
    many = sample(policy, samples=50, max_steps=1, generator=generator())
    assert many.lengths.max() == 1
    scored = score_sequences(policy, many.labels, max_steps=1)
    torch.testing.assert_close(many.log_prob, scored.log_prob)
    # [], [0], [1], and [0, 1], which is too long
    every = torch.tensor([[[4, 4], [0, 4], [1, 4], [0, 1]]])
    chances = score_sequences(policy, every, max_steps=1).log_prob.exp()
    torch.testing.assert_close(chances, torch.tensor([[0.2, 0.3, 0.5, 0.0]]))


@pytest.mark.parametrize("limit", [1, 2, 3, 4, None])
def test_the_probabilities_of_all_that_a_limit_allows_sum_to_one(world: World, limit: int | None) -> None:
    policy = world(labels=4, documents=5, seed=3, dtype=torch.float64)
    orders = [order for size in range(5) for order in itertools.permutations(range(4), size)]
    every = torch.tensor([list(order) + [6] * (4 - len(order)) for order in orders]).expand(5, -1, -1)
    scored = score_sequences(policy, every, max_steps=limit).log_prob
    lengths = (every < 4).sum(-1)
    assert torch.equal(scored.isneginf(), lengths > (limit or 4))
    one = torch.ones(5, dtype=torch.float64)
    torch.testing.assert_close(scored.exp().sum(1), one, atol=1e-12, rtol=0)
    # As many places as there are sequences: a beam that drops none.
    beam = search_beam(policy, width=65, max_steps=limit).log_prob
    torch.testing.assert_close(beam.exp().sum(1), one, atol=1e-12, rtol=0)
    torch.testing.assert_close(beam, scored.sort(descending=True).values, atol=1e-10, rtol=0)
    # What was drawn is counted as it was drawn, alone and in a batch.
    drawn = sample(policy, samples=30, max_steps=limit, generator=generator())
    again = score_sequences(policy, drawn.labels, max_steps=limit)
    torch.testing.assert_close(drawn.steps, again.steps, atol=1e-12, rtol=0)
    best = roll_out_greedily(policy, max_steps=limit)
    again = score_sequences(policy, best.labels, max_steps=limit)
    torch.testing.assert_close(best.steps, again.steps, atol=1e-12, rtol=0)


def test_samples_have_the_frequencies_of_their_probabilities(world: World) -> None:
    policy = world(labels=2, documents=2, seed=8)
    found = sample(policy, samples=20_000, generator=generator())
    sequences = [[], [0], [1], [0, 1], [1, 0]]
    padded = torch.tensor([sequence + [4] * (2 - len(sequence)) for sequence in sequences])
    expected = score_sequences(policy, padded.expand(2, -1, -1)).log_prob.exp()
    torch.testing.assert_close(expected.sum(1), torch.ones(2))
    seen = (found.labels[:, :, None] == padded).all(-1).float().mean(1)
    # 20,000 draws: a share of 0.5 has a standard deviation of 0.0035.
    torch.testing.assert_close(seen, expected, atol=0.015, rtol=0.0)
    assert (expected > 0.03).sum() >= 6


def test_a_cold_policy_draws_what_is_likeliest(world: World) -> None:
    policy = world(labels=4, documents=5, seed=2)
    best = roll_out_greedily(policy)
    cold = sample(policy.temper(1e-4), samples=3, generator=generator())
    assert all(torch.equal(cold.labels[:, k], best.labels) for k in range(3))
    torch.testing.assert_close(cold.log_prob, torch.zeros(5, 3))


def test_a_generator_gives_the_same_samples_twice(world: World) -> None:
    policy = world(labels=4, documents=5)
    first, again, other = (sample(policy, samples=7, generator=generator(seed)) for seed in (1, 1, 2))
    assert torch.equal(first.labels, again.labels)
    assert first.labels.shape != other.labels.shape or not torch.equal(first.labels, other.labels)


def test_a_row_that_ends_early_is_finite_and_has_no_gradient_after_it(world: World) -> None:
    policy = world(labels=6, documents=12, seed=4)
    found = sample(policy, samples=3, generator=generator())
    place = torch.arange(found.steps.shape[-1])
    after = place > found.lengths[..., None]
    assert after.any()
    assert (found.steps[after] == 0).all()
    assert torch.isfinite(found.steps).all()
    weights = list(policy.decoder.parameters())
    late = torch.autograd.grad(found.steps[after].sum(), weights, retain_graph=True)
    assert all((grad == 0).all() for grad in late)
    live = torch.autograd.grad(found.log_prob.sum(), weights)
    assert all(torch.isfinite(grad).all() for grad in live)
    assert sum(grad.abs().sum() for grad in live) > 0


def test_sampling_and_scoring_have_the_same_gradient(world: World) -> None:
    policy = world(labels=5, documents=6, dtype=torch.float64)
    found = sample(policy, samples=3, generator=generator())
    weights = list(policy.decoder.parameters())
    pull = torch.linspace(-1, 1, found.log_prob.numel(), dtype=torch.float64).view_as(found.log_prob)
    sampled = torch.autograd.grad((found.log_prob * pull).sum(), weights, retain_graph=True)
    scored = torch.autograd.grad((score_sequences(policy, found.labels).log_prob * pull).sum(), weights)
    for ours, theirs in zip(sampled, scored, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_states_up_to_and_including_eos_can_be_attended_to(world: World) -> None:
    policy = world(labels=5, documents=7)
    found = roll_out_greedily(policy, keep_states=True)
    assert found.source.mask.sum(1).tolist() == (found.lengths + 1).tolist()
    assert found.source.values.shape == (7, found.labels.shape[1] + 1, 6)
    for number, length in itertools.product(range(7), range(1)):
        state = policy.advance(policy.start(), torch.full((7, 1), 6))  # bos
        torch.testing.assert_close(found.source.values[number, length], state.output[number, 0])
    beyond = found.source.values[~found.source.mask]
    assert len(beyond) > 0
    assert beyond.abs().max() == 0


@pytest.mark.parametrize(
    ("search", "options", "text"),
    [
        (sample, {"samples": 0}, "^samples is 0; it must be >= 1$"),
        (decode_greedily, {"max_steps": 0}, "^max_steps is 0; it must be >= 1$"),
        (roll_out_greedily, {"max_steps": 0}, "^max_steps is 0; it must be >= 1$"),
        (search_beam, {"width": 0}, "^width is 0; a beam must be >= 1 wide$"),
        (search_set_beam, {"width": -2}, "^width is -2; a beam must be >= 1 wide$"),
    ],
)
def test_impossible_options_are_refused(
    world: World, search: Callable[..., object], options: dict[str, Any], text: str
) -> None:
    with pytest.raises(InputError, match=text):
        search(world(), **options)


def test_states_that_were_not_kept_are_missed(world: World) -> None:
    with pytest.raises(InputError, match="^this rollout has no states; ask the search to keep them"):
        _ = roll_out_greedily(world()).source
