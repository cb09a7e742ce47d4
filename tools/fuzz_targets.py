"""What is fuzzed: strategies for inputs, and what must hold whatever the input is."""

from __future__ import annotations

import contextlib
import json
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from seq2set.benchmarks.serving.serve import ServerProcess
from seq2set.config import load_config
from seq2set.core.errors import Seq2SetError
from seq2set.corpora.readers import ReadOptions, read_documents
from seq2set.corpora.readers.cells.label_cells import looks_broken, parse_bare_list, parse_list

SIGNS = [
    *(
        '"',
        '""',
        "'",
        ",",
        ";",
        "|",
        "\t",
        "\n",
        "\r\n",
        "\r",
        "\0",
        " ",
        "=",
        "\\",
        "[",
        "]",
        "{",
        "}",
        "(",
        ")",
        ":",
    ),
    *(
        "text",
        "labels",
        "id",
        "split",
        "sep=;",
        "nan",
        "None",
        "null",
        "1e999",
        "-",
        "+",
        "~",
        "é",
        "\u2028",
        "\ufeff",
    ),
    *(
        "\U0001f600",
        "\ud800",
        "__label__a",
        "a",
        "wheat",
        "0",
        "1",
        "set(",
        "array(",
        "dtype=object",
        "<b>",
        "&amp;",
    ),
]
"""Pieces that mean something to one reader or another."""

texts = st.lists(st.one_of(st.sampled_from(SIGNS), st.text(max_size=5)), max_size=40).map("".join)
encoded = st.one_of(
    texts.map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.builds(
        lambda text, name: text.encode(name, "replace"),
        texts,
        st.sampled_from(["utf-16", "latin-1", "utf-8-sig"]),
    ),
    st.binary(max_size=200),
)
"""Bytes as files and bodies may have them."""

values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts, st.just(10**400)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=8,
)
options = st.fixed_dictionaries(
    {},
    optional={
        "text": st.sampled_from(["text", "a,b", "a.b", "a[].b", "", "\0", "text,text"]),
        "labels": st.sampled_from([None, "labels", "a.b", "text", ""]),
        "id": st.sampled_from(["id", "", "text", "a[].b"]),
        "encoding": st.sampled_from(["utf-8", "utf-16", "latin-1", "undefined", "utf-7", "cp037", ""]),
        "separator": st.sampled_from([";", "", ",", "auto", " ", "\\t", '"']),
        "delimiter": st.sampled_from(["", ",", ";", "\\t", '"', "ab", "\n"]),
        "strip_html": st.booleans(),
        "label_columns": st.sampled_from(["", "a", "a,b", "text"]),
    },
)


class Target(NamedTuple):
    """One thing that is fuzzed; `check` raises where it should not."""

    what: str
    inputs: st.SearchStrategy[Any]
    check: Callable[..., object]
    needs_server: bool = False


def read_bytes(ending: str) -> Callable[[tuple[bytes, dict[str, Any]]], None]:
    """Return a check that reads a file: documents with texts and labels, or one error of ours."""

    def check(case: tuple[bytes, dict[str, Any]]) -> None:
        content, named = case
        with tempfile.TemporaryDirectory() as folder, contextlib.suppress(Seq2SetError):
            path = Path(folder) / f"file{ending}"
            path.write_bytes(content)
            for document in read_documents(path, ReadOptions(**named)):
                assert isinstance(document.text, str)
                assert isinstance(document.id, str)
                assert all(
                    isinstance(label, str) and label.strip() == label != "" for label in document.labels
                )
                document.text.encode()  # no lone surrogates, which no file can hold

    return check


def parse_cell(text: str) -> None:
    """Check the readers of label cells."""
    looks_broken(text)
    for found in (parse_list(text), parse_bare_list(text)):
        assert found is None or isinstance(found, list)


def _make_parquet() -> bytes:
    sink = pa.BufferOutputStream()
    rows = {"id": ["a", "b"], "text": ["wheat", "oil"], "labels": [["x"], []]}
    pq.write_table(pa.table(rows), sink)
    return bytes(sink.getvalue())


PARQUET = _make_parquet()


def flip(places: list[tuple[float, int]]) -> bytes:
    """Change some bytes of a Parquet file."""
    content = bytearray(PARQUET)
    for share, value in places:
        content[int(share * (len(content) - 1))] = value
    return bytes(content)


flips = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=4).map(flip)
shares = [
    "model",
    "preset",
    "encoder",
    "training",
    "data",
    "search",
    "decision",
    "objective",
    "features",
    "text",
]
settings_lines = st.lists(
    st.one_of(
        st.builds("[{}]".format, st.sampled_from(shares)),
        st.builds(
            "{} = {}".format,
            st.sampled_from([*shares, "seed", "hidden", "epochs", "learning_rate", "kind"]),
            values.map(lambda value: json.dumps(value, ensure_ascii=False)),
        ),
        texts,
    ),
    max_size=6,
).map("\n".join)


def read_settings(text: str) -> None:
    """Check that a file of settings gives settings, or one error of ours."""
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(Seq2SetError):
        path = Path(folder) / "settings.toml"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        load_config(path)


def request(server: ServerProcess, content: bytes, *, whole: bool) -> bytes:
    """Send bytes, no more where they are not a whole request, and return what comes back."""
    received = b""
    connection = socket.create_connection((server.host, server.port), timeout=60)
    with connection, contextlib.suppress(ConnectionError):  # it may be closed while we still send
        connection.sendall(content)
        if not whole:
            connection.shutdown(socket.SHUT_WR)
        while block := connection.recv(65536):
            received += block
    return received


def check_answers(received: bytes) -> None:
    """Check that no answer is an error of the server's own, and that errors have the one form."""
    for answer in received.split(b"HTTP/1.1 ")[1:]:
        status, body = answer[:3], answer.partition(b"\r\n\r\n")[2]
        assert status < b"500", answer
        if status >= b"400" and body:
            assert set(json.loads(body)) == {"error"}, answer


def post(path: str, kind: str = "application/json") -> Callable[[ServerProcess, Any], None]:
    """Return a check that posts bodies."""

    def check(server: ServerProcess, body: Any) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nConnection: close\r\n"
        head += f"Content-Length: {len(content)}\r\n\r\n"
        received = request(server, head.encode() + content, whole=True)
        assert received.startswith(b"HTTP/1.1 ")
        check_answers(received)

    return check


def send_raw(server: ServerProcess, content: bytes) -> None:
    """Send anything in the place of HTTP."""
    check_answers(request(server, content, whole=False))


HEADS = [
    *(
        "GET ",
        "POST ",
        "/",
        "/v1/model",
        "/v1/labels?query=",
        "/v1/batch",
        "*",
        "http://a/",
        " HTTP/1.1\r\n",
        "\r\n",
    ),
    *(
        "Host: localhost\r\n",
        "Host: \r\n",
        "Content-Length: 5\r\n",
        "Content-Length: -1\r\n",
        "Connection: close\r\n",
    ),
    *(
        "Transfer-Encoding: chunked\r\n",
        "5\r\nabcde\r\n",
        "0\r\n\r\n",
        "Expect: 100-continue\r\n",
        "Range: bytes=0-\r\n",
    ),
    *(
        "Content-Type: multipart/form-data; boundary=x\r\n",
        "--x\r\n",
        "Origin: null\r\n",
        "Upgrade: websocket\r\n",
    ),
]
raw = st.lists(st.one_of(st.sampled_from(HEADS), st.text(max_size=3)), max_size=12).map(
    lambda parts: "".join(parts).encode("utf-8", "replace")
)
predict = st.one_of(
    st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(
            (
                "text",
                "texts",
                "search",
                "threshold",
                "top_k",
                "max_labels",
                "min_labels",
                "explain",
                "words_per_label",
                "candidates",
            ),
            values,
        ),
    ),
    st.fixed_dictionaries(
        {"text": texts},
        optional={
            "threshold": st.floats(0, 1),
            "top_k": st.integers(0, 10**7),
            "max_labels": st.integers(0, 9),
            "min_labels": st.integers(0, 9),
            "explain": st.booleans(),
            "candidates": st.integers(0, 1001),
            "search": st.sampled_from(["greedy", "marginal", "beam", ""]),
        },
    ),
    encoded,
)
feedback = st.one_of(
    st.fixed_dictionaries(
        {"text": texts},
        optional={
            name: st.lists(st.one_of(texts, st.sampled_from(["refund", "mobile"])), max_size=4)
            for name in ("accepted", "rejected", "added")
        },
    ),
    st.fixed_dictionaries({}, optional={"text": values, "accepted": values, "added": values}),
    encoded,
)
forms = st.builds(
    lambda head, body: (
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n'
        + head
        + b"\r\n"
        + body
        + b"\r\n--x--\r\n"
    ),
    encoded,
    encoded,
)
headers = st.builds(lambda head, body: (head + "\n" + body).encode("utf-8", "surrogatepass"), texts, texts)
lines = st.lists(
    st.one_of(
        values.map(json.dumps),
        st.builds(lambda text, rest: json.dumps({"text": text, "labels": rest}), texts, values),
    ),
    max_size=4,
).map(lambda rows: "\n".join(rows).encode())

TARGETS: dict[str, Target] = {
    "csv": Target("CSV files", st.tuples(encoded, options), read_bytes(".csv")),
    "headers": Target("headers of CSV files", st.tuples(headers, options), read_bytes(".csv")),
    "tsv": Target("TSV files", st.tuples(encoded, options), read_bytes(".tsv")),
    "jsonl": Target("JSON lines", st.tuples(st.one_of(lines, encoded), options), read_bytes(".jsonl")),
    "txt": Target("lines of text", st.tuples(encoded, options), read_bytes(".txt")),
    "gzip": Target("damaged archives", st.tuples(encoded, options), read_bytes(".csv.gz")),
    "parquet": Target("Parquet files with changed bytes", st.tuples(flips, options), read_bytes(".parquet")),
    "label-cells": Target("cells that hold labels", texts, parse_cell),
    "settings": Target("TOML files of settings", settings_lines, read_settings),
    "http": Target("what is and what is not HTTP", raw, send_raw, needs_server=True),
    "predict": Target("bodies of /v1/predict", predict, post("/v1/predict"), needs_server=True),
    "feedback": Target("bodies of /v1/feedback", feedback, post("/v1/feedback"), needs_server=True),
    "uploads-csv": Target(
        "CSV sent to /v1/batch", st.one_of(encoded, headers), post("/v1/batch", "text/csv"), needs_server=True
    ),
    "uploads-jsonl": Target(
        "JSON lines sent to /v1/batch",
        st.one_of(lines, encoded),
        post("/v1/batch", "application/x-ndjson"),
        needs_server=True,
    ),
    "forms": Target(
        "forms sent to /v1/batch",
        st.one_of(forms, encoded),
        post("/v1/batch", "multipart/form-data; boundary=x"),
        needs_server=True,
    ),
}
"""What is fuzzed, by name."""
