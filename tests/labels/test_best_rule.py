"""The best rules of all kinds, against hand-worked cases and against trying everything."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from seq2set.config import catalog
from seq2set.config.catalog import Metric, is_better, list_tunable
from seq2set.core.errors import InputError, UnknownNameError
from seq2set.labels.best_rule import LEAST, can_tune, choose_kind, find_best_rule, score_rule
from seq2set.labels.label_thresholds import LabelChoice, find_label_thresholds
from seq2set.labels.metrics import Counts, CutTotals
from seq2set.labels.rules import RULES, Rule, make_global_rule, make_label_rule, make_top_rule
from seq2set.labels.thresholds import find_threshold
from seq2set.models.predictions import withhold_scores

METRICS = tuple(list_tunable())
SUPPORTED = [name for name in METRICS if can_tune("per-label", name)]
NOTHING = float(np.nextafter(np.float32(1), np.float32(2)))
# Two labels on different scales: the first is right from 0.8 on, the second from 0.2 on.
SCORES = np.array([[0.9, 0.3], [0.8, 0.1], [0.6, 0.2], [0.5, 0.05]], np.float32)
RIGHT = np.array([[1, 1], [1, 0], [0, 1], [0, 0]], bool)


def reached(rule: Rule, scores: np.ndarray, right: np.ndarray, metric: str) -> float:
    return Counts.of(rule.decide(scores), right).metrics()[metric]


def test_each_label_gets_its_own_scale() -> None:
    # Right below 0.8 is halfway to 0.6, right below 0.2 is halfway to 0.1.
    for metric in SUPPORTED:
        found = find_best_rule("per-label", SCORES, RIGHT, metric, least=1)
        assert found.rule.thresholds == pytest.approx((0.7, 0.15))
        assert found.score == (0.0 if metric == "hamming_loss" else 1.0)
        assert found.rare == 0


def test_one_threshold_cannot_do_both() -> None:
    # Down to 0.8: 2 TP of 2 given, 4/6. Down to 0.2 or 0.3 all of the first label's four come along:
    # 0.3 gives 5 with 3 right, 6/9; 0.2 gives 6 with 4 right, 8/10.
    found = find_best_rule("global", SCORES, RIGHT, "micro_f1")
    assert found.rule.kind == "global"
    assert found.rule.thresholds == (pytest.approx(0.15),)
    assert found.score == pytest.approx(0.8)


def test_how_many_are_best() -> None:
    # The best label of each is the first one: 2 TP of 4 given, 4/8; both: 4 TP of 8 given, 8/12.
    found = find_best_rule("top-k", SCORES, RIGHT, "micro_f1")
    assert (found.rule, found.score) == (make_top_rule(2), pytest.approx(2 / 3))
    # One label: 1 of 4 sets is exact (the second); both: 1 of 4 (the first). Of equals, the fewer.
    found = find_best_rule("top-k", SCORES, RIGHT, "subset_accuracy")
    assert (found.rule, found.score) == (make_top_rule(1), 0.25)
    # Cells that are wrong: of one label 2 + 2 of 8, of both 4 of 8.
    assert find_best_rule("top-k", SCORES, RIGHT, "hamming_loss").rule == make_top_rule(1)


def test_labels_that_are_too_rare_share_the_global_threshold() -> None:
    # Only two documents have each label.
    found = find_best_rule("per-label", SCORES, RIGHT, "micro_f1", least=3)
    assert found.rule.thresholds == pytest.approx((0.15, 0.15))
    assert found.rare == 2
    found = find_best_rule("per-label", np.tile(SCORES, (2, 1)), np.tile(RIGHT, (2, 1)), "micro_f1")
    assert (found.rare, LEAST) == (2, 5)  # now four have it: still fewer than five
    found = find_best_rule("per-label", np.tile(SCORES, (3, 1)), np.tile(RIGHT, (3, 1)), "micro_f1")
    assert found.rare == 0


def test_micro_f1_gives_up_a_label_that_costs_more_than_it_brings() -> None:
    # The second label's one true document is its worst: reaching it costs three wrong ones.
    # Without it 6 TP are right of 6 given and 7 true, 12/13; with it all 7, of 10 given: 14/17.
    scores = np.array([[0.9, 0.4], [0.9, 0.3], [0.9, 0.2], [0.9, 0.1], [0.9, 0.0], [0.9, 0.0]], np.float32)
    right = np.array([[1, 0], [1, 0], [1, 0], [1, 1], [1, 0], [1, 0]], bool)
    found = find_best_rule("per-label", scores, right, "micro_f1", least=1)
    assert found.score == pytest.approx(12 / 13)
    assert found.rule.thresholds[1] > 0.4
    # For macro-F1 the label counts on its own: 2 * 1 / (4 + 1) is better than nothing.
    found = find_best_rule("per-label", scores, right, "macro_f1", least=1)
    assert found.score == pytest.approx((1 + 2 / 5) / 2)
    assert found.rule.thresholds[1] == pytest.approx(0.05)


def test_micro_f1_rises_until_no_label_is_too_dear() -> None:
    # Ten documents. The first label's true one is its tenth best, the second's its third best, the third's
    # three are its best three. All that is right: 2 * 5 / (16 + 5) = 0.48, too much to pay ten times for the
    # first label. Without it: 2 * 4 / (6 + 5) = 0.73, now too much to pay three times for the second one.
    # Without both: 2 * 3 / (3 + 5) = 0.75, and the third label is worth its price.
    ranked = np.linspace(0.9, 0.45, 10, dtype=np.float32)
    right = np.zeros((10, 3), bool)
    right[9, 0] = right[2, 1] = right[:3, 2] = True
    found = find_best_rule("per-label", np.stack([ranked] * 3, axis=1), right, "micro_f1", least=1)
    assert found.score == pytest.approx(0.75)
    assert found.rule.thresholds == pytest.approx((0.9, 0.9, 0.775), abs=1e-6)


def test_a_label_is_looked_at_again_when_another_has_moved() -> None:
    # Nothing is given at first. The first label alone makes no document right; the second makes the second
    # document right (and gives the first document half of what it needs); then the first label, from a
    # threshold between 0.1 and 0.2 on, makes the first document right as well.
    scores = np.array([[0.2, 0.3], [0.1, 0.3]], np.float32)
    right = np.array([[True, True], [False, True]])
    found = find_label_thresholds(scores, right, "subset_accuracy", 0.9, np.arange(2))
    assert 0.1 < found[0] <= np.float32(0.2)
    assert found[1] <= np.float32(0.3)


def test_the_best_kind_is_the_simplest_that_serves() -> None:
    # Every document has as many labels as any other, and the two best are right: all else fails on it.
    draw = np.random.default_rng(1)
    scale = draw.uniform(0.1, 1, (60, 1))
    scores = np.clip(draw.uniform(0, 0.5, (60, 6)) + 0.5 * (np.arange(6) < 2), 0, 1) * scale
    scores = draw.permuted(scores, axis=1).astype(np.float32)
    right = make_top_rule(2).decide(scores)
    found = find_best_rule("best", scores, right, "micro_f1")
    assert (found.rule, found.score) == (make_top_rule(2), 1.0)
    assert found.held_out is not None
    assert found.held_out["top-k"] == 1.0
    assert max(found.held_out["global"], found.held_out["per-label"]) < 1
    # Where one threshold does it, one threshold is taken, though thresholds for each label are as good.
    found = find_best_rule("best", scores, scores >= 0.5, "micro_f1")
    assert found.rule.kind == "global"


def test_chance_does_not_win() -> None:
    # Scores that know nothing: on the very documents thresholds of their own win, on others they do not.
    draw = np.random.default_rng(2)
    scores, right = draw.random((100, 20), np.float32), draw.random((100, 20)) < 0.2
    own, one = (find_best_rule(kind, scores, right, "micro_f1") for kind in ("per-label", "global"))
    assert own.score > one.score
    found = find_best_rule("best", scores, right, "micro_f1")
    assert found.rule == one.rule
    assert found.held_out is not None
    assert found.held_out["per-label"] < found.held_out["global"]


def test_own_thresholds_win_where_scales_really_differ() -> None:
    draw = np.random.default_rng(3)
    right = draw.random((100, 3)) < 0.4
    scores = ((right + draw.random((100, 3))) / 2 * [1.0, 0.3, 0.05]).astype(np.float32)
    assert find_best_rule("best", scores, right, "micro_f1").rule.kind == "per-label"
    assert find_best_rule("best", scores, right, "hamming_loss").rule.kind == "per-label"


@pytest.mark.parametrize("metric", SUPPORTED)
def test_a_single_document_and_no_label_at_all(metric: str) -> None:
    found = find_best_rule("best", SCORES[:1], RIGHT[:1], metric)
    assert found.score == (0.0 if metric == "hamming_loss" else 1.0)
    nothing = find_best_rule("per-label", SCORES, np.zeros((4, 2)), metric)
    assert not nothing.rule.decide(SCORES).any()
    assert nothing.rare == 2


VALUES = [0.0, 0.25, 0.5, 1.0]
SMALL = st.tuples(st.integers(1, 5), st.integers(2, 3)).flatmap(
    lambda shape: st.tuples(
        arrays(np.float32, shape, elements=st.sampled_from(VALUES)), arrays(np.bool_, shape)
    )
)


def choices(right: np.ndarray, shared: float) -> list[list[float]]:
    """Each label's thresholds that give different sets; one that is never right has the shared one."""
    above = float(np.nextafter(np.float32(1), np.float32(2)))
    return [[*VALUES, above] if column.any() else [shared] for column in right.T]


@settings(max_examples=40, deadline=None)
@given(SMALL, st.sampled_from(["micro_f1", "macro_f1", "hamming_loss"]))
def test_no_thresholds_are_better(case: tuple[np.ndarray, np.ndarray], metric: str) -> None:
    scores, right = case
    found = find_best_rule("per-label", scores, right, metric, least=1)
    shared = find_best_rule("global", scores, right, metric).rule.thresholds[0]
    rules = [make_label_rule(list(one)) for one in itertools.product(*choices(right, shared))]
    everything = [reached(rule, scores, right, metric) for rule in rules]
    best = min(everything) if metric == "hamming_loss" else max(everything)
    assert found.score == pytest.approx(best, abs=1e-12)
    assert found.score == reached(found.rule, scores, right, metric)


@settings(max_examples=40, deadline=None)
@given(SMALL, st.sampled_from(["example_f1", "subset_accuracy"]))
def test_no_single_label_can_do_better(case: tuple[np.ndarray, np.ndarray], metric: str) -> None:
    scores, right = case
    found = find_best_rule("per-label", scores, right, metric, least=1)
    shared = find_best_rule("global", scores, right, metric)
    assert found.score >= shared.score - 1e-12
    for label, thresholds in enumerate(choices(right, shared.rule.thresholds[0])):
        for threshold in thresholds:
            moved = np.array(found.rule.thresholds)
            moved[label] = threshold
            assert reached(make_label_rule(moved), scores, right, metric) <= found.score + 1e-8


@settings(max_examples=40, deadline=None)
@given(SMALL, st.sampled_from(METRICS))
def test_no_other_number_is_better(case: tuple[np.ndarray, np.ndarray], metric: str) -> None:
    scores, right = case
    found = find_best_rule("top-k", scores, right, metric)
    everything = [reached(make_top_rule(k), scores, right, metric) for k in range(1, right.shape[1] + 1)]
    assert found.score == pytest.approx(everything[found.rule.k - 1], abs=1e-12)
    assert not any(is_better(value, found.score, metric) for value in everything)
    assert all(is_better(found.score, value, metric) for value in everything[: found.rule.k - 1])


def test_the_number_is_that_of_the_texts_that_are_given_labels() -> None:
    # Texts of one label each, which is the best; the others have two, and nothing is given to them.
    scores = np.array([[0.9, 0.8, 0.1]] * 3 + [[-np.inf] * 3] * 3, np.float32)
    right = np.array([[1, 0, 0]] * 3 + [[1, 1, 0]] * 3, bool)
    found = find_best_rule("top-k", scores, right, "micro_f1")
    # 3 right of 3 given, and 9 in all; with two labels each 3 of 6. Given to all: 6 of 6, and 9 of 12.
    assert (found.rule, found.score) == (make_top_rule(1), 2 * 3 / (3 + 9))
    assert found.held_out == {"top-k": 2 * 3 / (3 + 9)}
    assert find_best_rule("top-k", np.nan_to_num(scores, neginf=0), right, "micro_f1").rule == make_top_rule(
        2
    )


@settings(max_examples=60, deadline=None)
@given(SMALL, st.sampled_from(METRICS), st.sampled_from(["global", "top-k", "per-label"]), st.data())
def test_a_rule_is_the_best_where_some_texts_are_given_nothing(
    case: tuple[np.ndarray, np.ndarray], metric: str, kind: str, data: st.DataObject
) -> None:
    assume(can_tune(kind, metric))
    scores, right = case
    known = np.array(data.draw(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores))))
    withheld = withhold_scores(scores, known)
    found = find_best_rule(kind, withheld, right, metric, least=1)

    def given_to_known(rule: Rule) -> float:
        return Counts.of(rule.decide(scores) & known[:, None], right).metrics()[metric]

    assert found.score == pytest.approx(given_to_known(found.rule), abs=1e-12)
    shared = find_best_rule("global", withheld, right, metric).rule.thresholds[0]
    others = {
        "global": [make_global_rule(one) for one in (*VALUES, NOTHING)],
        "top-k": [make_top_rule(k) for k in range(1, right.shape[1] + 1)],
        "per-label": [
            make_label_rule(list(one)) for one in itertools.product(*choices(right & known[:, None], shared))
        ],
    }
    if kind == "per-label" and metric in ("example_f1", "subset_accuracy"):  # climbed, not always the best
        return
    best = [round(given_to_known(one), 9) for one in others[kind]]
    assert not any(is_better(one, round(found.score, 9), metric) for one in best)


def test_what_cannot_be_tuned() -> None:
    with pytest.raises(UnknownNameError, match="kind 'perlabel' is not known, did you mean 'per-label'?"):
        find_best_rule("perlabel", SCORES, RIGHT, "micro_f1")
    with pytest.raises(UnknownNameError, match="metric 'f1' is not known"):
        find_best_rule("top-k", SCORES, RIGHT, "f1")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"scores have the shape \(4, 2\) and labels \(3, 2\)"):
        find_best_rule("best", SCORES, RIGHT[:3], "micro_f1")


@pytest.mark.parametrize("metric", ["micro_f1", "macro_f1", "example_f1", "hamming_loss", "subset_accuracy"])
@pytest.mark.parametrize("kind", ["global", "top-k", "per-label"])
def test_a_rule_is_the_best_with_the_labels_that_nobody_can_give(kind, metric):
    draw = np.random.default_rng(6)
    scores = draw.random((6, 2)).astype(np.float32)
    actual = draw.random((6, 4)) < 0.6  # the last two labels are unknown to the model
    found = find_best_rule(kind, scores, actual, metric, least=1)
    padded = np.pad(found.rule.decide(scores), ((0, 0), (0, 2)))
    assert found.score == pytest.approx(Counts.of(padded, actual).metrics()[metric])
    values = [*np.unique(scores).tolist(), NOTHING]
    rules = {
        "global": [make_global_rule(value) for value in values],
        "top-k": [make_top_rule(1), make_top_rule(2)],
        "per-label": [make_label_rule([one, other]) for one in values for other in values],
    }[kind]
    tried = [Counts.of(np.pad(r.decide(scores), ((0, 0), (0, 2))), actual).metrics()[metric] for r in rules]
    best = min(tried) if metric == "hamming_loss" else max(tried)
    if kind == "per-label" and metric in ("example_f1", "subset_accuracy"):
        assert found.score <= best  # climbed one label at a time
    else:
        assert found.score == pytest.approx(best)


def count_per_document(counts):
    return counts.predicted_total / counts.documents


def test_thresholds_per_label_are_refused_for_a_metric_that_they_cannot_be_found_for(monkeypatch):
    row = Metric("labels", "labels per document", f"{__name__}:count_per_document", tunable=True)
    monkeypatch.setitem(catalog.METRICS, "labels", row)
    scores, right = np.array([[0.9, 0.1], [0.8, 0.4]], np.float32), np.array([[1, 0], [1, 1]])
    with pytest.raises(
        InputError, match="metric is 'labels'; thresholds per label can be tuned for hamming_loss, "
    ):
        find_best_rule("per-label", scores, right, "labels")
    # The best of the other kinds: all labels of each text.
    assert find_best_rule("best", scores, right, "labels").held_out.keys() == {
        "global",
        "top-k",
        "expected-f1",
    }


def give_most(choice: LabelChoice) -> np.ndarray:
    return choice.take(len(cuts.values) - 1 for cuts in choice.cuts.values())


def count_given(counts: Counts | CutTotals):
    return counts.predicted_total / counts.decisions


def test_a_metric_brings_its_own_thresholds(monkeypatch):
    row = Metric("given", "share of labels given", f"{__name__}:count_given", tunable=True, of_totals=True)
    row = row._replace(label_thresholds=f"{__name__}:give_most")
    monkeypatch.setitem(catalog.METRICS, "labels", row)
    # Lowest right scores: 0.8 of the first label, 0.1 of the second, and nothing is below either but 0.6.
    scores = np.array([[0.9, 0.1], [0.8, 0.4], [0.6, 0.3]], np.float32)
    right = np.array([[1, 1], [1, 0], [0, 0]], bool)
    found = find_best_rule("per-label", scores, right, "labels", least=1)
    assert found.rule.thresholds == pytest.approx((0.7, 0.1))
    # Two labels of the first, three of the second, of six.
    assert found.score == pytest.approx(5 / 6)
    # One threshold for both: 0.1, at which all six are given.
    shared = find_threshold(scores, right, "labels")
    assert shared == pytest.approx((0.1, 1.0))
    assert "per-label" in find_best_rule("best", scores, right, "labels").held_out


def test_thresholds_by_frequency_are_probabilities() -> None:
    # Log odds of 0.9 and 0.1 are 2.2 and -2.2: as in the tests of `rare_labels`, on the scale of scores.
    scores = np.full((16, 2), 0.01, np.float32)
    scores[:, 0] = [0.9] * 8 + [0.3] * 8
    scores[0, 1], scores[15] = 0.1, -np.inf
    right = np.zeros((16, 2), bool)
    right[:8, 0] = right[0, 1] = True
    found = find_best_rule("per-frequency", scores, right, "micro_f1", frequencies=(8, 1))
    assert (found.rule.kind, found.kind, found.score) == ("per-label", "per-frequency", 1.0)
    first, second = found.rule.thresholds
    assert 0.3 < first < 0.9
    assert 0.01 < second < 0.1


def test_balanced_takes_macro_f1_where_the_metric_loses_nothing() -> None:
    reached = {
        "global": {"micro_f1": 0.6, "macro_f1": 0.4},
        "top-k": {"micro_f1": 0.7, "macro_f1": 0.45},
        "per-label": {"micro_f1": 0.6, "macro_f1": 0.5},
        "per-frequency": {"micro_f1": 0.59, "macro_f1": 0.6},
    }
    assert choose_kind(reached, "micro_f1", balanced=True) == "per-label"
    assert choose_kind(reached, "micro_f1", balanced=False) == "top-k"
    losses = {
        "global": {"hamming_loss": 0.1, "macro_f1": 0.4},
        "top-k": {"hamming_loss": 0.2, "macro_f1": 0.5},
    }
    assert choose_kind(losses, "hamming_loss", balanced=True) == "global"


def test_documents_of_a_group_are_held_out_together() -> None:
    """Four copies of every document: thresholds per label learn by heart what is held out, unless told."""
    draw = np.random.default_rng(3)
    right = np.repeat(draw.random((30, 12)) < 0.25, 4, axis=0)
    margins = np.repeat(draw.normal(size=(30, 12)), 4, axis=0) + 1.2 * right - 0.8
    scores = (1 / (1 + np.exp(-margins))).astype(np.float32)
    groups = [f"group {place // 4}" for place in range(120)]
    alone = find_best_rule("best", scores, right, "micro_f1")
    found = find_best_rule("best", scores, right, "micro_f1", groups=groups)
    assert (alone.kind, found.kind) == ("per-label", "global")
    # Every fifth group is held out at a time, in the order in which they come.
    fold, given = np.arange(120) // 4 % 5, np.zeros(right.shape, bool)
    for held in (fold == number for number in range(5)):
        threshold = find_threshold(scores[~held], right[~held], "micro_f1").value
        given[held] = scores[held] >= threshold
    expected = Counts.of(given, right).metrics()["micro_f1"]
    assert found.held_out["global"] == expected
    assert score_rule(found.rule, scores, right, "micro_f1", groups=groups) == expected
    assert alone.held_out["per-label"] > found.held_out["per-label"] + 0.1
    # Groups of one document, or one group of all, are as if there were none.
    for same in ([str(place) for place in range(120)], ["one"] * 120):
        assert find_best_rule("best", scores, right, "micro_f1", groups=same) == alone


def test_every_kind_is_tried_where_frequencies_are_known() -> None:
    scores, right = np.tile(SCORES, (5, 1)), np.tile(RIGHT, (5, 1))
    for kind in ("best", "balanced"):
        found = find_best_rule(kind, scores, right, "micro_f1", frequencies=(2, 2))
        assert list(found.held_out) == [*RULES, "per-frequency"] == list(found.macro_f1)
        assert (found.kind, found.rule.kind) == ("per-label", "per-label")
    assert "per-frequency" not in find_best_rule("best", scores, right, "micro_f1").held_out
