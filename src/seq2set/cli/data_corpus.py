"""The corpus that `data stats` and `data check` read, opened as their options say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from seq2set.corpora.prepared import PreparedCorpus

Data = Annotated[
    str, typer.Argument(metavar="DATA", help="A prepared folder, a known corpus, a file, or an AAPD folder.")
]


def open_data(
    data: str,
    text: str,
    labels: str,
    id_column: str,
    separator: str | None,
    encoding: str,
    keep_missing: bool,
) -> PreparedCorpus:
    """Open a corpus, and print what is to be known about it on standard error."""
    from seq2set.corpora.open_corpus import open_corpus
    from seq2set.corpora.readers.records import AUTO, ReadOptions

    read = ReadOptions(
        text=text,
        labels=labels,
        id=id_column,
        split=AUTO,
        separator=separator,
        encoding=encoding,
        keep_missing=keep_missing,
    )
    corpus = open_corpus(data, read)
    for remark in corpus.remarks:
        typer.echo(remark, err=True)
    return corpus


def count_documents(corpus: PreparedCorpus) -> int:
    """Return how many documents the three splits have."""
    from seq2set.corpora.documents import SPLITS

    return sum(len(corpus.split(name)) for name in SPLITS)
