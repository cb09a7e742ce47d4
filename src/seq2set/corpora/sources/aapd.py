"""AAPD, and arxiv2026, which has its layout and its sizes but is not AAPD.

Both are split as given. Labels that a document repeats are folded. What was read is compared with the
figures that are known of the two, and the notes say which of them was seen, so that results on other files
are never taken for results on AAPD. The paper's limit of 500 words applies: AAPD's published sizes are
after it, so that it removes nothing there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from seq2set.corpora.document import Document
from seq2set.corpora.readers.aapd import read_aapd
from seq2set.corpora.sources.aapd_figures import KNOWN, UNKNOWN, Figures, Tally, differences, recognise
from seq2set.corpora.sources.options import SourceOptions
from seq2set.corpora.sources.source import REPORT_AS, Notes, Reading, Source, remark
from seq2set.corpora.splits import SplitPlan
from seq2set.errors import CorpusError

_PLAN = SplitPlan("given", valid=0.1)


def _read_aapd(path: Path | None, options: SourceOptions) -> Reading:
    return _read("aapd", path, options)


def _read_arxiv2026(path: Path | None, options: SourceOptions) -> Reading:
    return _read("arxiv2026", path, options)


def _read(asked: str, path: Path | None, options: SourceOptions) -> Reading:
    options.chosen_split(asked)
    if path is None or not path.is_dir():
        raise CorpusError(
            f"{asked} needs the folder that holds text_train, label_train and so on: name it with --from",
            path,
        )
    notes: Notes = {}
    return Reading(_documents(asked, path, options.encoding or "utf-8", notes), options.plan(_PLAN), notes)


def _documents(asked: str, folder: Path, encoding: str, notes: Notes) -> Iterator[Document]:
    tally = Tally()
    yield from tally.counted(read_aapd(folder, encoding))
    figures = tally.figures()
    seen = recognise(figures)
    notes["recognised_as"] = seen
    if seen != asked:
        notes[REPORT_AS] = seen if seen != UNKNOWN else f"not-{asked}"
    notes["figures_as_read"] = figures._asdict()
    remark(notes, _verdict(asked, seen, figures))


def _verdict(asked: str, seen: str, figures: Figures) -> str:
    if seen == asked:
        return f"these files have the figures of {asked}"
    what = ", ".join(differences(figures, KNOWN[asked]))
    looks = "they are no corpus that is known" if seen == UNKNOWN else f"they have the figures of {seen}"
    return f"these files are not {asked}: {what}; {looks}, so do not report results on them as {asked}"


AAPD = Source(
    name="aapd",
    title="AAPD: abstracts of computer science papers with arXiv subjects",
    obtained="the six files of the AAPD layout (text_train, label_train, ...), which the user brings",
    licence="not stated by its authors",
    needs_path=True,
    read=_read_aapd,
    plan=_PLAN,
)

ARXIV2026 = Source(
    name="arxiv2026",
    title="arXiv abstracts of 2025-26 in the AAPD layout (not AAPD)",
    obtained="a folder in the AAPD layout, which the user brings",
    licence="arXiv metadata (CC0)",
    needs_path=True,
    read=_read_arxiv2026,
    plan=_PLAN,
)
