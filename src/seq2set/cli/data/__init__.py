"""What the `data` verbs share: the corpora and formats that can be named, and the corpus that they name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from seq2set.cli.idle_options import refuse_unread
from seq2set.cli.options import Settings, build_data, read_summaries

if TYPE_CHECKING:
    from seq2set.corpora.prepared import PreparedCorpus

Data = Annotated[
    str, typer.Argument(metavar="DATA", help="A prepared folder, a known corpus, a file, or an AAPD folder.")
]


def list_formats() -> dict[str, str]:
    """Return the formats of files with their suffixes."""
    from seq2set.corpora.readers import FORMATS

    return {
        row.title: f"{', '.join(row.suffixes)}: {row.summary}" if row.suffixes else row.summary
        for row in FORMATS.values()
    }


_SOURCES = read_summaries("seq2set.corpora.sources:SOURCES", "title")
TABLES = {"Known corpora": _SOURCES, "Formats": list_formats}
"""What the help ends with"""


def open_data(data: str, columns: Settings) -> PreparedCorpus:
    """Open a corpus, and print what is to be known about it on standard error."""
    from seq2set.corpora.open_corpus import open_configured

    refuse_unread(data, columns)
    corpus = open_configured(build_data(data, columns))
    for remark in corpus.remarks:
        typer.echo(remark, err=True)
    return corpus


def count_documents(corpus: PreparedCorpus) -> int:
    """Return how many documents the three splits have."""
    from seq2set.corpora.documents import SPLITS

    return sum(len(corpus.split(name)) for name in SPLITS)
