from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2set.config.catalog import REWARDS
from seq2set.core.errors import UnknownNameError
from seq2set.nn.decoding.rollout import mark_labels
from seq2set.objectives.rewards import (
    RunningF1,
    f1,
    get_reward,
    hamming,
    jaccard,
    micro_f1,
    subset_accuracy,
    sum_sets,
)

LABELS = 6
sets = st.sets(st.integers(0, LABELS - 1))


def mask(labels: set[int]) -> torch.Tensor:
    return torch.tensor([label in labels for label in range(LABELS)])


def by_sets(name: str, predicted: set[int], actual: set[int]) -> float:
    """The rewards written down once more, on Python's sets."""
    common, union = len(predicted & actual), len(predicted | actual)
    return {
        "f1": 2 * common / (len(predicted) + len(actual)) if union else 1.0,
        "jaccard": common / union if union else 1.0,
        "hamming": 1 - len(predicted ^ actual) / LABELS,
        "subset_accuracy": float(predicted == actual),
    }[name]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(sets, sets), min_size=1, max_size=8))
def test_rewards_are_those_of_the_sets(pairs: list[tuple[set[int], set[int]]]) -> None:
    predicted = torch.stack([mask(p) for p, _ in pairs])
    actual = torch.stack([mask(a) for _, a in pairs])
    for name in set(REWARDS) - {"micro_f1"}:
        expected = torch.tensor([by_sets(name, p, a) for p, a in pairs])
        torch.testing.assert_close(get_reward(name)(predicted, actual), expected)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(sets, sets), min_size=1, max_size=8))
def test_the_mean_of_micro_f1_is_the_micro_f1_of_all(pairs: list[tuple[set[int], set[int]]]) -> None:
    predicted = torch.stack([mask(p) for p, _ in pairs])
    actual = torch.stack([mask(a) for _, a in pairs])
    common, sizes = sum(len(p & a) for p, a in pairs), sum(len(p) + len(a) for p, a in pairs)
    expected = 2 * common / sizes if sizes else 0.0
    so_far = RunningF1(*sum_sets(predicted, actual).tolist())
    assert so_far.f1 == pytest.approx(expected, abs=1e-9)
    assert micro_f1(predicted, actual, so_far).mean().item() == pytest.approx(expected, abs=1e-5)


def test_values_worked_by_hand() -> None:
    predicted, actual = mask({0, 1, 2}), mask({2, 3})
    assert f1(predicted, actual).item() == pytest.approx(2 / 5)  # 2 x 1 / (3 + 2)
    assert jaccard(predicted, actual).item() == pytest.approx(1 / 4)  # {2} of {0, 1, 2, 3}
    assert hamming(predicted, actual).item() == pytest.approx(3 / 6)  # wrong: 0, 1, 3
    assert subset_accuracy(predicted, actual).item() == 0.0


def test_micro_f1_worked_by_hand() -> None:
    predicted = torch.stack([mask({0, 1}), mask({2}), mask(set())])
    actual = torch.stack([mask({0}), mask({2, 3}), mask(set())])
    assert sum_sets(predicted, actual).tolist() == [2, 3, 3, 3]
    # f = 2 (1 + 1) / (3 + 3) = 2/3, the mean of P + A is 2; then f + (2 TP - f (P + A)) / 2:
    # 2/3 + (2 - 2) / 2, the same again, and 2/3 + 0.
    so_far = RunningF1(2, 3, 3, 3)
    assert micro_f1(predicted, actual, so_far).tolist() == pytest.approx([2 / 3, 2 / 3, 2 / 3])
    # With {4} for the last: f = 4/7, the mean 7/3; 4/7 + (2 - 12/7) 3/7 twice, and 4/7 - (4/7) 3/7.
    predicted[2] = mask({4})
    so_far = RunningF1(2, 4, 3, 3)
    assert micro_f1(predicted, actual, so_far).tolist() == pytest.approx([34 / 49, 34 / 49, 16 / 49])
    # Nothing but one set of one label, half right, stands before the first batch: f = 1/2, the mean 2.
    assert micro_f1(predicted, actual).tolist() == pytest.approx([3 / 4, 3 / 4, 1 / 4])


def test_the_micro_f1_of_a_run_forgets_slowly() -> None:
    so_far = RunningF1().after(torch.tensor([3.0, 5.0, 7.0, 4.0]).double())
    # 0.98 of one half, one, one and one, and then what the batch adds
    assert so_far == pytest.approx((3.49, 5.98, 7.98, 4.98))
    assert so_far.f1 == pytest.approx(6.98 / 13.96)
    assert so_far.size == pytest.approx(13.96 / 4.98)


def test_sums_are_those_of_all_samples() -> None:
    predicted = torch.stack([torch.stack([mask({0}), mask({1})]), torch.stack([mask({2}), mask({2, 3})])])
    actual = torch.stack([mask({0, 5}), mask({2})])
    # right: 1 + 0 + 1 + 1; given: 1 + 1 + 1 + 2; actual, twice each: 2 x 2 + 2 x 1; four sets
    assert sum_sets(predicted, actual[:, None]).tolist() == [3, 5, 6, 4]


def test_micro_f1_does_not_depend_on_how_a_batch_is_divided() -> None:
    draw = torch.Generator().manual_seed(0)
    actual = torch.rand(64, 30, generator=draw) < 0.12
    kept = actual[:, None] & (torch.rand(64, 4, 30, generator=draw) < 0.6)
    predicted = kept | (torch.rand(64, 4, 30, generator=draw) < 0.05)
    so_far = RunningF1().after(sum_sets(predicted, actual[:, None]))
    whole = micro_f1(predicted, actual[:, None], so_far)
    for parts in (2, 4, 8, 16):
        pairs = zip(predicted.chunk(parts), actual.chunk(parts), strict=True)
        cut = torch.cat([micro_f1(one, other[:, None], so_far) for one, other in pairs])
        assert torch.equal(cut, whole)
        sums = [
            sum_sets(one, other)
            for one, other in zip(predicted.chunk(parts), actual[:, None].chunk(parts), strict=True)
        ]
        assert torch.equal(torch.stack(sums).sum(0), sum_sets(predicted, actual[:, None]))


def test_empty_sets() -> None:
    empty, other = mask(set()), mask({1})
    assert [f1(empty, empty).item(), f1(empty, other).item(), f1(other, empty).item()] == [1.0, 0.0, 0.0]
    assert [jaccard(empty, empty).item(), jaccard(empty, other).item()] == [1.0, 0.0]


@settings(max_examples=40, deadline=None)
@given(st.permutations(range(LABELS)), st.integers(0, LABELS), sets, st.randoms())
def test_the_order_of_labels_does_not_matter(
    order: list[int], length: int, actual: set[int], random: st.randoms
) -> None:
    shuffled = order[:length]
    random.shuffle(shuffled)
    padding = [LABELS + 2] * (LABELS - length)
    sequences = torch.tensor([order[:length] + padding, shuffled + padding])
    for reward in map(get_reward, REWARDS):
        first, second = reward(mark_labels(sequences, LABELS), mask(actual)).tolist()
        assert first == second


def test_samples_go_with_their_document() -> None:
    predicted = torch.stack([torch.stack([mask({0}), mask({1})]), torch.stack([mask({2}), mask({2, 3})])])
    actual = torch.stack([mask({0}), mask({2})])
    expected = torch.tensor([[1.0, 0.0], [1.0, 2 / 3]])
    torch.testing.assert_close(f1(predicted, actual[:, None]), expected)


def test_rewards_are_found_by_name() -> None:
    assert get_reward("jaccard") is get_reward("jaccard", RunningF1(2, 3, 3, 3)) is jaccard
    predicted, actual = mask({0, 1}), mask({0})
    told = get_reward("micro_f1", RunningF1(1, 2, 3, 2))
    # f = 2/5, the mean of P + A 5/2: 0.4 + (2 - 0.4 x 3) / 2.5
    assert told(predicted, actual).item() == pytest.approx(0.72)
    text = r"^reward 'jacard' is not known, did you mean 'jaccard'\?; known are: f1, hamming, jaccard, micro"
    with pytest.raises(UnknownNameError, match=text):
        get_reward("jacard")
