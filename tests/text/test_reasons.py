from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2set.text.reasons import EVERY_WORD, Evidence, TextWords, find_stems
from seq2set.text.vocabulary import Words

WORDS = Words.build(
    ["a"],
    vocabulary_size=10,
    min_frequency=1,
    lowercase=True,
    unicode_form="NFC",
    strip_accents=False,
)


def pick(text: str, added: list[float], label: str = "label", most: int = 8) -> list[tuple[str, float]]:
    words = TextWords.read(WORDS, text)
    found = words.pick_evidence(words.sum_words(np.array(added)), label, most)
    assert all(text[one.start : one.end] == one.word for one in found)
    return [(one.word, pytest.approx(one.weight)) for one in found]


def test_a_word_counts_once_with_all_its_occurrences_and_marks_do_not() -> None:
    # oil: 1 + 2; the comma's 9 is no word's; low: -1. In all 3 + 1 = 4.
    assert pick("Oil , oil low", [1, 9, 2, -1]) == [("Oil", 0.75), ("low", -0.25)]


def test_the_heaviest_come_first_and_those_against_last() -> None:
    assert pick("k, l, m, n", [1, 0, -3, 0, 4, 0, -2]) == [("m", 0.4), ("k", 0.1), ("l", -0.3), ("n", -0.2)]
    assert pick("k, l, m, n", [1, 0, -3, 0, 4, 0, -2], most=1) == [("m", 0.4), ("l", -0.3)]


def test_heavy_neighbours_of_one_sign_are_a_phrase() -> None:
    # Of 10: alcohol 4 and drinking 2, which is half of it; rare has 0.9, less than a quarter of 4.
    text, added = "Alcohol drinking seemed rare. Ha", [4, 2, -3, 0.9, 0, 0.1]
    assert pick(text, added) == [("Alcohol drinking", 0.6), ("rare", 0.09), ("seemed", -0.3)]
    all_words = [("Alcohol drinking", 0.6), ("rare", 0.09), ("Ha", 0.01), ("seemed", -0.3)]
    assert pick(text, added, most=EVERY_WORD) == all_words, "0.1 is less than a tenth of 4"


def test_a_function_word_is_named_alone_only_where_no_word_is_heavier() -> None:
    assert pick("oil; the, crude", [6, 0, 5, 0, 3]) == [("oil", 3 / 7), ("crude", 3 / 14)]
    assert pick("oil; Hi, crude", [6, 0, 5, 0, 3]) == [("oil", 3 / 7), ("crude", 3 / 14)], "nor is a greeting"
    assert pick("oil; the, crude", [6, 0, 6, 0, 3]) == [("oil", 0.4), ("the", 0.4), ("crude", 0.2)]


def test_a_phrase_neither_begins_nor_ends_with_a_function_word() -> None:
    # Of 12: four words with 2 each; `the` counts with both of its places, and so does the phrase.
    found = pick("in the neck of the radius were", [0.5, 1, 2, 2, 1, 2, 0.5], most=1)
    assert found == [("neck of the radius", pytest.approx(8 / 9))]
    assert [word for word, _ in pick("as the heart was", [1, 1, 3, 1])] == ["heart"]


def test_marks_and_too_many_words_end_a_phrase() -> None:
    assert [word for word, _ in pick("red-hot, dry wine", [1, 0, 1, 1])] == ["dry wine", "red-hot"]
    assert [word for word, _ in pick("k l, m", [1, 1, 5, 1])] == ["k l", "m"]
    assert [word for word, _ in pick("k l m n o p", [1] * 6)] == ["k l m n", "o p"]


def test_a_word_is_in_one_phrase_only() -> None:
    # The first run weighs 2, the second 3 and wins; new then belongs to it.
    assert pick("new york; new jersey", [1, 1, 0, 0, 2]) == [("new jersey", 0.75), ("york", 0.25)]


def test_a_phrase_is_named_at_its_first_place() -> None:
    assert pick("Heart rate; a heart rate", [1, 1, 0, 0, 1, 1]) == [("Heart rate", 1.0)]


def test_words_of_a_script_without_spaces_are_joined() -> None:
    assert pick("北京 x", [1, 1, 0]) == [("北京", 1.0)]


@pytest.mark.parametrize(
    ("label", "text", "named"),
    [
        ("Rats", "a rat", True),
        ("Rats", "a rats", True),
        ("Liver Diseases", "a liver disease", True),
        ("Liver Diseases", "a liver", False),
        ("Diabetes Mellitus, Type 2", "type 2 diabetes mellitus", True),
        ("use::gameplaying", "a gameplaying", True),
        ("Studies", "a study", True),
        ("gas", "a ga", False),
        ("::", "a thing", False),
    ],
)
def test_a_phrase_that_is_the_labels_name_is_marked(label: str, text: str, named: bool) -> None:
    words = TextWords.read(WORDS, text)
    added = np.where(np.arange(len(words.names)) > 0, 1.0, 0) if text.startswith("a ") else np.ones(4)
    (one,) = words.pick_evidence(added, label, 8)
    assert one.names_label is named


def test_stems_of_a_path_are_those_of_its_end() -> None:
    assert find_stems("works-with::image_files") == {"image", "file"}
    assert find_stems("Glass classes") == {"glass", "class"}


def test_nothing_added_names_nothing() -> None:
    assert pick("a b", [0, 0]) == []
    assert pick("", []) == []
    assert pick("a b", []) == []


def test_weights_are_rounded_in_json() -> None:
    plain = {"word": "a", "start": 0, "end": 1, "names_label": False}
    assert Evidence("a", 0, 1, 1 / 3).to_dict() == plain | {"weight": 0.333333}
    assert Evidence("a", 0, 1, 1 / 3).to_dict(None) == plain | {"weight": 1 / 3}


@given(st.lists(st.tuples(st.sampled_from(["k", "l", "m", "n", ".", "o"]), st.integers(-9, 9)), max_size=12))
def test_every_word_is_in_one_item_and_weights_add_up_to_one(parts: list[tuple[str, int]]) -> None:
    text = " ".join(word for word, _ in parts)
    words = TextWords.read(WORDS, text)
    weights = words.sum_words(np.array([value for _, value in parts]))
    found = words.pick_evidence(weights, "x", EVERY_WORD)
    if not np.abs(weights).sum() > 0:
        assert found == ()
        return
    assert sum(abs(one.weight) for one in found) == pytest.approx(1)
    named = [name for one in found for name in dict.fromkeys(one.word.lower().split())]
    assert sorted(named) == sorted(name for name, weight in zip(words.names, weights, strict=True) if weight)
