"""Tables of named things: find a row by its name, load what it names, and check a setting against it.

A table is a plain dictionary. Help, validation and documentation read it and import nothing heavy.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError
from pydantic_core.core_schema import no_info_after_validator_function

from seq2set.core.errors import UnknownNameError

Row = TypeVar("Row")


def find_named(kind: str, name: str, table: Mapping[str, Row]) -> Row:
    """Return a row of a table, or say which names there are."""
    if name not in table:
        raise UnknownNameError(kind, name, table)
    return table[name]


def load_named(path: str) -> Any:
    """Import what `module:name` names."""
    module, _, attribute = path.partition(":")
    return getattr(importlib.import_module(module), attribute)


def is_installed(package: str) -> bool:
    """Say whether a package can be imported, without importing it."""
    try:
        return importlib.util.find_spec(package) is not None
    except ImportError:
        return False


class OneOf:
    """Makes a text setting one of a table's names, as the table is when the setting is checked.

    `Annotated[str, OneOf(MODELS)]` is to pydantic what a `Literal` of the names would be.
    """

    def __init__(self, table: Mapping[str, Any], where: Callable[[Any], bool] = bool):
        self.table, self.where = table, where

    def names(self) -> list[str]:
        """Return the names that are allowed now."""
        return [name for name, row in self.table.items() if self.where(row)]

    def _check(self, name: str) -> str:
        if name not in self.names():
            *others, last = (f"'{one}'" for one in self.names())
            expected = f"{', '.join(others)} or {last}" if others else last
            raise PydanticCustomError("literal_error", "be {expected}", {"expected": expected})
        return name

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return handler(schema) | {"enum": self.names()}
