"""Every error in one JSON form: `{"error": {"code": ..., "message": ...}}`, never with a stack trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException as PlainHTTPException
from starlette.requests import ClientDisconnect

from seq2set.core.errors import InputError

CLIENT_CLOSED = 499
"""The status, seen in the log only, of a request whose client disconnected before the answer."""

UNREADABLE = "the body cannot be read; it must be JSON in UTF-8, not too deeply nested"

_CODES = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "too_slow",
    413: "too_large",
    415: "unsupported_type",
    421: "wrong_host",
    422: "invalid",
    429: "busy",
    431: "too_large",
    500: "internal",
    503: "unavailable",
}
_SENTENCES = {400: UNREADABLE, 404: "not found", 405: "method not allowed"}


class ApiError(HTTPException):
    """A refusal: a status, a code for programs and a sentence for people."""

    def __init__(
        self, status: int, message: str, *, code: str | None = None, headers: Mapping[str, str] | None = None
    ):
        super().__init__(status, message, dict(headers) if headers else None)
        self.code = code or _CODES[status]

    def response(self) -> JSONResponse:
        """Return the refusal as it is sent."""
        return make_error_response(self.status_code, self.code, str(self.detail), self.headers)


def refuse_busy(message: str, seconds: int = 1) -> ApiError:
    """Return the refusal of what may be tried again after some seconds."""
    return ApiError(429, message, headers={"Retry-After": str(seconds)})


def refuse_unavailable(message: str, *, code: str | None = None) -> ApiError:
    """Return the refusal of a server that cannot answer at this time."""
    return ApiError(503, message, code=code, headers={"Retry-After": "1"})


def refuse_stopping() -> ApiError:
    """Return the refusal of a server that is about to end."""
    return refuse_unavailable("the server is stopping; try again in a moment")


def make_error_response(
    status: int, code: str, message: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """Return an error in the one form."""
    return JSONResponse(make_error_body(code, message), status, headers)


def make_error_body(code: str, message: str) -> dict[str, Any]:
    """Return the one form of errors as plain JSON; a message may repeat what can hardly be written."""
    return {"error": {"code": code, "message": message.encode(errors="replace").decode()}}


def handle_errors(app: FastAPI) -> None:
    """Give every error of the app the one form."""
    for kind in (PlainHTTPException, RequestValidationError, InputError, ClientDisconnect):
        app.exception_handler(kind)(_handle)


async def _handle(request: Request, error: Exception) -> JSONResponse:  # noqa: ARG001
    return _refuse(error).response()


def _refuse(error: Exception) -> ApiError:
    """Return the refusal that an error amounts to."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, PlainHTTPException):
        status = error.status_code
        sentence = _SENTENCES.get(status, str(error.detail))
        return ApiError(status, sentence, code=_CODES.get(status, "error"), headers=error.headers)
    if isinstance(error, RequestValidationError):
        return ApiError(422, "; ".join(_describe_fault(fault) for fault in error.errors()[:5]))
    return refuse_disconnect() if isinstance(error, ClientDisconnect) else ApiError(422, str(error))


def refuse_disconnect() -> ApiError:
    """Return what ends a request whose client is gone; only the log sees it."""
    return ApiError(CLIENT_CLOSED, "the client disconnected before the answer", code="client_closed")


def _describe_fault(fault: Mapping[str, Any]) -> str:
    """Say what is wrong; a value is repeated only where it is a number, for others may hold texts."""
    first, *parts = fault["loc"]
    place, value = ".".join(map(str, parts)) or f"the {first}", fault["input"]
    if fault["type"] == "extra_forbidden":
        return f"{place} is not an option here"
    if fault["type"] == "missing":
        return f"{place} is missing"
    if fault["type"] == "literal_error":
        return f"{place} must be {fault['ctx']['expected']}"
    seen = f"{place} is {value}; " if isinstance(value, int | float) else f"{place}: "
    message = str(fault["msg"]).removeprefix("Value error, ")
    return seen + message[:1].lower() + message[1:]
