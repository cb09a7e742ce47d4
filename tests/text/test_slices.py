from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2set.core.text_utils import replace_surrogates
from seq2set.text import slices
from seq2set.text.slices import LOOK_AHEAD, encode_slices
from seq2set.text.tokenizer import build_tokenizer

ODD = (
    "aé1.,-'’\\ \n()\u0301\u0323\u200d\u200b\u00ad\ufb03½℀ำกา麦か\u3099ｶﾞ가각\u1100\u1161\u11a8ΣςİK&_\ud800😀"
)
"""Letters that join, part, vanish or become several, and marks on which the end of a word depends."""
OPTIONS = st.fixed_dictionaries(
    {
        "lowercase": st.booleans(),
        "unicode_form": st.sampled_from(["NFC", "NFKC", "none"]),
        "strip_accents": st.booleans(),
        "unit": st.sampled_from(["word", "character"]),
    }
)


@settings(max_examples=200, deadline=None)
@given(st.text(ODD, max_size=150) | st.text(max_size=150), OPTIONS, st.integers(1, 40))
def test_slices_have_the_words_of_the_whole_text(text: str, options: dict[str, Any], size: int) -> None:
    tokenizer = build_tokenizer({"[unk]": 0, "a": 1, "é": 2, "12.1": 3}, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slices, "SLICE", size)
        found = list(encode_slices(tokenizer, text))
    whole = tokenizer.encode(replace_surrogates(text), add_special_tokens=False)
    assert [number for one in found for number in one.ids] == whole.ids
    assert [tuple(span) for one in found for span in one.places.tolist()] == whole.offsets


def test_a_slice_ends_before_words_that_may_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    # The first slice ends in the middle of `1.2`, so that it has 13 words, the last of them `1` and `.`.
    # Eight are left: the next begins with the sixth, at place 10.
    monkeypatch.setattr(slices, "SLICE", 24)
    tokenizer = build_tokenizer({"[unk]": 0}, lowercase=True, unicode_form="NFKC", strip_accents=False)
    first, second = encode_slices(tokenizer, "a b c d e f g h i j k 1.2 m n")
    assert (LOOK_AHEAD, first.kept, second.start) == (8, 5, 10)
    assert len(second.ids) == 9


MEASURE = """
import resource
from seq2set.text.vocabulary import Words
words = Words.build(["a"], vocabulary_size=9, min_frequency=1, lowercase=True, unicode_form="NFKC",
                    strip_accents=False)
words.encode(["\\u9ea6,"])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert len(words.flat_encode(["\\u9ea6," * 50_000] * 8).ids) == 800_000
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts kilobytes")
def test_long_texts_take_little_memory() -> None:
    # Whole, each of the texts took 40 MB; their numbers take 3.2 MB, and as much again while they are joined.
    grown = int(subprocess.check_output([sys.executable, "-c", MEASURE], text=True))
    assert grown < 24_000
