"""RCV1-v2 as LYRL2004 distributes it: files of tokens, and topics in a file of judgements.

A token file holds blocks: `.I` and the id, `.W`, lines of tokens, an empty line. The judgements
(`rcv1-v2.topics.qrels`) hold a topic, an id and a 1 a line.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from seq2set.corpora.document import Document
from seq2set.corpora.streams import numbered_lines
from seq2set.errors import CorpusError


class Topics:
    """The topics of each id, in two arrays sorted by id: the 2.6 million pairs of RCV1 take 21 MB."""

    def __init__(self, path: Path, encoding: str = "utf-8"):
        codes: dict[str, int] = {}
        ids, topics = array("i"), array("i")
        for line in numbered_lines(path, encoding):
            fields = line.text.split()
            if not fields:
                continue
            if len(fields) != 3 or not _is_id(fields[1]):
                raise CorpusError(
                    f"the line is '{line.text[:60]}'; it must be a topic, an id and a 1", path, line.number
                )
            ids.append(int(fields[1]))
            topics.append(codes.setdefault(fields[0], len(codes)))
        order = np.argsort(np.array(ids, np.int32), kind="stable")
        self._ids, self._topics = np.array(ids, np.int32)[order], np.array(topics, np.int32)[order]
        self._names = list(codes)

    def of(self, number: int) -> tuple[str, ...]:
        """Return the topics of one id, in the order of the file, each once."""
        # Keys of the same type: with any other, the whole table would be converted at each call.
        first, last = np.searchsorted(self._ids, np.array([number, number + 1], np.int32))
        return tuple(dict.fromkeys(self._names[code] for code in self._topics[first:last]))


def read_tokens(path: Path, topics: Topics, split: str | None, encoding: str = "utf-8") -> Iterator[Document]:
    """Give the documents of a token file one by one; their texts are the tokens with spaces between."""
    number: int | None = None
    tokens: list[str] = []
    for line in numbered_lines(path, encoding):
        if line.text.startswith(".I"):
            if number is not None:
                yield _document(number, tokens, topics, split)
            number, tokens = _id(line.text, path, line.number), []
        elif number is None and line.text.strip():
            raise CorpusError(
                f"the line is '{line.text[:60]}'; a token file must begin with '.I' and an id",
                path,
                line.number,
            )
        elif line.text.strip() != ".W":
            tokens.extend(line.text.split())
    if number is not None:
        yield _document(number, tokens, topics, split)


def _is_id(text: str) -> bool:
    return text.isdecimal() and len(text) <= 9  # what 32 bits hold for certain


def _id(text: str, path: Path, line: int) -> int:
    number = text[2:].strip()
    if not _is_id(number):
        raise CorpusError(f"the line is '{text[:60]}'; after '.I' an id must follow", path, line)
    return int(number)


def _document(number: int, tokens: list[str], topics: Topics, split: str | None) -> Document:
    return Document(str(number), " ".join(tokens), topics.of(number), split)
