from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from seq2set.models.linear.scorer import LinearScorer

FEATURES = csr_matrix(np.array([[1.0, 0.0], [0.5, 2.0]], np.float32))


def test_a_margin_is_the_weighed_features_and_the_bias() -> None:
    scorer = LinearScorer(np.array([[2, -1], [1, 3]], np.float32), np.array([0.5, -0.5], np.float32))
    # (1, 0): 2 + 0.5 and -1 - 0.5; (0.5, 2): 0.5 * 2 + 2 * 1 + 0.5 and 0.5 * -1 + 2 * 3 - 0.5
    assert scorer.margins(FEATURES).tolist() == [[2.5, -1.5], [3.5, 5.0]]


def test_labels_without_weights_have_their_bias_alone() -> None:
    scorer = LinearScorer(np.array([[2], [1]], np.float32), np.array([0.5, -3, -4], np.float32))
    margins = scorer.margins(FEATURES)
    assert margins.tolist() == [[2.5, -3, -4], [3.5, -3, -4]]
    assert margins.dtype == np.float32
