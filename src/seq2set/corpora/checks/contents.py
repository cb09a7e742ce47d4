"""What a corpus holds: documents without text or labels, and damaged characters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from seq2set.core.text_utils import replace_surrogates
from seq2set.corpora.checks import CheckedDocument, ExampleCounter, Finding, format_share
from seq2set.corpora.own_files import MARKUP_SHARE
from seq2set.corpora.readers.cells.markup import has_markup
from seq2set.text.tokenizer import build_tokenizer

TEXTLESS_SHARE = 0.05
"""Above this share of train without text, the wrong column was probably read."""

UNSPLIT_SHARE = 0.01
"""Above this share of texts that are hardly split into words, models miss something."""

UNLABELLED_SHARE = 0.1
"""Above this share of train without labels, models learn to give none."""


class Contents:
    """Finds documents without text and documents without labels."""

    def __init__(self, words_read: int | None = None) -> None:
        self._words_read = words_read
        self._textless, self._unlabelled, self._long = ExampleCounter(), ExampleCounter(), ExampleCounter()
        self._all: Counter[str] = Counter()
        self._without_text: Counter[str] = Counter()
        self._without_labels: Counter[str] = Counter()

    def see(self, row: CheckedDocument) -> None:
        """Take in one document."""
        self._all[row.split] += 1
        if not row.words:
            self._textless.add(row.document.id)
            self._without_text[row.split] += 1
        if self._words_read is not None and len(row.words) > self._words_read:
            self._long.add(row.document.id)
        if not row.document.labels:
            self._unlabelled.add(row.document.id)
            self._without_labels[row.split] += 1

    def findings(self) -> Iterator[Finding]:
        """Yield how many documents lack what."""
        total = self._all.total()
        if self._textless.count:
            many = self._without_text["train"] > TEXTLESS_SHARE * self._all["train"]
            yield self._textless.make_finding(
                "documents-without-text",
                "error" if many else "warning",
                f"{format_share(self._textless.count, total)} documents have no text",
                why="a model can only guess the labels of an empty text, and learns to guess from it",
                todo="see whether the right text column was named, and remove the documents that are empty",
            )
        if self._unlabelled.count:
            yield self._describe_unlabelled(total)
        if self._long.count:
            limit = self._words_read
            yield self._long.make_finding(
                "long-texts",
                "note",
                f"{format_share(self._long.count, total)} documents have more than {limit} words",
                f"a network reads the first {limit} words under the preset `compact`; linear models read all",
                "raise encoder.max_words where what counts stands further back; training then takes longer",
            )

    def _describe_unlabelled(self, total: int) -> Finding:
        bare, train = self._without_labels["train"], self._all["train"]
        none = 0 < train == bare
        return self._unlabelled.make_finding(
            "documents-without-labels",
            "error" if none else "warning" if bare > UNLABELLED_SHARE * train else "note",
            f"{format_share(self._unlabelled.count, total)} documents have no labels"
            + (", among them all of train" if none else ""),
            why="where a label is missing rather than meant to be absent, a model learns to leave it out",
            todo="keep them if they truly have no labels; otherwise label them or remove them",
        )


LONG_WORD = 25
"""Texts whose words have more characters than this on average are hardly split into words."""


class UnsplitTexts:
    """Finds texts that are hardly split into words: joined words, codes, or a script without spaces."""

    def __init__(self) -> None:
        self._tally, self._documents = ExampleCounter(), 0
        self._cut = build_tokenizer(
            {}, lowercase=False, unicode_form="none", strip_accents=False
        ).pre_tokenizer

    def see(self, row: CheckedDocument) -> None:
        """Take in one document."""
        self._documents += 1
        # Most texts have enough spaces, and need not be cut as a model cuts them.
        if sum(map(len, row.words)) > LONG_WORD * len(row.words):
            words = [word for word, _ in self._cut.pre_tokenize_str(replace_surrogates(row.document.text))]
            if sum(map(len, words)) > LONG_WORD * len(words):
                self._tally.add(row.document.id)

    def findings(self) -> Iterator[Finding]:
        """Yield how many texts are hardly split."""
        if self._tally.count:
            yield self._tally.make_finding(
                "texts-hardly-split",
                "warning" if self._tally.count > UNSPLIT_SHARE * self._documents else "note",
                f"{format_share(self._tally.count, self._documents)} texts are hardly split into words: "
                f"more than {LONG_WORD} characters each on average",
                why="words that occur once teach a model nothing",
                todo="cut them into characters: --set text.unit=character --set features.ngrams=4",
            )


# The bytes 80 to BF, which continue a character in UTF-8, as Latin-1 and Windows-1252 show them.
_BYTES = [bytes([byte]) for byte in range(0x80, 0xC0)]
_CONTINUED = "".join(byte.decode("latin-1") + byte.decode("cp1252", "ignore") for byte in _BYTES)
# Only first bytes that do not end words of real languages in front of a quotation mark or a sign are
# looked for: A with circumflex or tilde; a with circumflex, i with diaeresis and eth with two or three.
_MOJIBAKE = re.compile(f"[ÂÃ][{_CONTINUED}]|[âï][{_CONTINUED}]{{2}}|ð[{_CONTINUED}]{{3}}")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class _Kind(NamedTuple):
    is_in: Callable[[str], object]
    what: str
    why: str
    todo: str


_KINDS = {
    "replacement-characters": _Kind(
        re.compile("\ufffd").search,
        "documents hold the replacement character U+FFFD",
        "letters were lost when the text was decoded, so words fall apart into unknown ones",
        "read the source again with its true encoding (--encoding)",
    ),
    "mojibake": _Kind(
        _MOJIBAKE.search,
        "documents hold letters that look like UTF-8 read as another encoding",
        "a word spelt in two ways is two words to a model",
        "read the source again as UTF-8 (--encoding utf-8), or repair its texts",
    ),
    "control-characters": _Kind(
        _CONTROL.search,
        "documents hold control characters",
        "they split or join words, and tools that read the corpus may stop at them",
        "remove them from the source, or see whether it was read with its true encoding (--encoding)",
    ),
    "markup": _Kind(
        has_markup,
        "documents hold HTML tags or entities",
        "the names of tags and entities become words, and entities cut words in two",
        "remove it when the file is read (--strip-html)",
    ),
}


class Damage:
    """Finds damaged characters and left-over markup in texts and labels."""

    def __init__(self) -> None:
        self._tallies = {code: ExampleCounter() for code in _KINDS}
        self._documents = 0

    def see(self, row: CheckedDocument) -> None:
        """Take in one document."""
        self._documents += 1
        whole = "\n".join((row.document.text, *row.document.labels))
        letters = () if whole.isascii() else ("replacement-characters", "mojibake")  # most texts are
        for code in (*letters, "control-characters", "markup"):
            if _KINDS[code].is_in(whole):
                self._tallies[code].add(row.document.id)

    def findings(self) -> Iterator[Finding]:
        """Yield how many documents are damaged in which way."""
        for code, tally in self._tallies.items():
            if tally.count:
                kind = _KINDS[code]
                few = code == "markup" and tally.count <= MARKUP_SHARE * self._documents
                what = f"{format_share(tally.count, self._documents)} {kind.what}"
                yield tally.make_finding(code, "note" if few else "warning", what, kind.why, kind.todo)
