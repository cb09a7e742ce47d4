"""What clients do to a server in a soak: what they should, and everything that they should not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from seq2set.benchmarks.serve_process import Client, head

PREDICT = "/v1/predict"


class Told(NamedTuple):
    """The end of one request: the status, or nothing where the client did not wait for one."""

    status: int | None
    feedback: int | None = None
    """The number of the feedback that was acknowledged"""


Act = Callable[[Client, str], Awaitable[Told]]


async def predict(client: Client, text: str) -> Told:
    """Ask for labels with their evidence."""
    body = json.dumps({"text": text, "explain": True, "candidates": 10}).encode()
    return Told((await client.post(PREDICT, body)).status)


async def give_feedback(client: Client, text: str) -> Told:
    """Say something of a text, and remember what was acknowledged."""
    reply = await client.post("/v1/feedback", json.dumps({"text": text, "added": ["a", "b"]}).encode())
    return Told(reply.status, json.loads(reply.body)["id"] if reply.status == 201 else None)


async def search_labels(client: Client, text: str) -> Told:
    """Look for labels."""
    return Told((await client.get(f"/v1/labels?query={text[:2]}")).status)


async def send_file(client: Client, text: str) -> Told:
    """Have a small file labelled."""
    rows = "".join(f"{number},{text}\n" for number in range(5))
    return Told((await client.post("/v1/batch", f"id,text\n{rows}".encode(), "text/csv")).status)


async def hang_up_after_sending(client: Client, text: str) -> Told:
    """Leave without waiting for the answer."""
    body = json.dumps({"text": text}).encode()
    client.writer.write(head("POST", PREDICT, "application/json", len(body)) + body)
    await client.writer.drain()
    return Told(None)


async def hang_up_while_sending(client: Client, text: str) -> Told:
    """Leave in the middle of the body."""
    client.writer.write(head("POST", "/v1/batch", "text/csv", 10_000) + text.encode())
    await client.writer.drain()
    return Told(None)


async def hang_up_while_reading(client: Client, text: str) -> Told:
    """Leave in the middle of the results."""
    rows = f"text\n{text}\n" * 50
    client.writer.write(head("POST", "/v1/batch", "text/csv", len(rows)) + rows.encode())
    await client.reader.read(1)
    return Told(None)


async def send_too_much(client: Client, text: str) -> Told:
    """Send more than is allowed, without saying beforehand how much it is."""
    first = head("POST", PREDICT, "application/json", 0).replace(
        b"Content-Length: 0", b"Transfer-Encoding: chunked"
    )
    block = (text.encode() * 65_536)[:65_536]  # 40 of them are too much, however short the text is
    client.writer.write(first)
    for _ in range(40):
        client.writer.write(b"%x\r\n%s\r\n" % (len(block), block))
    return Told((await client.reply()).status)


async def send_too_long_a_text(client: Client, text: str) -> Told:
    """Send a text that is longer than allowed."""
    return Told((await client.post(PREDICT, json.dumps({"text": text * 1_000}).encode())).status)


async def send_invalid_utf8(client: Client, text: str) -> Told:
    """Send bytes that are no text."""
    return Told((await client.post(PREDICT, b'{"text": "%s\xff\xfe"}' % text.encode())).status)


async def send_deep_json(client: Client, text: str) -> Told:  # noqa: ARG001
    """Send lists inside lists."""
    return Told((await client.post(PREDICT, b'{"text": ' + b"[" * 50_000)).status)


async def send_slowly(client: Client, text: str) -> Told:
    """Send a byte now and then, and never come to an end."""
    client.writer.write(head("POST", PREDICT, "application/json", 10_000))
    sending = asyncio.create_task(_drip(client, text.encode()))
    try:
        return Told((await client.reply()).status)
    finally:
        sending.cancel()


async def _drip(client: Client, body: bytes) -> None:
    for byte in body:
        client.writer.write(bytes([byte]))
        await asyncio.sleep(0.1)


async def send_no_http(client: Client, text: str) -> Told:
    """Send something that is not HTTP."""
    client.writer.write(text.encode() + b"\r\n\r\n")
    return Told((await client.reply()).status)


ACTS: dict[Act, int] = {
    predict: 40,
    give_feedback: 20,
    search_labels: 4,
    send_file: 2,
    hang_up_after_sending: 10,
    hang_up_while_sending: 4,
    hang_up_while_reading: 2,
    send_too_much: 3,
    send_too_long_a_text: 3,
    send_invalid_utf8: 4,
    send_deep_json: 4,
    send_slowly: 1,
    send_no_http: 3,
}
"""What is done, and how many times in a hundred."""

ANSWERS: dict[Act, set[int]] = {
    predict: {200, 429},
    give_feedback: {201},
    search_labels: {200},
    send_file: {200, 429},
    send_too_much: {413},
    send_too_long_a_text: {413},
    send_invalid_utf8: {400},
    send_deep_json: {400, 422},
    send_slowly: {408},
    send_no_http: {400},
}
"""How each may be answered."""
