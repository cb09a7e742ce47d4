"""`docs/security.md` says the limits as the code has them."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, get_args, get_origin, get_type_hints

from seq2set.server.guards.bodies import MAX_VALUES
from seq2set.server.guards.connections import MAX_HEAD_LINES, MAX_TINY_CHUNKS, TINY_CHUNK
from seq2set.server.settings import ServeSettings

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/security.md").read_text("utf-8")


def format_limit(name: str, value: float) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20)):
        if name.endswith("_bytes") and value % size == 0:
            return f"{value // size:g} {unit}"
    return f"{value:,g}" + (" s" if name.endswith("_seconds") else "")


def list_limits() -> list[str]:
    helps = get_type_hints(ServeSettings, include_extras=True)
    rows = ["| setting | what | default |", "|---|---|---|"]
    for one in fields(ServeSettings):
        if one.name.startswith(("max_", "queue_")) or one.name.endswith("_seconds"):
            assert get_origin(helps[one.name]) is Annotated
            text = get_args(helps[one.name])[1].rstrip(".")
            option = {"queue_texts": "queue"}.get(one.name, one.name).replace("_", "-")
            rows.append(f"| `--{option}` | {text} | {format_limit(one.name, one.default)} |")
    return rows


def test_every_limit_stands_on_the_page_with_its_default() -> None:
    expected = "\n".join(list_limits())
    assert expected in PAGE, f"docs/security.md needs this table:\n{expected}"


def test_limits_that_are_no_settings_are_as_the_code_has_them() -> None:
    serving = (ROOT / "docs/serving.md").read_text("utf-8")
    assert f"{MAX_VALUES:,} values per JSON body beside the texts, {MAX_HEAD_LINES} lines and 64 KiB" in PAGE
    assert f"| heads of requests | {MAX_HEAD_LINES} lines" in serving
    assert f"more than {MAX_TINY_CHUNKS:,} chunks of less than {TINY_CHUNK} bytes" in serving


def test_reports_have_an_address_in_front() -> None:
    front = (ROOT / "SECURITY.md").read_text("utf-8")
    assert "(docs/security.md)" in front
    assert "(../SECURITY.md)" in PAGE
