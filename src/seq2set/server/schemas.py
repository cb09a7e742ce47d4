"""What the bodies of all routes share: checked types, and the one form of errors in the API description."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from seq2set.config.catalog import SEARCHES
from seq2set.core.names import OneOf

Search = Annotated[str, OneOf(SEARCHES)]


def _check_unicode(text: str) -> str:
    """Refuse half of a surrogate pair, which JSON can spell but no character set can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("the text holds half of a surrogate pair; it must be valid Unicode") from None
    return text


def _drop_zero_fraction(value: object) -> object:
    """Take 2.0 for 2, as JSON Schema does, where a value must be of its exact type otherwise."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


WHOLE_NUMBER = BeforeValidator(_drop_zero_fraction)
Text = Annotated[str, AfterValidator(_check_unicode)]
Count = Annotated[int, Field(ge=1, le=10**6), WHOLE_NUMBER]
Label = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_check_unicode)]

EXAMPLE_TEXT = "Wheat exports rose as the harvest beat all forecasts."


class Body(BaseModel):
    """What a client sends; a name that is not known, or a value of another type, is refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


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
