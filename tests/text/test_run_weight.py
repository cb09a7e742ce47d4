"""What runs of several words weigh beside single words."""

from __future__ import annotations

import numpy as np

from seq2set.text.tfidf import TfidfFeatures, encode_blocks
from seq2set.text.vocabulary import Words

TEXTS = ["wheat crop", "wheat crop fell", "oil", "oil fell"]


def fit(run_weight: float) -> TfidfFeatures:
    words = Words.build(
        TEXTS, vocabulary_size=9, min_frequency=1, lowercase=True, unicode_form="NFC", strip_accents=False
    )
    blocks = list(encode_blocks(words, TEXTS))
    return TfidfFeatures.fit(words, blocks, ngrams=2, min_documents=1, run_weight=run_weight)


def test_each_kind_has_a_length_of_its_own() -> None:
    features = fit(0.75)
    whole = features.transform(["wheat crop fell fell", "oil", "zzz"]).toarray()
    is_run = features.terms > len(features.words)
    # 0.75 is 3 to 4, so that a text with both kinds has words of length 0.8 and runs of length 0.6.
    assert np.allclose(np.linalg.norm(whole[:, ~is_run], axis=1), [0.8, 0.8, 0])
    assert np.allclose(np.linalg.norm(whole[:, is_run], axis=1), [0.6, 0, 0])


def test_terms_of_one_kind_keep_their_proportions() -> None:
    balanced, plain = (fit(weight).transform(["wheat crop fell fell"]).toarray()[0] for weight in (0.5, 0.0))
    is_run = fit(0.5).terms > len(fit(0.5).words)
    for kind in (is_run, ~is_run):
        ratios = balanced[kind][plain[kind] > 0] / plain[kind][plain[kind] > 0]
        assert len(ratios) > 1
        assert np.allclose(ratios, ratios[0])


def test_without_a_weight_all_terms_have_one_length() -> None:
    assert np.allclose(np.linalg.norm(fit(0.0).transform(TEXTS).toarray(), axis=1), 1)
