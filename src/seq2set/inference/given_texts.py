"""Texts as they are given, read as the training read its own: without HTML where that was removed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape
from typing import TYPE_CHECKING

from seq2set.core.text_utils import Span
from seq2set.corpora.readers.cells.markup import TextCollector, strip_markup
from seq2set.models.predictions import Inference, Request

if TYPE_CHECKING:  # the server's front has no model
    from seq2set.models.tagger import Tagger

_ENTITY = r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[^\t\n\f <&#;]{1,32});?"


def strip_texts(tagger: Tagger, texts: Sequence[str], request: Request) -> Sequence[str]:
    """Return texts as a model is to read them; those of a corpus are so already, and must not come here."""
    wanted = tagger.config.data.strip_html if request.strip_html is None else request.strip_html
    return [strip_markup(text) for text in texts] if wanted else texts


def infer_given(tagger: Tagger, texts: Sequence[str], request: Request) -> Inference:
    """Score and choose labels for texts as they are given, and are shown: places of words count in these."""
    stripped = strip_texts(tagger, texts, request)
    found = tagger.infer(stripped, request)
    evidence = list(found.evidence or ())
    for row, reasons in enumerate(evidence):
        if stripped[row] != texts[row]:
            at = locate_letters(texts[row])
            evidence[row] = [
                tuple(one._replace(start=at[one.start].start, end=at[one.end - 1].end) for one in words)
                for words in reasons
            ]
    return found._replace(evidence=evidence or found.evidence)


def locate_letters(text: str) -> list[Span]:
    """Return where each letter of a text without its HTML stands in the text with it."""
    line, collector, places = text.replace("\n", " "), _PlaceCollector(), list[Span]()
    collector.feed(line)
    collector.close()
    for number, piece in enumerate(collector.pieces):
        begin = collector.begins.get(number, 0)  # spaces that stand for tags have none
        pattern = re.compile("." if line.startswith(piece, begin) else f"{_ENTITY}|.")
        found = (Span(*one.span()) for one in pattern.finditer(line, begin) for _ in unescape(one.group()))
        places += (place for place, _ in zip(found, piece, strict=False))
    words = re.finditer(r"\S+", "".join(collector.pieces))
    return [place for word in words for place in places[word.start() : word.end() + 1]]  # with a space


class _PlaceCollector(TextCollector):
    """Notes where in a text of one line each piece begins."""

    def __init__(self) -> None:
        super().__init__()
        self.begins = dict[int, int]()

    def handle_data(self, data: str) -> None:
        self.begins[len(self.pieces)] = self.getpos()[1]
        super().handle_data(data)
