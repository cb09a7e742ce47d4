"""What the bodies of all routes share: checked types, and the one form of errors in the API description."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import from_json

from seq2set.config.catalog import SEARCHES
from seq2set.core.names import OneOf
from seq2set.server.errors import UNREADABLE, ApiError

Search = Annotated[str, OneOf(SEARCHES)]


def _drop_zero_fraction(value: object) -> object:
    """Take 2.0 for 2, as JSON Schema does, where a value must be of its exact type otherwise."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


WHOLE_NUMBER = BeforeValidator(_drop_zero_fraction)
Count = Annotated[int, Field(ge=1, le=10**6), WHOLE_NUMBER]
Labels = Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Field(fail_fast=True)]

EXAMPLE_TEXT = "Wheat exports rose as the harvest beat all forecasts."


class Body(BaseModel):
    """What a client sends; a name that is not known, or a value of another type, is refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class JsonRequest(Request):
    """A request whose body is parsed quickly and not too deep; a large one in a thread.

    The body is let go once it is parsed: the framework would keep it until the answer is sent.
    """

    async def body(self) -> bytes:
        """Return a stand-in for the body, as long as it has one; only `json` sees the body itself."""
        self._blocks = [block async for block in self.stream() if block]
        return _STAND_IN if self._blocks else b""

    async def json(self) -> Any:
        """Return the body as plain values, once."""
        body = b"".join(self._blocks)
        self._blocks.clear()
        return await run_sync(_parse_json, body) if len(body) > _LARGE else _parse_json(body)


_LARGE = 2**16
_STAND_IN = b"{}"


def _parse_json(body: bytes) -> Any:
    try:
        return from_json(body)
    except ValueError as error:
        if "recursion" in str(error) or body.decode(errors="ignore").encode() != body:
            raise ApiError(400, UNREADABLE) from error
        raise ApiError(422, f"the body is not JSON: {error}") from error


class JsonRoute(APIRoute):
    """A route that takes JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        handle = super().get_route_handler()

        async def parse_and_handle(request: Request) -> Response:
            return await handle(JsonRequest(request.scope, request.receive))

        return parse_and_handle


class ErrorDetail(BaseModel):
    """What is wrong: a code for programs, a sentence for people."""

    code: str
    message: str


class ErrorAnswer(BaseModel):
    """The one form of every error."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"error": {"code": "invalid", "message": "threshold is 3; it must lie in [0, 1]"}}]
        }
    )

    error: ErrorDetail


def describe_errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe the errors that a route may answer with."""
    return {status: {"model": ErrorAnswer} for status in statuses}
