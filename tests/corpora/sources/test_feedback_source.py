from __future__ import annotations

import asyncio
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from seq2set.core.errors import CorpusError, InputError
from seq2set.corpora.open_corpus import prepare_source
from seq2set.corpora.prepare import PrepareOptions
from seq2set.corpora.sources import read_source
from seq2set.server.feedback_store import Feedback, FeedbackStore


def kept(path: Path, *said: Feedback) -> Path:
    store = FeedbackStore(path, "a model")

    async def keep() -> None:
        for one in said:
            await store.add(one)

    asyncio.run(keep())
    store.close()
    return path


def test_accepted_and_added_labels_are_the_texts_labels(tmp_path: Path) -> None:
    path = kept(
        tmp_path / "f.sqlite",
        Feedback("wheat", ["grain"], ["oil"], ["new"]),
        Feedback("nothing", rejected=["oil"]),
        Feedback("a\0b", added=["x"]),
    )
    reading = read_source("feedback", path, PrepareOptions(seed=7))
    assert [tuple(one)[:3] for one in reading] == [
        ("text-1", "wheat", ("grain", "new")),
        ("text-2", "nothing", ()),
        ("text-3", "a b", ("x",)),
    ]
    assert reading.notes == {"feedback": {"texts": 3, "times": 3}}
    assert reading.plan.seed == 7


def test_the_last_word_on_a_text_counts(tmp_path: Path) -> None:
    path = kept(
        tmp_path / "f.sqlite",
        Feedback("wheat", ["grain"]),
        Feedback("oil", ["oil"]),
        Feedback("wheat", added=["trade"]),
    )
    reading = read_source("feedback", path, PrepareOptions())
    assert [(one.text, one.labels) for one in reading] == [("wheat", ("trade",)), ("oil", ("oil",))]
    assert reading.notes == {"feedback": {"texts": 2, "times": 3}}


def test_feedback_becomes_a_prepared_corpus_while_a_server_goes_on_writing(tmp_path: Path) -> None:
    path = tmp_path / "f.sqlite"
    kept(path, *(Feedback(f"text {number} " + "long " * 600, ["grain"]) for number in range(10)))
    store = FeedbackStore(path, "a model")
    asyncio.run(store.add(Feedback("short", ["oil"])))
    corpus = prepare_source("feedback", path, tmp_path / "corpus")
    store.close()
    sizes = [len(corpus.split(name)) for name in ("train", "valid", "test")]
    assert (sum(sizes), corpus.name, corpus.facts["max_words"]) == (11, "feedback", None)
    assert corpus.facts["counts"]["labels"] == 2


def test_what_is_no_feedback_database_is_refused(tmp_path: Path) -> None:
    def read(path: Path) -> None:
        list(read_source("feedback", path, PrepareOptions()))

    with pytest.raises(CorpusError, match="the file does not exist"):
        read(tmp_path / "missing")
    empty, noise = tmp_path / "empty.sqlite", tmp_path / "noise"
    empty.touch()
    noise.write_bytes(b"noise" * 1000)
    with pytest.raises(CorpusError, match="the database is empty; a feedback database is expected"):
        read(empty)
    with pytest.raises(CorpusError, match="cannot be read as a feedback database: file is not a database"):
        read(noise)
    path = kept(tmp_path / "f.sqlite")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE schema_version SET version = 9")
    with pytest.raises(CorpusError, match="f.sqlite: the feedback database has version 9"):
        read(path)


def test_there_is_one_split_and_a_path_is_needed() -> None:
    with pytest.raises(InputError, match="feedback has one split only"):
        read_source("feedback", Path("x"), PrepareOptions(split="sgm"))
    with pytest.raises(InputError, match="seq2set data prepare feedback --from PATH"):
        prepare_source("feedback")


@pytest.mark.parametrize(
    ("change", "documents"),
    [
        ("UPDATE texts SET text = CAST('wheat' AS BLOB)", [("wheat", ("grain",))]),
        ("UPDATE feedback_labels SET label = CAST('oil' AS BLOB)", [("wheat", ("oil",))]),
        ("UPDATE texts SET text = 42", [("42", ("grain",))]),
    ],
)
def test_values_of_other_types_are_read_as_text(
    change: str, documents: list[tuple[str, tuple[str, ...]]], tmp_path: Path
) -> None:
    path = kept(tmp_path / "f.sqlite", Feedback("wheat", ["grain"]))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(change)
        connection.commit()
    assert [(one.text, one.labels) for one in read_source("feedback", path, PrepareOptions())] == documents


def test_a_label_has_a_limit(tmp_path: Path) -> None:
    path = kept(tmp_path / "f.sqlite", Feedback("wheat", ["grain"]))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE feedback_labels SET label = printf('%.*c', 16777217, 'x')")
        connection.commit()
    with pytest.raises(CorpusError, match="the record has more than 16,777,216 characters"):
        list(read_source("feedback", path, PrepareOptions()))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "f.sqlite")
    with pytest.raises(CorpusError, match="this is a pipe or a device; a file is expected here"):
        list(read_source("feedback", tmp_path / "f.sqlite", PrepareOptions()))
