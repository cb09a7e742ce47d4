from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from seq2set.core.text_utils import Span
from seq2set.text.reasons import TextWords
from seq2set.text.spans import Spans
from seq2set.text.vocabulary import Words

WORDS = Words.build(
    ["a"], vocabulary_size=9, min_frequency=1, lowercase=True, unicode_form="NFKC", strip_accents=False
)


def test_spans_are_a_list_of_pairs() -> None:
    spans = Spans([(0, 2), (3, 4), (5, 9)])
    assert (len(spans), spans[0], spans[-1]) == (3, Span(0, 2), Span(5, 9))
    assert spans[1:] == [(3, 4), (5, 9)]
    assert [type(one.start) for one in spans] == [int, int, int]
    assert Span(3, 4) in spans
    assert spans != [(0, 2)]
    assert spans != 3
    assert Spans([]) == []
    with pytest.raises(IndexError):
        spans[3]


def measure_peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_places_of_words_take_few_bytes_each() -> None:
    text = "a " * 49_500
    WORDS.spans(text)
    assert len(WORDS.spans(text)) == 49_500
    # Places, limits and which are to be widened, 8 bytes each, and a slice; as tuples they were 11 MB.
    assert measure_peak(lambda: WORDS.spans(text)) < 3_000_000


def test_different_words_take_few_bytes_each() -> None:
    text = " ".join(f"{number:x}" for number in range(20_000))  # 109 kB
    words = TextWords.read(WORDS, text)
    assert words.number.tolist() == list(range(20_000))
    # Hashes, numbers and what sorting needs; as texts in a dictionary they were 5 MB.
    assert measure_peak(lambda: TextWords.read(WORDS, text)) < 2_500_000


def test_words_are_numbered_as_they_come_first() -> None:
    words = TextWords.read(WORDS, "b a , B c a")
    assert words.number.tolist() == [0, 1, -1, 0, 2, 1]
    assert words.first.tolist() == [0, 1, 4]
    assert words.names == ["b", "a", "c"]
    assert TextWords.read(WORDS, "").sum_words(np.zeros(0)).tolist() == []


def test_reasons_of_many_words_take_few_bytes_each() -> None:
    words = TextWords.read(WORDS, "a " * 49_500)
    weights = words.sum_words(np.ones(200))
    assert [one.word for one in words.pick_evidence(weights, "wheat", 8)] == ["a"]
    # A sign for each place, and which have one: 16 bytes; as Python's own numbers they were 2 MB more.
    assert measure_peak(lambda: words.pick_evidence(weights, "wheat", 8)) < 1_200_000
