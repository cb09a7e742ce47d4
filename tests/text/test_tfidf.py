from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from seq2set.core.errors import InputError
from seq2set.text import tfidf
from seq2set.text.tfidf import (
    DOCUMENTS_PER_BLOCK,
    StoredBlocks,
    TfidfFeatures,
    encode_blocks,
    find_occurrences,
)
from seq2set.text.vocabulary import Words

WORD = st.text("abcdef", min_size=1, max_size=2)
TEXTS = st.lists(st.lists(WORD, max_size=12).map(" ".join), min_size=1, max_size=12)


def words_of(texts: list[str], *, size: int = 1000, min_frequency: int = 1) -> Words:
    return Words.build(
        texts,
        vocabulary_size=size,
        min_frequency=min_frequency,
        lowercase=True,
        unicode_form="NFKC",
        strip_accents=False,
    )


def fitted(texts: list[str], **options: object) -> TfidfFeatures:
    words = words_of(texts)
    return TfidfFeatures.fit(words, list(encode_blocks(words, texts)), **options)  # type: ignore[arg-type]


def test_hand_worked_values() -> None:
    texts = ["a b", "a a"]
    features = fitted(texts, ngrams=1, min_documents=1, sublinear=False)
    # idf = ln((1 + n) / (1 + df)) + 1: a is in both, so 1; b in one, so ln(3/2) + 1 = 1.405465.
    assert features.idf.tolist() == pytest.approx([1.0, 1.405465], abs=1e-6)
    # "a b": (1, 1.405465) by its length sqrt(1 + 1.975332) = 1.724915
    assert features.transform(texts).toarray()[0] == pytest.approx([0.579739, 0.814802], abs=1e-6)
    assert features.transform(texts).toarray()[1] == pytest.approx([1.0, 0.0])


def test_sublinear_counts() -> None:
    texts = ["a a a b", "a b"]
    features = fitted(texts, ngrams=1, min_documents=1, sublinear=True)
    # Both idf are 1; a counts 1 + ln 3 = 2.098612 and b 1, by their length 2.324688.
    assert features.transform(texts).toarray()[0] == pytest.approx([0.902750, 0.430165], abs=1e-6)


@given(TEXTS, st.integers(1, 3), st.integers(1, 2), st.booleans())
def test_equal_to_scikit_learn(texts: list[str], ngrams: int, least: int, sublinear: bool) -> None:
    theirs = TfidfVectorizer(
        ngram_range=(1, ngrams), min_df=least, sublinear_tf=sublinear, token_pattern=r"\S+"
    )
    try:
        expected = theirs.fit_transform(texts).toarray()
    except ValueError:  # scikit-learn refuses an empty vocabulary; we give a matrix without columns
        expected = np.zeros((len(texts), 0))
    ours = fitted(texts, ngrams=ngrams, min_documents=least, sublinear=sublinear).transform(texts).to_scipy()
    assert ours.shape == expected.shape
    assert np.sort(ours.toarray(), axis=None) == pytest.approx(np.sort(expected, axis=None), abs=1e-5)
    # The columns have another order; the documents' angles to each other have none.
    assert (ours @ ours.T).toarray() == pytest.approx(expected @ expected.T, abs=1e-5)


def test_blocks_do_not_show() -> None:
    texts = [f"a w{number % 7} b" for number in range(DOCUMENTS_PER_BLOCK + 3)]
    features = fitted(texts)
    whole = features.transform(texts).to_scipy()
    assert (whole[:5] != features.transform(texts[:5]).to_scipy()).nnz == 0
    assert (whole[-2:] != features.transform(texts[-2:]).to_scipy()).nnz == 0


@given(TEXTS, st.integers(1, 3), st.integers(1, 5))
def test_stretches_do_not_show(texts: list[str], ngrams: int, stretch: int) -> None:
    features = fitted(texts, ngrams=ngrams, min_documents=1)
    whole = features.transform(texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tfidf, "STRETCH", stretch)
        parts = features.transform(texts)
    assert (parts.toarray() == whole.toarray()).all()


def test_two_passes_over_a_file_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"a{n % 7} b{n % 5} a{n % 3} c" for n in range(60)] + [""]
    words = words_of(texts)
    at_once = TfidfFeatures.fit(words, [words.flat_encode(texts)], ngrams=3)
    monkeypatch.setattr(tfidf, "TERMS_WAITING", 10)  # counts are joined every other block
    blocks = [words.flat_encode(texts[start : start + 4]) for start in range(0, len(texts), 4)]
    stored = StoredBlocks(blocks, tmp_path)
    in_passes = TfidfFeatures.fit(words, stored, ngrams=3)
    assert (in_passes.terms.tolist(), in_passes.idf.tolist()) == (
        at_once.terms.tolist(),
        at_once.idf.tolist(),
    )
    one, other = in_passes.transform_blocks(stored), at_once.transform(texts)
    assert (one.indices.tolist(), one.indptr.tolist()) == (other.indices.tolist(), other.indptr.tolist())
    assert one.data.tolist() == other.data.tolist()


def test_the_most_frequent_terms_are_kept() -> None:
    texts = ["a b", "a b", "a c"]
    features = fitted(texts, ngrams=1, min_documents=1, max_terms=2)
    assert [features.words.word(int(code) - 1) for code in features.terms] == ["a", "b"]
    assert len(fitted(texts, ngrams=1, min_documents=3)) == 1


def test_runs_do_not_cross_unknown_words_or_documents() -> None:
    words = words_of(["a b"])
    found = find_occurrences(words.flat_encode(["a x b", "b a"]), len(words), ngrams=2)
    pairs = found.code[found.width == 2]
    # Only "b a" of the second text; numbers: a 2, b 3, base 4 + 1.
    assert pairs.tolist() == [(3 + 1) * 5 + (2 + 1)]
    assert found.row[found.width == 2].tolist() == [1]


def test_empty_texts() -> None:
    features = fitted(["a b"], min_documents=1)
    assert features.transform([""]).nnz == 0
    assert features.transform([]).shape == (0, 3)
    nothing = fitted([""])
    assert nothing.transform(["a b"]).shape == (1, 0)


def test_more_terms_than_can_be_numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Words, "__len__", lambda self: 2_000_000)
    with pytest.raises(InputError, match="features.ngrams is 3 with 2,000,000 words, .* must be smaller"):
        TfidfFeatures.fit(words_of(["a"]), [], ngrams=3)
