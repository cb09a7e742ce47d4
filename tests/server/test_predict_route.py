from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from running_servers import Running, Start, refused

from seq2set.config.catalog import SEARCHES
from seq2set.server.answers import LabelRequest
from seq2set.server.served_model import OpenedModel

TEXT = "wheat harvest bushels of crude barrels the market"
*FIRST, LAST = SEARCHES


def test_one_text_gets_the_labels_that_the_model_gives(shared: Running, served: OpenedModel) -> None:
    answer = shared.predict(text=TEXT)
    (given,) = served.predictor.predict([TEXT])
    expected = [{"label": one.label, "score": round(one.score, 6)} for one in given]
    assert {one["label"] for one in expected} == {"grain", "oil"}
    assert (answer.status_code, answer.json()) == (200, {"predictions": [{"labels": expected}]})


def test_texts_are_answered_in_their_order(shared: Running) -> None:
    answer = shared.predict(texts=["tariff exports surplus", "bank rates currency", ""], max_labels=1)
    found = [[one["label"] for one in each["labels"]] for each in answer.json()["predictions"]]
    assert found == [["trade"], ["money"], []]


def test_a_text_without_a_known_word_is_marked_and_has_no_candidates(shared: Running) -> None:
    answer = shared.predict(texts=["zebra 42", "wheat"], candidates=4, explain=True, threshold=0)
    strange, known = answer.json()["predictions"]
    assert strange == {"labels": [], "candidates": [], "note": "no known words"}
    assert (len(known["candidates"]), "note" in known) == (4, False)
    (asked,) = shared.predict(text="zebra 42", top_k=2, candidates=3).json()["predictions"]
    assert (asked["note"], len(asked["labels"])) == ("no known words", 2)
    assert [one["given"] for one in asked["candidates"]] == [True, True]


def test_evidence_counts_code_points(shared: Running) -> None:
    text = "𝔸 🌾 wheat harvest bushels"  # two characters beyond 16 bits stand before the words
    (prediction,) = shared.predict(text=text, explain=True, words_per_label=2).json()["predictions"]
    (grain,) = prediction["labels"]
    assert grain["label"] == "grain"
    assert [one["word"] for one in grain["evidence"]] == ["wheat harvest bushels"]
    for one in grain["evidence"] + grain["against"]:
        assert text[one["start"] : one["end"]] == one["word"]


def test_candidates_hold_labels_below_the_threshold_and_say_which_are_given(shared: Running) -> None:
    body = {"text": TEXT, "candidates": 3, "explain": True}
    (prediction,) = shared.predict(**body).json()["predictions"]
    candidates = prediction["candidates"]
    assert [one["given"] for one in candidates] == [True, True, False]
    scores = [one["score"] for one in candidates]
    assert scores == sorted(scores, reverse=True)
    assert all("evidence" in one for one in candidates)
    keys = ("label", "score", "evidence", "against")
    given = [{key: one[key] for key in keys} for one in candidates if one["given"]]
    assert given == prediction["labels"]


def test_the_options_reach_the_model(start: Start) -> None:
    server = start()
    server.predict(text="a", threshold=0.25, max_labels=3, min_labels=2, search="greedy", explain=True)
    assert server.watched.requests[-1] == LabelRequest(0.25, 3, 2, "greedy", True)
    server.predict(text="a", top_k=2, words_per_label=5)
    assert server.watched.requests[-1] == LabelRequest(words_per_label=5, top_k=2)
    server.predict(text="a", words_a_label=3)  # as version 0.1.0 called it
    assert server.watched.requests[-1] == LabelRequest(words_per_label=3)


def test_top_k_and_the_least_number_of_labels_are_kept(shared: Running) -> None:
    for option in ({"top_k": 3}, {"min_labels": 3, "max_labels": 3}):
        (prediction,) = shared.predict(text=TEXT, **option).json()["predictions"]
        assert len(prediction["labels"]) == 3


@pytest.mark.parametrize("name", ["top_k", "max_labels", "min_labels", "words_per_label", "candidates"])
def test_a_whole_number_may_be_written_with_a_decimal_point(shared: Running, name: str) -> None:
    # JSON Schema counts 2.0 among the integers, and so do clients whose only numbers are floats.
    body = {"text": TEXT, "explain": True}
    assert shared.predict(**body, **{name: 2.0}).json() == shared.predict(**body, **{name: 2}).json()
    for wrong in (2.5, True, "2"):
        assert shared.predict(**body, **{name: wrong}).status_code == 422


def test_concurrent_requests_share_a_forward_pass(start: Start) -> None:
    server = start(window_ms=60_000, max_batch=8)  # the eighth ends the wait
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda number: server.predict(text=f"wheat {number}"), range(8)))
    assert {answer.status_code for answer in answers} == {200}
    own = [texts for texts in server.watched.passes if texts != [""]]
    assert [sorted(texts) for texts in own] == [[f"wheat {number}" for number in range(8)]]


def test_under_overload_requests_are_refused_and_told_when_to_come_again(start: Start) -> None:
    server = start(window_ms=0, max_batch=2, max_texts=2, queue_texts=4)
    server.watched.free.clear()
    with ThreadPoolExecutor(12) as threads:
        first = threads.submit(server.predict, text="first")
        assert server.watched.busy.wait(60)
        # Four of the ten find room in the queue.
        others = [threads.submit(server.predict, text="another") for _ in range(10)]
        describe_errors = [one.result() for one in _done(others, 6)]
        server.watched.free.set()
        assert first.result().status_code == 200
        assert sorted(one.result().status_code for one in others) == [200] * 4 + [429] * 6
    refused(describe_errors[0], 429, "busy", "4 texts wait already; try again in 1 s")
    assert describe_errors[0].headers["retry-after"] == "1"


def _done(futures, count: int):  # type: ignore[no-untyped-def]
    """Return the futures that are done, once there are so many."""
    enough, lock = threading.Event(), threading.Lock()
    done: list = []

    def note(future) -> None:  # type: ignore[no-untyped-def]
        with lock:
            done.append(future)
            if len(done) >= count:
                enough.set()

    for future in futures:
        future.add_done_callback(note)
    assert enough.wait(60)
    return done[:count]


def test_an_answer_that_takes_too_long_is_given_up(start: Start) -> None:
    server = start(answer_seconds=0.3)
    server.watched.free.clear()
    answer = server.predict(text="slow")
    refused(answer, 503, "timeout", "timed out after 0.3 s; try again later")
    assert answer.headers["retry-after"] == "1"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "one of text and texts must be given, and not both"),
        ({"text": "a", "texts": ["b"]}, "one of text and texts must be given, and not both"),
        ({"texts": []}, "texts: list should have at least 1 item after validation, not 0"),
        ({"text": 3}, "text is 3; input should be a valid string"),
        ({"text": "a", "thresold": 1}, "thresold is not an option here"),
        ({"text": "a", "threshold": 3}, "threshold is 3; input should be less than or equal to 1"),
        ({"text": "a", "top_k": "2"}, "top_k: input should be a valid integer"),
        (
            {"text": "a", "search": "deep"},
            f"search must be {', '.join(map(repr, FIRST))} or {LAST!r}",
        ),
        ({"texts": ["a", None]}, "texts.1: input should be a valid string"),
    ],
)
def test_a_wrong_request_is_one_sentence(shared: Running, body: dict, message: str) -> None:
    refused(shared.predict(**body), 422, "invalid", message)


@pytest.mark.parametrize(
    ("content", "status", "code", "message"),
    [
        (
            b"{",
            422,
            "invalid",
            "the body is not JSON: EOF while parsing an object at line 1 column 1",
        ),
        (b"", 422, "invalid", "the body is missing"),
        (
            b'{"text": "\xff\xfe"}',
            400,
            "bad_request",
            "the body cannot be read; it must be JSON in UTF-8, not ",
        ),
        (b"[" * 100_000, 400, "bad_request", "the body cannot be read; it must be JSON in UTF-8, not "),
        (
            b'{"text": "\\ud800"}',
            422,
            "invalid",
            "the body is not JSON: ",
        ),
        (b'{"text": "a", "\\ud800": 1}', 422, "invalid", "the body is not JSON: "),
        (b'{"text": "a", "threshold": NaN}', 422, "invalid", "threshold is nan; input should be "),
    ],
)
def test_a_damaged_body_is_one_sentence(
    shared: Running, content: bytes, status: int, code: str, message: str
) -> None:
    headers = {"content-type": "application/json"}
    answer = shared.client.post("/v1/predict", content=content, headers=headers)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (status, code)
    assert error["message"].startswith(message)


def test_limits_of_texts_can_be_named(start: Start) -> None:
    server = start(max_texts=2, max_text_chars=10)
    assert server.predict(texts=["0123456789"] * 2).status_code == 200
    refused(
        server.predict(text="0123456789a"), 413, "too_large", "text has 11 characters; at most 10 are allowed"
    )
    refused(
        server.predict(texts=["a", "0" * 11]),
        413,
        "too_large",
        "texts.1 has 11 characters; at most 10 are allowed",
    )
    refused(server.predict(texts=["a"] * 3), 413, "too_large", "texts holds 3 texts; at most 2 are allowed")


def test_what_breaks_inside_stays_inside(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    server = start()
    answer = server.predict(text="poison")
    refused(answer, 500, "internal", "internal error; see the server log")
    assert "secret of the inside" in caplog.text
    assert server.predict(text="wheat").status_code == 200
