"""Texts as the sub-words of a pretrained encoder: numbers for the network, and places in the text."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from seq2set.config import Config
from seq2set.core.text_utils import Span, replace_surrogates
from seq2set.nn.pretrained.encoder_parts import Marks, find_marks, open_tokenizer, report_panics
from seq2set.nn.pretrained.encoder_source import EncoderSource, find_source

FIRST = 2
"""The number of the encoder's first sub-word; 0 is padding and 1 stands for a text without any."""


class Subwords:
    """The tokens of an encoder; the network cuts windows and puts marks at their ends."""

    def __init__(self, source: EncoderSource):
        self.source = source
        self._tokenizer: Any = open_tokenizer(source.tokenizer, source.settings, source.folder.path)
        self._tokenizer.encode_special_tokens = True  # a text that says "[SEP]" says just that

    def encode(self, texts: Iterable[str]) -> list[npt.NDArray[np.int32]]:
        """Return the numbers of each text's sub-words."""
        clean = [replace_surrogates(text) for text in texts]
        with report_panics(self.source.folder.path):
            encoded = self._tokenizer.encode_batch_fast(clean, add_special_tokens=False)
        return [np.array(one.ids, np.int32) + np.int32(FIRST) for one in encoded]

    def spans(self, text: str) -> list[Span]:
        """Return where in a text each of its sub-words stands."""
        encoding = self._tokenizer.encode(replace_surrogates(text), add_special_tokens=False)
        return [Span(start, end) for start, end in encoding.offsets]

    @cached_property
    def marks(self) -> Marks:
        """What stands before and behind every window."""
        return find_marks(self._tokenizer)

    @cached_property
    def nothing(self) -> int:
        """The sub-word that stands for a text without any: the unknown one, or the first mark."""
        names = ("[UNK]", "<unk>", "[MASK]", "<mask>")
        found = (self._tokenizer.token_to_id(name) for name in names)
        return next((one for one in found if one is not None), next(iter(self.marks.before), 0))

    def facts(self) -> dict[str, Any]:
        """Return what a model records of the encoder."""
        return self.source.facts()

    def files(self) -> dict[str, str]:
        """Return the files that a model folder has of the encoder."""
        return self.source.files()


def open_subwords(config: Config) -> Subwords:
    """Open the tokens of the encoder that the settings name."""
    return Subwords(find_source(config))
