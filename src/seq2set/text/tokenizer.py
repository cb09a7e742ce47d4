r"""Texts into words: normalising and tokenising, without state.

What is a word here was chosen so that corpora which come tokenised (AAPD, RCV1) keep their tokens, and raw
text is cut in the same places:

- letters, marks, digits and underscores; hyphens and ampersands inside (`state-of-the-art`, `R&D`), and
  points and commas between digits (`3.5`, `1,000`), belong to the word;
- an apostrophe with one or two letters after it is a token of its own: `dog's` and `dog 's` are the same two;
- a backslash goes with the mark it escapes: `\(` is one token;
- every other mark is a token, a run of the same mark is one (`...`, two quotes, a ruled line);
- a letter of Chinese, Japanese, Thai or another script without spaces between words is a word; runs of two of
  them are terms of the linear models, as they are of all words;
- white space and control characters separate words; invisible format characters (soft hyphens, joiners, byte
  order marks) are removed, but a zero-width space separates.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from seq2set.text.spans import Spans

UnicodeForm = Literal["NFC", "NFKC", "none"]
"""The normal forms that a text can be brought to; `none` leaves it as it is."""

Unit = Literal["word", "character"]
"""What a text is cut into."""

UNKNOWN = "[unk]"
"""The token of words outside the vocabulary; no text yields it, since brackets are tokens themselves."""

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_LETTER = rf"[[\p{{L}}\p{{M}}\p{{N}}_]&&[^{_UNSPACED}]]"
_INNER = r"(?:[-\u2010&]|(?<=\p{N})[.,](?=\p{N}))"
_MARK = r"[^\s\p{Cc}\p{Cf}]"


# The regular expression engine gives up after ten million steps inside one match: a word of bounded
# many parts keeps `1.1.1.1...` over ten megabytes from getting there.
def _list_tokens(letter: str) -> list[str]:
    return [
        rf"{letter}++(?:{_INNER}{letter}++){{0,31}}",
        rf"['’]\p{{L}}{{1,2}}(?!{letter})",
        rf"\\(?!{letter}){_MARK}",
        rf"({_MARK})\1*+",
    ]


_TOKEN = "|".join([rf"[\p{{L}}&&[{_UNSPACED}]]\p{{M}}*+", *_list_tokens(_LETTER)])
_FORMER_TOKEN = "|".join(_list_tokens(r"[\p{L}\p{M}\p{N}_]"))  # of models from before scripts without spaces
_CHARACTER = rf"{_MARK}\p{{M}}*+"
_INVISIBLE = r"[\p{Cf}&&[^\u200B]]"
_COMPOSED = {"NFC": normalizers.NFC, "NFKC": normalizers.NFKC}
_DECOMPOSED = {"NFC": normalizers.NFD, "NFKC": normalizers.NFKD, "none": normalizers.NFD}


def count_words(text: str) -> int:
    """Count the words between white space, the unit in which the paper measures documents."""
    return len(text.split())


def build_tokenizer(
    words: Mapping[str, int],
    *,
    lowercase: bool,
    unicode_form: UnicodeForm,
    strip_accents: bool,
    unit: Unit = "word",
) -> Tokenizer:
    """Build a tokeniser that gives each of `words` its number, and all others that of `UNKNOWN`."""
    tokenizer = Tokenizer(models.WordLevel(dict(words), unk_token=UNKNOWN))
    steps: list[normalizers.Normalizer] = [normalizers.Replace(Regex(_INVISIBLE), "")]
    if strip_accents:
        # Accents come off decomposed letters only; composing again keeps Hangul syllables whole.
        steps += [_DECOMPOSED[unicode_form](), normalizers.StripAccents(), normalizers.NFC()]
    elif unicode_form != "none":
        steps.append(_COMPOSED[unicode_form]())
    if lowercase:
        steps.append(normalizers.Lowercase())
    tokenizer.normalizer = normalizers.Sequence(steps)
    pattern = Regex(_TOKEN if unit == "word" else _CHARACTER)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(pattern, behavior="removed", invert=True)
    return tokenizer


def read_tokenizer(text: str) -> tuple[Tokenizer, list[str]]:
    """Read a tokeniser that `build_tokenizer` made, of this version or an earlier one; ValueError for others.

    Its words come beside it, in the order of their numbers. The library has parts by which a file could take
    any time or memory: regular expressions, chains of replacements, padding. Ours are all known, so no other
    is let in.
    """
    try:
        whole = json.loads(text)
        words = whole["model"]["vocab"]
        parts = {name: value for name, value in whole.items() if value and name not in ("version", "model")}
        known = (
            parts.keys() == {"normalizer", "pre_tokenizer"}
            and parts["pre_tokenizer"] in _SPLITS
            and parts["normalizer"] in _list_normalisers()
            and whole["model"] == {"type": "WordLevel", "vocab": words, "unk_token": UNKNOWN}
        )
        ordered = sorted(words, key=words.__getitem__) if known else []
        numbers = [words[word] for word in ordered]
    except (AttributeError, KeyError, RecursionError, TypeError) as error:
        raise ValueError(f"it is not laid out as a tokeniser ({type(error).__name__})") from error
    if not known:
        raise ValueError("it has parts other than those that seq2set writes")
    if numbers != list(range(len(numbers))) or any(type(one) is not int for one in numbers):
        raise ValueError("its words are not numbered from 0 on, each once")
    # As it was checked, whatever a second reader makes of it; reading the words twice takes twice the time.
    tokenizer = Tokenizer.from_str(json.dumps(whole | {"model": whole["model"] | {"vocab": {}}}))
    tokenizer.model = models.WordLevel(words, unk_token=UNKNOWN)
    return tokenizer, ordered


_SPLITS = [
    {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Removed", "invert": True}
    for pattern in (_TOKEN, _FORMER_TOKEN, _CHARACTER)
]


def _list_normalisers() -> list[Any]:
    """Return the normalisers of all settings as the library writes them."""
    removed = {"type": "Replace", "pattern": {"Regex": _INVISIBLE}, "content": ""}
    forms = [["NFC"], ["NFKC"], [], ["NFD", "StripAccents", "NFC"], ["NFKD", "StripAccents", "NFC"]]
    tails = [[*form, *case] for form in forms for case in ([], ["Lowercase"])]
    return [
        {"type": "Sequence", "normalizers": [removed, *({"type": one} for one in tail)]} for tail in tails
    ]


def widen_spans(text: str, offsets: ArrayLike) -> Spans:
    """Widen the tokeniser's spans over the characters that composing joined to a word.

    The alignment of `e` + U+0301 to `é` covers the `e` only. What stands between two words and is no
    separator was swallowed by the first of them.
    """
    found = Spans(np.array(offsets, np.int32))
    ends = found.places[:, 1]
    limits = np.append(found.places[1:, 0], len(text))
    for place in np.flatnonzero(ends < limits[: len(ends)]).data:
        end = int(ends[place])
        limit = int(limits[place])
        while end < limit and not text[end].isspace() and unicodedata.category(text[end]) not in ("Cc", "Cf"):
            end += 1
        ends[place] = end
    return found
