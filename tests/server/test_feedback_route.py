from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from running_servers import Running, Start, refused

from seq2set.core.errors import OutputError
from seq2set.server.feedback_store import FeedbackStore
from seq2set.server.served_model import OpenedModel


def rows(path: Path, query: str) -> list[tuple]:  # type: ignore[type-arg]
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def test_feedback_is_on_the_disk_when_it_is_acknowledged(
    start: Start, tmp_path: Path, served: OpenedModel
) -> None:
    path = tmp_path / "new" / "feedback.sqlite"
    server = start(feedback=path)
    said = {"text": "wheat", "accepted": ["grain"], "rejected": ["oil"], "added": [" rare bird ", "trade"]}
    answer = server.client.post("/v1/feedback", json=said)
    assert (answer.status_code, answer.json()) == (201, {"id": 1})
    assert rows(path, "SELECT version FROM schema_version") == [(1,)]
    assert rows(path, "SELECT text, model FROM texts JOIN feedback ON text_id = texts.id") == [
        ("wheat", served.served.manifest["files"]["model.safetensors"]["sha256"][:16])
    ]
    assert rows(path, "SELECT label, verdict FROM feedback_labels ORDER BY place") == [
        ("grain", "accepted"),
        ("oil", "rejected"),
        ("rare bird", "added"),
        ("trade", "added"),
    ]
    assert rows(path, "PRAGMA journal_mode") == [("wal",)]
    again = server.client.post("/v1/feedback", json={"text": "wheat"})
    assert again.json() == {"id": 2}
    assert rows(path, "SELECT count(*) FROM texts") == [(1,)]
    assert "seq2set_feedback_total 2.0" in server.client.get("/metrics").text


def test_a_second_server_goes_on_with_the_same_database(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "feedback.sqlite"
    numbers = []
    for _ in range(2):
        server = start(feedback=path)
        numbers.append(server.client.post("/v1/feedback", json={"text": "a"}).json()["id"])
    assert numbers == [1, 2]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({}, "text is missing"),
        (
            {"text": "a", "accepted": ["gran"]},
            "label 'gran' is not known to the model; only added may name such labels",
        ),
        (
            {"text": "a", "accepted": ["oil"], "rejected": ["oil"]},
            "label 'oil' appears more than once",
        ),
        ({"text": "a", "added": ["  "]}, "a label is empty; it must hold a character that is not a space"),
        ({"text": "a", "added": [""]}, "added.0: string should have at least 1 character"),
        ({"text": "a", "added": ["x" * 201]}, "added.0: string should have at most 200 characters"),
        (
            {"text": "a", "added": [str(number) for number in range(101)]},
            "added: list should have at most 100 items after validation, not 101",
        ),
        ({"text": "a", "added": "oil"}, "added: input should be a valid list"),
    ],
)
def test_wrong_feedback_is_one_sentence_and_is_not_kept(shared: Running, said: dict, message: str) -> None:
    refused(shared.client.post("/v1/feedback", json=said), 422, "invalid", message)
    assert rows(shared.app.state.service.store.path, "SELECT count(*) FROM feedback") == [(0,)]


def test_a_text_that_is_too_long_is_refused(start: Start, tmp_path: Path) -> None:
    server = start(feedback=tmp_path / "f.sqlite", max_text_chars=3)
    answer = server.client.post("/v1/feedback", json={"text": "four"})
    refused(answer, 413, "too_large", "text has 4 characters; at most 3 are allowed")


def test_without_a_database_feedback_is_refused(start: Start) -> None:
    answer = start().client.post("/v1/feedback", json={"text": "a"})
    refused(answer, 404, "feedback_off", "no feedback is kept here; start the server with --feedback")


def test_what_cannot_be_written_is_not_acknowledged(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "feedback.sqlite"
    server = start(feedback=path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE feedback_labels")
    answer = server.client.post("/v1/feedback", json={"text": "a", "added": ["b"]})
    refused(answer, 503, "unavailable", "the feedback could not be kept: no such table: feedback_labels")
    assert rows(path, "SELECT count(*) FROM feedback") == [(0,)]  # nor is a half of it kept


def test_what_is_no_feedback_database_is_refused(tmp_path: Path) -> None:
    noise = tmp_path / "noise.sqlite"
    noise.write_bytes(b"no database at all" * 100)
    with pytest.raises(OutputError, match=f"cannot keep feedback in {noise}: file is not a database"):
        FeedbackStore(noise, "m")
    other = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE birds (name TEXT)")
    with pytest.raises(OutputError, match="the database holds other tables; a feedback database is expected"):
        FeedbackStore(other, "m")
    newer = tmp_path / "newer.sqlite"
    FeedbackStore(newer, "m").close()
    with closing(sqlite3.connect(newer)) as connection, connection:
        connection.execute("UPDATE schema_version SET version = 2")
    with pytest.raises(OutputError, match="has version 2, and this version of seq2set reads 1"):
        FeedbackStore(newer, "m")
    with pytest.raises(OutputError, match="cannot write to .*a part of the path is a file, not a folder"):
        FeedbackStore(noise / "f.sqlite", "m")
