"""The SGML files of the Reuters-21578 distribution.

They are not XML: attributes and elements are regular enough for patterns, control characters stand there
as `&#2;`, and the odd byte is Latin-1. A text of type BRIEF has a title only, and what follows it is either
nothing or the placeholder "Blah blah blah."; one of type UNPROC has neither title nor body, and is taken
whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from seq2set.errors import CorpusError

_STORY = re.compile(r"<REUTERS\b([^>]*)>(.*?)</REUTERS>", re.DOTALL)
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_TEXT = re.compile(r"<TEXT\b([^>]*)>(.*?)</TEXT>", re.DOTALL)
_ENTITY = re.compile(r"&(?:#(\d+)|(\w+));")
_CHARACTERS = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_PLACEHOLDER = re.compile(r"(blah\W*)+", re.IGNORECASE)


class Story(NamedTuple):
    """One story, with what the ModApte split looks at: `TOPICS` and `LEWISSPLIT`."""

    id: str
    has_topics: str
    lewis_split: str
    topics: tuple[str, ...]
    text: str


def stories(content: str, place: str) -> Iterator[Story]:
    """Give the stories of one file."""
    count = 0
    for count, match in enumerate(_STORY.finditer(content), start=1):
        attributes = dict(_ATTRIBUTE.findall(match[1]))
        missing = {"NEWID", "TOPICS", "LEWISSPLIT"} - attributes.keys()
        if missing:
            raise CorpusError(f"story {count} has no attribute {min(missing)}", place)
        topics = re.findall(r"<D>(.*?)</D>", _inside("TOPICS", match[2]))
        yield Story(
            attributes["NEWID"],
            attributes["TOPICS"],
            attributes["LEWISSPLIT"],
            tuple(dict.fromkeys(topics)),
            _text(match[2]),
        )
    opened = content.count("<REUTERS ")
    if opened == 0 or opened != count:
        raise CorpusError(
            f"{opened:,} stories begin and {count:,} are complete; whole SGML files are wanted", place
        )


def tidy(text: str) -> str:
    """Resolve entities, drop control characters and even out white space."""
    return " ".join(_CONTROL.sub(" ", _ENTITY.sub(_resolved, text)).split())


def title_and_body(title: str, body: str) -> str:
    """Join a title and a body, and drop a body that is a placeholder."""
    title, body = tidy(title), tidy(body)
    return title if _PLACEHOLDER.fullmatch(body) else f"{title} {body}".strip()


def _text(story: str) -> str:
    match = _TEXT.search(story)
    if match is None:
        return ""
    if 'TYPE="UNPROC"' in match[1]:
        return tidy(match[2])
    return title_and_body(_inside("TITLE", match[2]), _inside("BODY", match[2]))


def _inside(element: str, text: str) -> str:
    _, found, rest = text.partition(f"<{element}>")
    return rest.partition(f"</{element}>")[0] if found else ""


def _resolved(match: re.Match[str]) -> str:
    if match[1]:
        code = int(match[1])
        return chr(code) if code <= 0x10FFFF else " "
    return _CHARACTERS.get(match[2], match[0])
