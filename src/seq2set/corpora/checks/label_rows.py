"""Tables with one row per document and label, which look like a corpus of documents with one label each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from seq2set.corpora.checks import CheckedDocument, ExampleCounter, Finding, format_share

LEAST_REPEATED = 0.2
"""From this share of rows on that repeat a text with another label, a row stands for one label."""

ROWS_READ = 20_000
"""How many rows are looked at."""

JOIN = (
    "join the rows of a text, for example with pandas: pd.read_csv('rows.csv').groupby('text', sort=False)"
    "['labels'].agg(';'.join).reset_index().to_csv('joined.csv', index=False)"
)


class RowsPerLabel:
    """Finds texts that are repeated with other labels, where no document has two labels."""

    def __init__(self) -> None:
        self._first: dict[bytes, str] = {}
        self._repeated = ExampleCounter()
        self._rows = 0
        self._has_sets = False

    def see(self, row: CheckedDocument) -> None:
        """Take in one document."""
        self.add(row.document.text, row.document.labels, row.document.id)

    def add(self, text: str, labels: Sequence[str], name: str = "") -> bool:
        """Take in the labels of a text; false says that nothing depends on further ones."""
        if self._has_sets or self._rows >= ROWS_READ:
            return False
        self._rows += 1
        self._has_sets = len(labels) > 1
        if len(labels) == 1 and text.strip():
            digest = hashlib.blake2b(text.strip().encode("utf-8", "surrogatepass"), digest_size=8).digest()
            if self._first.setdefault(digest, labels[0]) != labels[0]:
                self._repeated.add(name)
        return True

    def findings(self) -> Iterator[Finding]:
        """Yield that rows are labels, if they seem to be."""
        count = self._repeated.count
        if self._has_sets or not count or count < LEAST_REPEATED * self._rows:
            return
        yield Finding(
            code="one-row-per-label",
            level="error",
            what=f"{format_share(count, self._rows)} rows repeat the text of another with another label, and "
            "none has two labels: it looks like one row per label",
            count=count,
            examples=self._repeated.examples,
            why="a model learns that documents have one label, and copies of texts stand in several splits",
            todo=JOIN,
        )
