"""Work for a client that may leave, or wait too long."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from fastapi import Request
from starlette.types import Receive

from seq2set.server.errors import left, unavailable

Result = TypeVar("Result")


async def unless_gone(request: Request, work: Coroutine[Any, Any, Result], seconds: float) -> Result:
    """Do the work, but cancel it as soon as the client hangs up or the time is over."""
    task, gone = asyncio.create_task(work), asyncio.create_task(_gone(request.receive))
    try:
        await asyncio.wait({task, gone}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        if gone.done():
            raise left()
        raise unavailable(f"there was no answer within {seconds:g} s; try again later", code="timeout")
    finally:
        task.cancel()
        gone.cancel()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
