from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_corpora import healthy, healthy_corpus, write_corpus

from seq2set.corpora.checks import check_corpus
from seq2set.corpora.checks import duplicates as candidates_module
from seq2set.corpora.checks.duplicates import Sketches, compute_jaccard, find_candidates, hash_shingles
from seq2set.corpora.documents import Document

CODES = {f"{kind}-in-{split}" for kind in ("duplicates", "near-duplicates") for split in ("test", "valid")}


def found(folder, splits, **options):
    findings = check_corpus(write_corpus(folder, splits), **options)
    return {finding.code: finding for finding in findings if finding.code in CODES}


def replaced(split, *documents):
    splits = healthy_corpus()
    splits[split][: len(documents)] = documents
    return splits


def words(count, seed=0):
    """Return so many different words."""
    return [f"w{seed}x{i}" for i in range(count)]


# Exact duplicates


def test_a_test_text_that_stands_in_train(tmp_path):
    copy = Document("copy", "TRAIN text\n  3 with words of TRAIN-3   alone", ("x",))
    findings = found(tmp_path, replaced("test", copy))
    assert set(findings) == {"duplicates-in-test"}
    finding = findings["duplicates-in-test"]
    assert finding.level == "error"  # 1 of 4 is more than 1 %
    assert finding.count == 1
    assert finding.what == "1 of 4 (25.0 %) test texts stand word for word in train or valid"
    assert finding.examples == ("copy (test) = train3 (train)",)


def test_a_test_text_that_stands_in_valid(tmp_path):
    copy = Document("copy", healthy("valid", 4)[2].text, ("x",))
    finding = found(tmp_path, replaced("test", copy))["duplicates-in-test"]
    assert finding.examples == ("copy (test) = valid2 (valid)",)


@pytest.mark.parametrize(("copies", "level"), [(1, "warning"), (2, "error")])
def test_up_to_one_test_text_in_a_hundred_is_a_warning(tmp_path, copies, level):
    splits = healthy_corpus() | {"test": healthy("test", 100)}
    for i in range(copies):
        splits["test"][i] = splits["train"][i]._replace(id=f"copy{i}")
    assert found(tmp_path, splits)["duplicates-in-test"].level == level


def test_a_valid_text_that_stands_in_train_is_a_warning(tmp_path):
    copy = Document("copy", healthy("train", 20)[19].text.upper(), ("x",))
    findings = found(tmp_path, replaced("valid", copy))
    assert set(findings) == {"duplicates-in-valid"}
    assert findings["duplicates-in-valid"].level == "warning"
    assert findings["duplicates-in-valid"].what == "1 of 4 (25.0 %) valid texts stand word for word in train"


def test_the_first_of_several_repeated_texts_is_named(tmp_path):
    splits = replaced("test", Document("copy", healthy("train", 1)[0].text, ("x",)))
    splits["train"][7] = splits["train"][0]._replace(id="later")
    splits["valid"][0] = splits["train"][0]._replace(id="valid-copy")
    findings = found(tmp_path, splits)
    assert findings["duplicates-in-test"].examples == ("copy (test) = train0 (train)",)
    assert findings["duplicates-in-valid"].examples == ("valid-copy (valid) = train0 (train)",)


def test_duplicates_inside_one_split_are_no_leak(tmp_path):
    splits = healthy_corpus()
    for name, documents in splits.items():
        documents[1] = documents[0]._replace(id=f"{name}-twin")
    assert found(tmp_path, splits) == {}


def test_empty_texts_are_no_duplicates(tmp_path):
    splits = {name: [Document(f"{name}-empty", " ", ("x",))] for name in ("train", "valid", "test")}
    assert found(tmp_path, splits) == {}


def test_nothing_to_compare_with(tmp_path):
    assert found(tmp_path, {"test": healthy("test", 3)}) == {}


# Near-duplicates


def changed(count, total=102):
    """Change words far apart: each takes 3 of the text's 100 shingles away and brings 3 new ones."""
    text = words(total)
    for i in range(count):
        text[10 * i + 5] = f"changed{i}"
    return " ".join(text)


def test_a_nearly_equal_text(tmp_path):
    # One changed word: 97 of 100 shingles on each side are shared, 97 / 103.
    splits = replaced("train", Document("original", changed(0), ("x",)))
    splits["test"][0] = Document("edited", changed(1).upper(), ("x",))
    findings = found(tmp_path, splits)
    assert set(findings) == {"near-duplicates-in-test"}
    finding = findings["near-duplicates-in-test"]
    assert finding.level == "warning"
    assert finding.count == 1
    assert finding.what == (
        "1 of 4 (25.0 %) test texts stand in train or valid with few changes (similarity 0.9 or more)"
    )
    assert finding.examples == (f"edited (test) ~ original (train), {97 / 103:.2f}",)


@pytest.mark.parametrize(("similarity", "near"), [(0.88, True), (0.89, False)])
def test_the_similarity_that_counts_can_be_set(tmp_path, similarity, near):
    # Two changed words: 94 / 106 = 0.8868.
    splits = replaced("train", Document("original", changed(0), ("x",)))
    splits["valid"][0] = Document("edited", changed(2), ("x",))
    assert bool(found(tmp_path, splits, near_duplicate=similarity)) is near


def test_the_threshold_itself_counts(tmp_path):
    # 12 words, 10 shingles; with one word less at the end 9 of them: 9 / 10.
    splits = replaced("train", Document("original", " ".join(words(12)), ("x",)))
    splits["valid"][0] = Document("edited", " ".join(words(11)), ("x",))
    finding = found(tmp_path, splits, near_duplicate=0.9)["near-duplicates-in-valid"]
    assert finding.examples == ("edited (valid) ~ original (train), 0.90",)


def test_the_most_similar_text_is_named(tmp_path):
    splits = replaced("train", *(Document(f"edit{n}", changed(n), ("x",)) for n in (3, 1, 2)))
    splits["test"][0] = Document("original", changed(0), ("x",))
    finding = found(tmp_path, splits, near_duplicate=0.7)["near-duplicates-in-test"]
    assert finding.examples == ("original (test) ~ edit1 (train), 0.94",)


def test_an_exact_duplicate_is_not_told_a_second_time(tmp_path):
    splits = replaced("train", *(Document(f"edit{n}", changed(n), ("x",)) for n in (0, 1)))
    splits["test"][0] = Document("copy", changed(0), ("x",))
    assert set(found(tmp_path, splits)) == {"duplicates-in-test"}


def test_other_word_order_is_another_text(tmp_path):
    splits = replaced("train", Document("original", changed(0), ("x",)))
    splits["test"][0] = Document("backwards", " ".join(reversed(words(102))), ("x",))
    assert found(tmp_path, splits) == {}


def test_short_texts_are_compared_as_wholes(tmp_path):
    splits = replaced("train", Document("1", "red", ("x",)), Document("2", "red house", ("x",)))
    splits["test"][0] = Document("3", "house red", ("x",))
    assert found(tmp_path, splits, near_duplicate=0.5) == {}


def test_all_findings_on_many_documents(tmp_path):
    # 300 texts of 60 random words; every third has a copy in test with one word changed, which
    # costs 3 of 58 shingles: 55 / 61 = 0.9016.
    generator = random.Random(5)
    originals = [[f"v{generator.randrange(5000)}" for _ in range(60)] for _ in range(300)]
    train = [Document(f"train{i}", " ".join(text), ("x",)) for i, text in enumerate(originals)]
    edited = [[*text[:30], f"new{i}", *text[31:]] for i, text in enumerate(originals[::3])]
    test = [Document(f"test{i}", " ".join(text), ("x",)) for i, text in enumerate(edited)]
    finding = found(tmp_path, {"train": train, "test": test})["near-duplicates-in-test"]
    assert finding.count == 100
    assert finding.examples[1] == "test1 (test) ~ train3 (train), 0.90"


# Sketches


def real_shingles(text):
    width = min(3, len(text))
    return {tuple(text[i : i + width]) for i in range(len(text) - width + 1)} if text else set()


def similarity(first, second):
    union = first | second
    return len(first & second) / len(union) if union else 0.0


texts = st.lists(st.sampled_from("abc"), max_size=9)


@settings(max_examples=100, deadline=None)
@given(texts, texts)
def test_hashed_similarity_is_the_real_one(first, second):
    expected = similarity(real_shingles(first), real_shingles(second))
    assert compute_jaccard(hash_shingles(first), hash_shingles(second)) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(texts, min_size=2, max_size=12),
    st.lists(st.tuples(st.integers(0, 39), st.integers(0, 9)), max_size=6),
    st.sampled_from([0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
)
def test_no_similar_text_is_missed(short, edits, threshold):
    # Short texts over three letters, and copies of a text of 40 words with some words changed.
    long = [words(40)]
    for place, value in edits:
        long.append([*long[-1][:place], f"edit{value}", *long[-1][place + 1 :]])
    everything = [text for text in [*short, *long] if text]
    sketches = Sketches(threshold)
    for text in everything:
        sketches.add(text)
    half = len(everything) // 2
    proposed = find_candidates(sketches, np.arange(half), np.arange(half, len(everything)))
    for i in range(half):
        sets = [real_shingles(text) for text in everything]
        similar = {j for j in range(half, len(sets)) if similarity(sets[i], sets[j]) >= threshold}
        assert similar <= set(proposed.get(i, ()))


def test_the_length_of_a_sketch():
    # 27 words, 25 shingles, at 0.56 at least 14 of them shared (though 0.56 x 25 > 14 here): 25 - 14 + 8.
    sketches = Sketches(0.56)
    sketches.add(words(27))
    assert sketches.matrix().nnz == 19


def test_unlike_texts_are_not_proposed():
    # Ten pairs that share 8 words, 6 of 66 shingles: some of them in the sketches, but never 8.
    sketches = Sketches(0.9)
    for seed in range(20):
        sketches.add([*words(8, seed % 10), *words(60, seed + 10)])
    assert find_candidates(sketches, np.arange(10), np.arange(10, 20)) == {}


def test_the_work_on_texts_of_one_pattern_is_bounded(monkeypatch):
    monkeypatch.setattr(candidates_module, "MOST_HOLDERS", 30)
    monkeypatch.setattr(candidates_module, "MOST_CANDIDATES", 20)
    sketches = Sketches(0.9)
    for i in range(60):
        sketches.add([*words(100), f"number{i}"])
    proposed = find_candidates(sketches, np.arange(10), np.arange(10, 60))
    assert {row: len(others) for row, others in proposed.items()} == dict.fromkeys(range(10), 20)
    assert {other for others in proposed.values() for other in others} <= set(range(10, 40))


def test_the_likeliest_come_first():
    # Both others reach 0.5 in sketches; the one with fewer changes shares more.
    sketches = Sketches(0.5)
    for count in (0, 8, 1):
        sketches.add(changed(count).split())
    assert find_candidates(sketches, np.array([0]), np.array([1, 2])) == {0: [2, 1]}
