from __future__ import annotations

import json

import numpy as np
import pytest

from seq2set.core.errors import InputError, UnknownNameError
from seq2set.labels.confidence.acceptance import UNCALIBRATED, Acceptance, Confidence
from seq2set.labels.confidence.calibrators import (
    BoundedCalibrator,
    IsotonicCalibrator,
    LogisticCalibrator,
    Steps,
    read_calibrator,
)

PLATT = LogisticCalibrator({"logit": 2.0}, -1.0)
MARGIN = LogisticCalibrator({"log": 0.5, "score": 1.0, "margin_square": 2.0}, 0.25)
OFFSETS = LogisticCalibrator({"logit": 1.0}, 0.0, (0.0, np.log(3)))
LINES = IsotonicCalibrator(Steps((0.2, 0.6), (0.1, 0.5)), {1: Steps((0.2, 0.6), (0.3, 0.9))}, {1: 0.25})
BOUNDED = BoundedCalibrator(MARGIN, (0.5,), (0.25,))
OVER = IsotonicCalibrator(LINES.shared, first=PLATT)
EACH = [PLATT, MARGIN, OFFSETS, LINES, BOUNDED, OVER]


def reals(*rows: list[float]) -> np.ndarray:
    return np.array(rows, np.float32)


def test_a_logistic_calibrator_weighs_its_features() -> None:
    # odds of 0.8: 4; squared, through e: 16 / e = 5.886; 5.886 / 6.886
    assert PLATT(reals([0.8]))[0, 0] == pytest.approx(0.8547793, abs=1e-6)
    # 0.5 ln 0.5 + 0.5 + 2 x 1.5 x 0.25 + 0.25 = 1.1534264
    assert MARGIN(reals([0.5]), reals([1.5]))[0, 0] == pytest.approx(0.7601362, abs=1e-6)
    # odds of 0.5 and 0.5: 1, and three times 1
    assert OFFSETS(reals([0.5, 0.5]))[0].tolist() == pytest.approx([0.5, 0.75])
    assert OFFSETS(reals([0.5]), None, np.array([1]))[0, 0] == pytest.approx(0.75)


def test_a_label_with_a_line_of_its_own_mixes_it_with_the_shared_one() -> None:
    # at 0.4 the lines are at 0.3 and 0.6: 0.75 x 0.3 + 0.25 x 0.6 = 0.375; a thousandth is the score's
    found = LINES(reals([0.4, 0.4]))[0].tolist()
    assert found == pytest.approx([0.999 * 0.3 + 0.0004, 0.999 * 0.375 + 0.0004], abs=1e-6)
    assert LINES(reals([0.4]), None, np.array([1]))[0, 0] == pytest.approx(found[1])


def test_lines_can_be_over_what_another_calibrator_makes_of_scores() -> None:
    # odds of 0.6: 1.5; squared, through e: 0.8277; 0.4529: the line there is at 0.3529
    assert PLATT(reals([0.6]))[0, 0] == pytest.approx(0.4528728, abs=1e-6)
    assert OVER(reals([0.6]))[0, 0] == pytest.approx(0.999 * 0.3528728 + 0.0004529, abs=1e-6)
    assert not IsotonicCalibrator(LINES.shared, first=MARGIN).keeps_order
    with pytest.raises(InputError, match="2 offsets cannot calibrate 3 labels"):
        IsotonicCalibrator(LINES.shared, first=OFFSETS).refuse_misfit(3)


@pytest.mark.parametrize("calibrator", EACH)
def test_no_probability_is_0_or_1_and_what_is_read_back_is_the_same(calibrator) -> None:
    scores, margins = reals([0.0, 1.0], [1.0, 0.0], [-np.inf, 0.3]), reals([-9, 9], [99, -99], [0, 0])
    found = calibrator(scores, margins)
    assert ((found > 0) & (found < 1)).all()
    again = read_calibrator(json.loads(json.dumps(calibrator.to_dict())))
    assert np.array_equal(again(scores, margins), found)
    assert again.keeps_order == calibrator.keeps_order


def test_only_what_looks_at_the_score_alone_keeps_the_order() -> None:
    shared = IsotonicCalibrator(LINES.shared)
    assert [one.keeps_order for one in (*EACH, shared)] == [True, False, False, False, False, True, True]
    steps = np.linspace(0.001, 0.999, 500, dtype=np.float32)[None]
    assert (np.diff(PLATT(steps)) > 0).all()
    assert (np.diff(shared(steps)) > 0).all(), "where the line is flat, too"


def test_a_bounded_probability_does_not_cross_the_threshold() -> None:
    scores, margins = reals([0.7, 0.7, 0.4, 0.4]), reals([1, -9, 9, -9])
    inner, found = (one(scores, margins)[0] for one in (MARGIN, BOUNDED))
    assert found[[0, 3]].tolist() == inner[[0, 3]].tolist()
    assert inner[1] < found[1] == 0.25
    assert inner[2] > 0.25 > found[2] == pytest.approx(0.25)
    own = BoundedCalibrator(PLATT, (0.9, 0.2), (0.6, 0.5))
    # 0.8 is likely by itself, and below the first label's threshold, and above the second's
    assert own(reals([0.8, 0.8]))[0].tolist() == pytest.approx([0.6, 0.8547793])
    assert own(reals([0.3]), None, np.array([1]))[0, 0] == 0.5


def test_a_weight_below_0_turns_the_order_round() -> None:
    assert not LogisticCalibrator({"logit": -1.0}).keeps_order
    assert not LogisticCalibrator({"logit": 0.0}).keeps_order, "all scores become one"


def test_what_was_made_for_other_labels_is_refused() -> None:
    OFFSETS.refuse_misfit(2)
    with pytest.raises(InputError, match="2 offsets cannot calibrate 3 labels"):
        OFFSETS.refuse_misfit(3)
    with pytest.raises(InputError, match="2 thresholds cannot bound the scores of 3 labels"):
        BoundedCalibrator(PLATT, (0.5, 0.5), (0.5, 0.5)).refuse_misfit(3)
    with pytest.raises(InputError, match="2 offsets cannot calibrate 3 labels"):
        BoundedCalibrator(OFFSETS, (0.5,), (0.5,)).refuse_misfit(3)
    with pytest.raises(InputError, match="a line of label 1 cannot calibrate 1 labels"):
        LINES.refuse_misfit(1)
    accepted = Acceptance(0.95, 0.9, "marginal", (0.5, None))
    with pytest.raises(InputError, match="2 thresholds of acceptance cannot decide on 3 labels"):
        Confidence({}, accepted).refuse_misfit(3)
    with pytest.raises(UnknownNameError, match="feature 'logg' is not known, did you mean 'log'"):
        read_calibrator({"kind": "logistic", "weights": {"logg": 1.0}, "offset": 0.0})
    with pytest.raises(UnknownNameError, match="calibrator 'spline' is not known"):
        read_calibrator({"kind": "spline"})


def test_scores_of_a_search_without_a_calibrator_stay_as_they_are() -> None:
    scores = reals([0.8])
    confidence = Confidence({"marginal": PLATT}, Acceptance(0.95, 0.9, "marginal", (0.5,)))
    assert confidence.calibrate("beam", scores) is scores
    assert confidence.calibrate("marginal", scores)[0, 0] == pytest.approx(0.8547793, abs=1e-6)
    assert confidence.find_acceptance("beam") is None
    again = Confidence.from_dict(json.loads(json.dumps(confidence.to_dict())))
    assert again.to_dict() == confidence.to_dict()
    assert Confidence.from_dict(None) is UNCALIBRATED


def test_a_label_is_marked_by_its_own_threshold() -> None:
    accepted = Acceptance(0.95, 0.9, "marginal", (0.9, None))
    marks = [accepted.mark(*one) for one in ((0, 0.95), (0, 0.9), (0, 0.89), (1, 1.0))]
    assert marks == ["accept", "accept", "review", "review"]
