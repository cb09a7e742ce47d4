from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2set.core.errors import ModelFolderError
from seq2set.text.vocabulary import PAD, UNK, Words

PLAIN = {
    "vocabulary_size": 100,
    "min_frequency": 1,
    "lowercase": True,
    "unicode_form": "NFKC",
    "strip_accents": False,
}


def build(texts, **changes):
    return Words.build(texts, **PLAIN | changes)


def known(words):
    return [words.word(number) for number in range(2, len(words))]


def test_words_stand_in_descending_frequency_ties_by_the_word():
    # Lower-cased: d 3 times, a, b and c twice each, é once.
    assert known(build(["d c b", "c d b a", "d A é"])) == ["d", "a", "b", "c", "é"]


def test_a_word_has_a_letter():
    words = build(["wheat 1,000 ... 斑马 naïve covid-19 % h2o 42"])
    counted = {words.word(number): bool(words.is_word[number]) for number in range(len(words))}
    no_words = dict.fromkeys(("[pad]", "[unk]", "1,000", "...", "%", "42"), False)
    assert counted == no_words | dict.fromkeys(("wheat", "斑", "马", "naïve", "covid-19", "h2o"), True)


def test_numbers_are_words_where_most_of_the_vocabulary_has_no_letter():
    # Six of seven: texts whose words were replaced by numbers.
    words = build(["816 903 115 42 and 7 ."])
    assert words.is_word.tolist() == [False, False] + [True] * 7
    # Two of four have a letter, which is enough.
    words = build(["816 and the ."])
    assert [words.word(number) for number in words.is_word.nonzero()[0]] == ["and", "the"]


def test_the_size_counts_words_only():
    words = build(["d c b", "c d b a", "d"], vocabulary_size=2)
    assert (len(words), known(words)) == (4, ["d", "b"])


def test_rare_words_are_left_out():
    assert known(build(["d c b", "c d b a", "d"], min_frequency=3)) == ["d"]


def test_case_is_kept_by_option():
    assert known(build(["a A a É É É"], lowercase=False)) == ["É", "a", "A"]


def test_no_text_at_all_leaves_the_special_numbers():
    words = build([])
    assert (len(words), words.encode(["a"])[0].tolist()) == (2, [UNK])


def test_texts_are_read_once_from_any_iterable():
    assert known(build(text for text in ["b a", "b"])) == ["b", "a"]


def test_encoding_numbers_words_and_marks_unknown_ones():
    words = build(["b b a"])
    encoded = words.encode(["a b A zz", "", " \n", "b"])
    assert [ids.tolist() for ids in encoded] == [[3, 2, 3, UNK], [], [], [2]]
    assert {ids.dtype for ids in encoded} == {np.dtype(np.int32)}


def test_the_special_words_cannot_be_written_in_a_text():
    words = build(["[ ] pad unk"])
    assert PAD not in words.encode(["[pad] [unk]"])[0]
    assert UNK not in words.encode(["[pad] [unk]"])[0]


def test_flat_encoding_is_the_same_in_one_array():
    words = build(["b b a é"])
    texts = ["a b", "", "é ﬁ", *["b"] * 3000]
    flat = words.flat_encode(iter(texts))
    assert flat.ids.tolist() == [3, 2, 4, UNK, *[2] * 3000]
    assert flat.offsets.tolist() == [0, 2, 2, 4, *range(5, 3005)]
    assert (flat.ids.dtype, flat.offsets.dtype) == (np.int32, np.int64)


def test_flat_encoding_of_nothing():
    flat = build(["a"]).flat_encode([])
    assert (flat.ids.tolist(), flat.offsets.tolist()) == ([], [0])


def test_spans_point_into_the_original_text():
    text = "\ud800 Caﬁne\u0301, B"
    words = build(["cafiné b"])
    assert words.encode([text])[0].tolist() == [UNK, 3, UNK, 2]
    assert [text[start:end] for start, end in words.spans(text)] == ["\ud800", "Caﬁne\u0301", ",", "B"]


def test_json_gives_the_same_words_back():
    words = build(["Straße straße É é x"], strip_accents=True)
    again = Words.from_json(words.to_json())
    assert again.to_json() == words.to_json()
    assert len(again) == len(words)
    text = "STRASSE Straße e É X y"
    assert again.encode([text])[0].tolist() == words.encode([text])[0].tolist()


@pytest.mark.parametrize("text", ["", "{", "{}", '{"version": "1.0"}'])
def test_json_that_is_none_is_refused(text):
    with pytest.raises(ModelFolderError, match=r"^the tokeniser cannot be read from its JSON: "):
        Words.from_json(text)


def changed(words, change):
    values = json.loads(words.to_json())
    change(values)
    return json.dumps(values)


def test_a_foreign_vocabulary_is_refused():
    def swap(values):
        values["model"]["vocab"] = {"[unk]": 0, "a": 1}

    with pytest.raises(
        ModelFolderError, match=r"begins with \['\[unk\]', 'a'\]; it must begin with \['\[pad\]'"
    ):
        Words.from_json(changed(build(["a"]), swap))


def test_a_foreign_normaliser_is_refused():
    def replace(values):
        values["normalizer"] = {"type": "Replace", "pattern": {"String": "q"}, "content": "k"}

    with pytest.raises(ModelFolderError, match="it has parts other than those that seq2set writes"):
        Words.from_json(changed(build(["a"]), replace))


TEXTS = st.lists(st.one_of(st.text(max_size=30), st.text("abAB é\u0301ﬁ'-.", max_size=30)), max_size=6)
OPTIONS = st.fixed_dictionaries(
    {
        "lowercase": st.booleans(),
        "unicode_form": st.sampled_from(["NFC", "NFKC", "none"]),
        "strip_accents": st.booleans(),
    }
)


@settings(max_examples=60, deadline=None)
@given(TEXTS, OPTIONS)
def test_all_ways_of_encoding_agree(texts, options):
    words = build(texts[::2], **options)
    encoded = [ids.tolist() for ids in words.encode(texts)]
    flat = words.flat_encode(texts)
    pieces = [flat.ids[start:end].tolist() for start, end in itertools.pairwise(flat.offsets)]
    assert pieces == encoded
    for text, ids in zip(texts, encoded, strict=True):
        spans = words.spans(text)
        assert len(spans) == len(ids)
        assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all((ids > UNK).all() for ids in words.encode(texts[::2]))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text("abcéﬁ ", max_size=20), max_size=8), st.integers(1, 5), st.integers(1, 3))
def test_the_vocabulary_is_what_counting_in_python_gives(texts, size, least):
    counts = Counter(word for text in texts for word in text.replace("ﬁ", "fi").split())
    ranked = sorted((-count, word) for word, count in counts.items() if count >= least)
    assert known(build(texts, vocabulary_size=size, min_frequency=least)) == [
        word for _, word in ranked[:size]
    ]


SCRIPT = """
import os, sys
from seq2set.text.vocabulary import Words
texts = ["alpha beta gamma \\u00e9 %d" % i for i in range(3000)]
make = lambda: Words.build(
    texts, vocabulary_size=50, min_frequency=1, lowercase=True, unicode_form="NFKC", strip_accents=False
)
words = make()
before = words.flat_encode(texts).ids.tobytes()
if sys.argv[1] == "fork":
    child = os.fork()
    if not child:
        os._exit(0 if words.flat_encode(texts).ids.tobytes() == before else 3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert os.environ["TOKENIZERS_PARALLELISM"] == "true"
print(words.to_json())
"""


def run(argument, **environment):
    clean = {key: value for key, value in os.environ.items() if key != "TOKENIZERS_PARALLELISM"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, argument],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        env=clean | {"PYTHONIOENCODING": "utf-8"} | environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_child_encodes_without_a_warning():
    assert "just got forked" not in run("fork").stderr


def test_the_number_of_threads_changes_nothing():
    assert run("plain", RAYON_NUM_THREADS="1").stdout == run("plain", RAYON_NUM_THREADS="4").stdout
