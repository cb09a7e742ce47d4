from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2set.core.text_utils import Span, replace_surrogates
from seq2set.text.tokenizer import (
    UNKNOWN,
    build_tokenizer,
    count_words,
    widen_spans,
)

PLAIN = {"lowercase": True, "unicode_form": "NFKC", "strip_accents": False}
OPTIONS = st.fixed_dictionaries(
    {
        "lowercase": st.booleans(),
        "unicode_form": st.sampled_from(["NFC", "NFKC", "none"]),
        "strip_accents": st.booleans(),
    }
)


def cut(text, **changes):
    tokenizer = build_tokenizer({UNKNOWN: 0}, **PLAIN | changes)
    normalised = tokenizer.normalizer.normalize_str(text)
    return [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normalised)]


def normalise(text, **options):
    return build_tokenizer({UNKNOWN: 0}, **options).normalizer.normalize_str(replace_surrogates(text))


def test_words_are_counted_between_white_space():
    assert count_words("  a\tb-c\n d. ") == 3
    assert count_words(" \n ") == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a state-of-the-art R&D unit", ["a", "state-of-the-art", "r&d", "unit"]),
        ("3.5 of 1,000,000. End, 7.", ["3.5", "of", "1,000,000", ".", "end", ",", "7", "."]),
        ("p<.05 x=3", ["p", "<", ".", "05", "x", "=", "3"]),
        ("- end- a--b", ["-", "end", "-", "a", "--", "b"]),
        ("x_1 v2.0beta", ["x_1", "v2.0beta"]),
        ("a.b", ["a", ".", "b"]),
    ],
)
def test_what_belongs_to_a_word(text, words):
    assert cut(text) == words


@pytest.mark.parametrize("raw", ["the dog's don't we'll", "the dog 's don 't we 'll"])
def test_raw_and_tokenised_text_give_the_same_words(raw):
    assert cut(raw) == ["the", "dog", "'s", "don", "'t", "we", "'ll"]


def test_longer_endings_after_an_apostrophe_are_words():
    assert cut("O'Brien l'homme 'quoted'") == ["o", "'", "brien", "l", "'", "homme", "'", "quoted", "'"]


def test_escapes_and_runs_of_one_mark_are_one_token():
    assert cut(r"\( x \) ``a'' ... ===(((") == [r"\(", "x", r"\)", "``", "a", "''", "...", "===", "((("]
    assert cut(r"\alpha") == ["\\", "alpha"]


def test_control_characters_separate_and_invisible_ones_vanish():
    assert cut("a\x0cb\x00c") == ["a", "b", "c"]
    assert cut("\ufeffco\u00adop z\u200dw") == ["coop", "zw"]
    assert cut("x\u200by") == ["x", "y"]


def test_the_special_tokens_cannot_be_written():
    assert cut("[unk] [pad]") == ["[", "unk", "]", "[", "pad", "]"]


@pytest.mark.parametrize(
    ("options", "result"),
    [
        ({}, "file café i 1"),
        ({"lowercase": False}, "file Café I 1"),
        ({"unicode_form": "NFC"}, "ﬁle café i ①"),
        ({"unicode_form": "none"}, "ﬁle cafe\u0301 i ①"),
        ({"strip_accents": True}, "file cafe i 1"),
        ({"strip_accents": True, "unicode_form": "NFC"}, "ﬁle cafe i ①"),
        ({"strip_accents": True, "unicode_form": "none", "lowercase": False}, "ﬁle Cafe I ①"),
    ],
)
def test_normalising_by_option(options, result):
    assert normalise("ﬁle Cafe\u0301 I ①", **PLAIN | options) == result


def test_stripping_accents_keeps_hangul_syllables_whole():
    assert normalise("한국어", **PLAIN | {"strip_accents": True}) == "한국어"


def test_halves_of_surrogate_pairs_become_the_replacement_character():
    assert normalise("a\ud800b", **PLAIN) == "a\ufffdb"


def spans(text, **changes):
    encoding = build_tokenizer({UNKNOWN: 0}, **PLAIN | changes).encode(text)
    return [text[start:end] for start, end in widen_spans(text, encoding.offsets)]


def test_spans_point_into_the_original_text():
    assert spans("The ﬁnance ofﬁce's café") == ["The", "ﬁnance", "ofﬁce", "'s", "café"]
    assert spans("½ a… İx") == ["½", "½", "½", "a", "…", "İx"]


def test_spans_cover_accents_that_composing_joined_or_stripping_removed():
    assert spans("cafe\u0301 cafe\u0301s e\u0301") == ["cafe\u0301", "cafe\u0301s", "e\u0301"]
    assert spans("cafe\u0301 x", strip_accents=True) == ["cafe\u0301", "x"]
    assert spans("\u1112\u1161\u11ab x") == ["\u1112\u1161\u11ab", "x"]  # a Hangul syllable in three parts


def test_spans_are_named():
    assert widen_spans("e\u0301 x", [(0, 1), (3, 4)]) == [Span(start=0, end=2), Span(start=3, end=4)]
    assert widen_spans("", []) == []


@pytest.mark.parametrize("unit", ["a", "=", "a-", "1.", "é ", "'", "\\("])
def test_a_line_of_a_megabyte_is_cut(unit):
    began = time.process_time()
    assert cut(unit * (1_000_000 // len(unit)))
    assert time.process_time() - began < 20


def test_a_very_long_chain_of_numbers_stays_below_the_engines_limit():
    # A word has at most 32 parts: 1.5 million parts make 46,875 words; between two of them stands a point.
    assert len(cut("1." * 1_500_000)) == 2 * 1_500_000 // 32


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=40), OPTIONS)
def test_any_text_is_cut_and_its_spans_hold_its_words(text, options):
    tokenizer = build_tokenizer({UNKNOWN: 0}, **options)
    encoding = tokenizer.encode(text)
    normalised = normalise(text, **options)
    words = [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normalised)]
    found = widen_spans(text, encoding.offsets)
    assert len(found) == len(words)
    for word, (start, end) in zip(words, found, strict=True):
        assert 0 <= start < end <= len(text)
        assert word in normalise(text[start:end], **options)
    assert [start for start, _ in found] == sorted(start for start, _ in found)
    assert not any(character.isspace() for word in words for character in word)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("银行宣布。ABC股", ["银", "行", "宣", "布", "。", "abc", "股"]),
        ("コーヒーを 飲む", ["コ", "ー", "ヒ", "ー", "を", "飲", "む"]),
        ("ที่นี่", ["ที่", "นี่"]),  # each letter with its vowel sign and its tone mark
        ("한국어 단어", ["한국어", "단어"]),
        ("naïve état", ["naïve", "état"]),
    ],
)
def test_scripts_without_spaces_are_cut_into_letters(text, words):
    assert cut(text) == words


def test_a_text_may_be_cut_into_characters():
    assert cut("Été 1,5\u200d!", unit="character") == ["é", "t", "é", "1", ",", "5", "!"]
