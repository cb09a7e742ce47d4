from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from seq2set.server.app import add_page


@pytest.fixture
def page(tmp_path: Path) -> FastAPI:
    folder = tmp_path / "page"
    (folder / "icons").mkdir(parents=True)
    (folder / "index.html").write_text("<title>page</title>")
    (folder / "api.js").write_text("export {}")
    (folder / "icons" / "a.svg").write_text("<svg/>")
    (tmp_path / "secret.txt").write_text("secret")
    app = FastAPI()
    add_page(app, folder)
    return app


async def got(app: FastAPI, path: str, method: str = "GET") -> httpx.Response:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://page") as client:
        return await client.request(method, path)


@pytest.mark.parametrize(
    ("path", "kind", "content"),
    [
        ("/", "text/html; charset=utf-8", "<title>page</title>"),
        ("/index.html", "text/html; charset=utf-8", "<title>page</title>"),
        ("/api.js", "text/javascript; charset=utf-8", "export {}"),
        ("/icons/a.svg", "image/svg+xml", "<svg/>"),
    ],
)
def test_each_file_has_its_address(page: FastAPI, path: str, kind: str, content: str) -> None:
    answer = asyncio.run(got(page, path))
    assert (answer.status_code, answer.headers["content-type"], answer.text) == (200, kind, content)
    assert asyncio.run(got(page, path, "HEAD")).status_code == 200


@pytest.mark.parametrize("path", ["/../secret.txt", "/%2e%2e/secret.txt", "/icons/", "/other"])
def test_nothing_else_can_be_read(page: FastAPI, path: str) -> None:
    assert asyncio.run(got(page, path)).status_code == 404


def test_without_a_page_there_is_none(tmp_path: Path) -> None:
    app = FastAPI()
    add_page(app, tmp_path / "nowhere")
    assert asyncio.run(got(app, "/")).status_code == 404
