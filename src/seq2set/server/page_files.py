"""The page: the files in `page/`, each at an address of its own, so that nothing else can be read."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse

PAGE = Path(__file__).parent / "page"
INDEX = "index.html"


def add_page(app: FastAPI, folder: Path = PAGE) -> None:
    """Serve the files of a folder, if it is there, and its index at `/`."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            _add_file(app, f"/{path.relative_to(folder).as_posix()}", path)
    if (folder / INDEX).is_file():
        _add_file(app, "/", folder / INDEX)


def _add_file(app: FastAPI, address: str, path: Path) -> None:
    async def file() -> FileResponse:
        return FileResponse(path)

    app.api_route(address, methods=["GET", "HEAD"], include_in_schema=False)(file)
