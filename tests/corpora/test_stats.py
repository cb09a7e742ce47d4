from __future__ import annotations

import json
import math

import pytest
from small_corpora import healthy_corpus, write_corpus

from seq2set.core.errors import InputError
from seq2set.corpora.documents import Document
from seq2set.corpora.stats import Cardinality, Imbalance, LabelFrequency, LabelSets, compute_statistics
from seq2set.labels.correlation import LabelPair


@pytest.fixture
def corpus(tmp_path):
    # Words: 1 2 3 4 | 5 | 3 (white space of any kind, none of it counted).
    train = [
        Document("1", "one", ("a", "b")),
        Document("2", " two\twords\n", ("b", "a")),
        Document("3", "now three words", ("a",)),
        Document("4", "here are four words", ()),
    ]
    valid = [Document("5", "five words in this one", ("a", "c"))]
    test = [Document("6", "again three words", ("d",))]
    return write_corpus(tmp_path, {"train": train, "valid": valid, "test": test})


@pytest.fixture
def statistics(corpus):
    return compute_statistics(corpus, min_label_documents=1)


def test_table_1(statistics):
    assert statistics.name == "small"
    assert statistics.documents == 6
    assert statistics.splits == {"train": 4, "valid": 1, "test": 1}
    assert statistics.labels == 4
    assert statistics.words_per_document == pytest.approx(18 / 6)  # 1+2+3+4+5+3
    assert statistics.labels_per_document == pytest.approx(8 / 6)  # 2+2+1+0+2+1


def test_label_frequencies_descend_and_ties_go_by_name(statistics):
    assert statistics.label_frequencies == (
        LabelFrequency("a", 3, 4),
        LabelFrequency("b", 2, 2),
        LabelFrequency("c", 0, 1),
        LabelFrequency("d", 0, 1),
    )


def test_cardinalities(statistics):
    assert statistics.cardinalities == (Cardinality(0, 1), Cardinality(1, 2), Cardinality(2, 3))


def test_label_sets_do_not_depend_on_order(statistics):
    # {a,b} twice; {a}, {}, {a,c} and {d} once each: 5 different, 4 of 6 documents alone.
    assert statistics.label_sets == LabelSets(5, 4, pytest.approx(4 / 6))


def test_imbalance(statistics):
    # 4/4, 4/2, 4/1, 4/1: mean 11/4.
    assert statistics.imbalance == Imbalance(pytest.approx(2.75), pytest.approx(4.0))


def test_lengths(statistics):
    # Sorted: 1 2 3 3 4 5; the 25 % point lies at position 1.25: 2 + 0.25 x (3 - 2).
    lengths = statistics.lengths
    assert lengths.mean == pytest.approx(3.0)
    assert lengths.quantiles == pytest.approx(
        {"min": 1, "p5": 1.25, "p25": 2.25, "median": 3, "p75": 3.75, "p95": 4.75, "max": 5}
    )
    assert lengths.edges == (0, 1, 2, 3, 4, 5)
    # The last bar holds its right edge too: 4 and 5.
    assert lengths.documents == (0, 1, 1, 2, 2)
    assert lengths.longer == 0


def test_a_very_long_text_does_not_flatten_the_histogram(tmp_path):
    train = [Document(str(i), "word " * 10, ("a",)) for i in range(999)]
    corpus = write_corpus(tmp_path, {"train": [*train, Document("long", "word " * 100_000, ("a",))]})
    lengths = compute_statistics(corpus).lengths
    assert lengths.edges[-1] == 11
    assert lengths.longer == 1
    assert sum(lengths.documents) == 999


def test_correlations_of_the_whole_corpus(statistics):
    # a and b: n=6, 4 and 2 documents, 2 together: (6*2 - 4*2) / sqrt(4*2 * 2*4) = 4/8.
    # a and d: (6*0 - 4*1) / sqrt(4*2 * 1*5) = -4/sqrt(40), which is stronger.
    first, second = statistics.correlations[:2]
    assert first == LabelPair("a", "d", pytest.approx(-4 / math.sqrt(40)), 0, 4, 1)
    assert second == LabelPair("a", "b", pytest.approx(0.5), 2, 4, 2)


def test_only_the_strongest_pairs_are_told(corpus):
    pairs = compute_statistics(corpus, top=1, min_label_documents=1).correlations
    assert [(pair.first, pair.second) for pair in pairs] == [("a", "d")]


def test_rare_labels_are_not_compared(corpus):
    statistics = compute_statistics(corpus, min_label_documents=2)
    assert [(pair.first, pair.second) for pair in statistics.correlations] == [("a", "b")]
    assert statistics.correlation_map.labels == ("a", "b")
    assert statistics.correlation_map.phi == ((1.0, 0.5), (0.5, 1.0))


def test_the_map_shows_30_labels(tmp_path):
    train = [
        Document(str(i), "text", tuple(f"label{j:02}" for j in range(40) if i % (j + 2))) for i in range(99)
    ]
    found = compute_statistics(write_corpus(tmp_path, {"train": train}))
    assert found.correlation_map.labels == tuple(row.label for row in found.label_frequencies[:30])
    assert len(found.correlation_map.phi) == 30


def test_statistics_as_json(statistics):
    plain = statistics.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["splits"] == {"train": 4, "valid": 1, "test": 1}
    assert plain["label_frequencies"][0] == {"label": "a", "train": 3, "total": 4}
    assert plain["label_sets"]["distinct"] == 5
    assert plain["correlation_map"]["labels"] == ["a", "b", "c", "d"]
    assert plain["correlations"][1]["together"] == 2


def test_an_empty_corpus_has_statistics(tmp_path):
    found = compute_statistics(write_corpus(tmp_path, {}))
    assert (found.documents, found.labels, found.words_per_document) == (0, 0, 0.0)
    assert found.imbalance == Imbalance(0.0, 0.0)
    assert found.correlations == ()
    assert found.lengths.quantiles["max"] == 0.0


def test_many_labels_in_one_document(tmp_path):
    labels = tuple(f"label{i}" for i in range(100_000))
    train = [Document(str(i), "text", labels) for i in range(5)]
    found = compute_statistics(write_corpus(tmp_path, {"train": train}))
    assert found.labels == 100_000
    assert found.correlations == ()  # a label in every document correlates with nothing


def test_progress_adds_up(tmp_path):
    seen: list[int] = []
    compute_statistics(write_corpus(tmp_path, healthy_corpus()), progress=seen.append)
    assert sum(seen) == 28


@pytest.mark.parametrize("name", ["top", "min_label_documents"])
def test_limits_below_one_are_refused(corpus, name):
    with pytest.raises(InputError, match=f"^{name} is 0; it must be >= 1$"):
        compute_statistics(corpus, **{name: 0})
