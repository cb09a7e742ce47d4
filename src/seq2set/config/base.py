"""What every section of the settings is: frozen and documented, with types that say what is allowed."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Positive = Annotated[int, Field(ge=1)]
NotNegative = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
PositiveReal = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Settings(BaseModel):
    """What all sections share: frozen, no unknown keys, docstrings as descriptions."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_default=True,
        use_attribute_docstrings=True,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
    )
