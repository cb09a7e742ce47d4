from __future__ import annotations

import json
import threading
import time

import httpx
import pytest
from running_servers import Running, Start, refused

from seq2set.inference.predictor import TextItem
from seq2set.server.served_model import OpenedModel

CSV = "id,text\nx,wheat harvest bushels\ny,bank rates currency\n"
TEXTS = {"x": "wheat harvest bushels", "y": "bank rates currency"}


def send(server: Running, content: str | bytes, kind: str = "text/csv", **options: object) -> httpx.Response:
    headers = {"content-type": kind}
    return server.client.post("/v1/batch", content=content, headers=headers, params=options)  # type: ignore[arg-type]


def test_a_table_comes_back_as_a_table(shared: Running, served: OpenedModel) -> None:
    answer = send(shared, CSV)
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["x-total-documents"] == "2"
    expected = ["id,labels,scores,note"]
    for one in served.predictor.stream(TextItem(*item) for item in TEXTS.items()):
        labels = ";".join(each.label for each in one.suggestions)
        scores = ";".join(f"{each.score:.6g}" for each in one.suggestions)
        expected.append(f"{one.id},{labels},{scores},{one.note or ''}")
    assert answer.text.splitlines() == expected
    assert expected[1].startswith("x,grain,")


def test_json_lines_come_back_as_predict_prints_them(shared: Running, served: OpenedModel) -> None:
    lines = "".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in TEXTS.items())
    answer = send(shared, lines, "application/x-ndjson", explain=True, max_labels=1)
    assert answer.headers["content-type"] == "application/x-ndjson"
    found = [json.loads(line) for line in answer.text.splitlines()]
    assert [(one["id"], one["labels"][0]["label"]) for one in found] == [("x", "grain"), ("y", "money")]
    keys = {"word", "start", "end", "weight", "names_label"}
    assert found[0]["labels"][0]["evidence"][0].keys() == keys


def test_texts_without_a_known_word_are_marked_in_every_format(shared: Running) -> None:
    table = send(shared, "id,text\nx,wheat harvest bushels\nz,zebra\n").text.splitlines()
    assert [row.split(",")[3] for row in table] == ["note", "", "no known words"]
    lines = send(shared, '{"id": "z", "text": "..."}\n', "application/x-ndjson", explain=True).text
    assert json.loads(lines) == {"id": "z", "labels": [], "note": "no known words"}


def test_columns_separators_and_encodings_can_be_named(shared: Running) -> None:
    content = "Nummer\tInhalt\n7\twheat harvest crude barrels ä\n".encode("latin-1")
    options = {"text": "Inhalt", "id": "Nummer", "separator": " | ", "encoding": "latin-1", "top_k": 2}
    answer = send(shared, content, "text/tab-separated-values", **options)
    assert answer.headers["content-type"] == "text/tab-separated-values; charset=utf-8"
    head, row = answer.text.splitlines()
    assert head == "id\tlabels\tscores\tnote"
    assert row.split("\t")[0] == "7"
    assert set(row.split("\t")[1].split(" | ")) == {"grain", "oil"}


@pytest.mark.parametrize(
    ("name", "kind", "options"),
    [
        ("texts.csv", "application/octet-stream", {}),
        ("texts.CSV", "application/vnd.ms-excel", {}),
        ("texts", "text/csv; charset=utf-8", {}),
        ("texts.bin", "application/octet-stream", {"format": "csv"}),
    ],
)
def test_a_form_may_carry_the_file(shared: Running, name: str, kind: str, options: dict) -> None:
    files = {"file": (name, CSV.encode(), kind)}
    answer = shared.client.post("/v1/batch", files=files, params=options)
    assert answer.status_code == 200
    assert [line.split(",")[0] for line in answer.text.splitlines()] == ["id", "x", "y"]


def test_results_are_sent_as_they_are_computed(start: Start) -> None:
    server = start(max_batch=4, window_ms=0)
    lines = "".join(json.dumps({"text": f"wheat {number}"}) + "\n" for number in range(10))
    server.watched.free.clear()
    timer = threading.Timer(0.3, server.watched.free.set)
    timer.start()
    headers = {"content-type": "application/x-ndjson"}
    with server.client.stream("POST", "/v1/batch", content=lines, headers=headers) as answer:
        assert answer.headers["x-total-documents"] == "10"
        ids = [json.loads(line)["id"] for line in answer.iter_lines()]
    assert ids == [str(number) for number in range(1, 11)]
    own = [texts for texts in server.watched.passes if texts != [""]]
    assert [len(texts) for texts in own] == [4, 4, 2]


def test_a_client_that_leaves_stops_the_work_and_frees_its_place(start: Start) -> None:
    server = start(max_batch=2, window_ms=0, max_uploads=1)
    lines = "".join(json.dumps({"text": f"wheat {number}"}) + "\n" for number in range(100))
    server.watched.free.clear()
    with httpx.Client(base_url=server.url, timeout=120) as client:
        headers = {"content-type": "application/x-ndjson"}
        with client.stream("POST", "/v1/batch", content=lines, headers=headers) as answer:
            assert answer.status_code == 200
            assert server.watched.busy.wait(60)
            refusal = send(server, CSV)
            refused(refusal, 429, "busy", "1 files are being labelled already; try again later")
            assert refusal.headers["retry-after"] == "10"
    _wait_for(lambda: server.app.state.service.uploads == 0)
    server.watched.free.set()
    assert send(server, CSV).status_code == 200
    computed = [text for texts in server.watched.passes for text in texts if text.startswith("wheat ")]
    assert len(computed) <= 3  # the pass that ran when the client left, and the one text of this line


def _wait_for(condition, seconds: float = 60) -> None:  # type: ignore[no-untyped-def]
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_results_that_break_off_say_so(start: Start) -> None:
    server = start(max_batch=1, window_ms=0)
    lines = '{"text": "wheat"}\n{"text": "poison"}\n'
    headers = {"content-type": "application/x-ndjson"}
    found: list[dict] = []
    with pytest.raises(httpx.RemoteProtocolError, match="incomplete chunked read"):
        with server.client.stream("POST", "/v1/batch", content=lines, headers=headers) as answer:
            found.extend(map(json.loads, answer.iter_lines()))
    assert found[0]["id"] == "1"
    assert found[1:] == [
        {
            "error": {
                "code": "internal",
                "message": "internal error; see the server log",
            }
        }
    ]
    _wait_for(lambda: server.app.state.service.uploads == 0)
    with pytest.raises(httpx.RemoteProtocolError, match="incomplete chunked read"):
        send(server, "text\npoison\n")


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("id,body\n1,a\n", {}, "the file: there is no column 'text'; the columns are: id, body"),
        ("", {}, "the file: the file is empty"),
        (
            b"text\n\xe4\n",
            {},
            "the file, line 2: the line is not valid utf-8; pass encoding",
        ),
        ("id,text\n1,a\n2\n", {}, "the file, line 3: the row has 1 cell; the header has 2; write ','"),
        (CSV, {"explain": True}, "explain is true, but a CSV file has no place for words; send JSON lines"),
        (CSV, {"separator": "ai"}, "separator is 'ai', which is part of the label 'grain'; pass another"),
        (
            CSV,
            {"encoding": "klingon"},
            "encoding 'klingon' is not known; name one such as ",
        ),
        (CSV, {"format": "xlsx"}, "format must be 'csv', 'tsv' or 'jsonl'"),
        (CSV, {"threshold": 2}, "threshold: input should be less than or equal to 1"),
    ],
)
def test_a_wrong_file_is_refused_whole(
    shared: Running, content: str | bytes, options: dict, message: str
) -> None:
    answer = send(shared, content, **options)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (422, "invalid")
    assert error["message"].startswith(message)
    assert shared.app.state.service.uploads == 0


def test_a_line_of_json_that_is_wrong_is_named(shared: Running) -> None:
    answer = send(shared, '{"text": "a"}\n{"text": 1}\n', "application/x-ndjson")
    refused(
        answer, 422, "invalid", "the file, line 2: column 'text' holds a whole number; it must hold a text"
    )


def test_a_format_that_is_not_known_is_refused(shared: Running) -> None:
    message = (
        "the file's format is not known; send text/csv, text/tab-separated-values, application/x-ndjson, "
        "application/jsonl, or name a format"
    )
    refused(send(shared, CSV, "application/pdf"), 415, "unsupported_type", message)
    unnamed = shared.client.post("/v1/batch", files={"file": ("x", b"a", "application/pdf")})
    refused(unnamed, 415, "unsupported_type", message)
    other = shared.client.post("/v1/batch", files={"other": ("x.csv", b"a", "text/csv")})
    refused(other, 422, "invalid", "the form has no file; send it as the field 'file'")


def test_a_damaged_form_is_refused(shared: Running) -> None:
    answer = send(shared, "no form", "multipart/form-data")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_request")


def test_limits_hold_for_files(start: Start) -> None:
    server = start(max_upload_bytes=200, max_text_chars=20, max_body_bytes=20)
    assert send(server, CSV[:26]).status_code == 200  # files have a limit of their own
    refused(
        send(server, "id,text\nlong," + "a" * 21),
        413,
        "too_large",
        "the text of document 'long' has 21 characters; at most 20 are allowed",
    )
    large = "the body has more than 200 bytes, which is the most allowed here"
    refused(send(server, "text\n" + "a\n" * 100), 413, "too_large", large)
    refused(server.client.post("/v1/batch", files={"file": ("x.csv", b"a" * 300)}), 413, "too_large", large)


def test_a_large_file_goes_through_the_disk(start: Start) -> None:
    server = start(max_batch=512)
    rows = "".join(f"{number},wheat {'-' * 10_000}\n" for number in range(200))  # 2 MB, few words
    answer = send(server, "id,text\n" + rows)
    assert answer.text.count("\n") == 201
