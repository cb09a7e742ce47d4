"""Values by the names that users give: a column, several, a path into nested values, or a pattern.

- `title,abstract` names two columns, unless a column has that very name;
- `doc.body` is the key `body` of the object in `doc`, and `tags[].name` the `name` of each object in the list
  `tags`; a cell that holds JSON, or what Python prints, is read as such;
- `toxic:*` names all columns that begin so.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

_LONGEST = 1 << 16
_STEP = re.compile(r"\.|(?=\[\])")
_TRUE = frozenset(("1", "1.0", "true", "yes", "y", "x"))
_FALSE = frozenset(("", "0", "0.0", "false", "no", "n", "nan", "none", "null", "na"))


def replace_nul(text: str) -> str:
    """Put a space where a NUL byte stands, which later readers of the text could not take."""
    return text.replace("\0", " ")


def clean_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Strip white space, drop empty labels, and keep the first of those that repeat."""
    stripped = (replace_nul(label).strip() for label in labels)
    return tuple(dict.fromkeys(label for label in stripped if label))


def split_names(spec: str, present: Collection[str]) -> list[str]:
    """Return the columns that a text names: one, or several with commas between."""
    if spec in present or "," not in spec:
        return [spec]
    return [name for part in spec.split(",") if (name := part.strip())]


def has_column(present: Collection[str], name: str) -> bool:
    """Return whether there is a column, or the one that a path begins with."""
    return name in present or ("*" not in name and find_root(name) in present)


def find_root(name: str) -> str:
    """Return the column that a path begins with."""
    return _STEP.split(name, maxsplit=1)[0]


def match_columns(spec: str, present: Sequence[str], taken: Collection[str] = ()) -> list[str]:
    """Return the columns that a text names, where it may hold patterns such as `toxic:*`.

    A pattern matches no column that is `taken` by something else.
    """
    found: list[str] = []
    for name in split_names(spec, present):
        free = [column for column in present if column not in taken] if "*" in name else []
        found.extend([column for column in free if fnmatchcase(column, name)] or [name])
    return found


def is_set(value: object) -> bool | None:
    """Return what a cell of a column of zeros and ones says, or None where it is neither."""
    if value is None or isinstance(value, bool):
        return bool(value)
    text = str(value).strip().lower()
    return True if text in _TRUE else False if text in _FALSE else None


def find_value(values: Mapping[str, object], name: str) -> object:
    """Return the value of a column or path; None where a part of the path is not there."""
    if name in values:
        return values[name]
    root, *steps = _STEP.split(name)
    value = _parse_nested(values.get(root))
    for step in steps:
        value = _step(value, step)
    return value


def _step(value: object, step: str) -> object:
    """Go one key deeper, in each object of a list as well; `[]` alone stands for the list itself."""
    key = step.removeprefix("[]").removeprefix(".")
    if not key:
        return value
    if isinstance(value, list):
        return [_step(item, key) for item in value]
    return value.get(key) if isinstance(value, dict) else None


class PathWatch:
    """Notices paths such as `doc.body` that lead nowhere in any record: a typing error empties all texts."""

    def __init__(self, named: Mapping[str, str]):
        """Watch paths, each with the option that names it."""
        self._options = {name: option for name, option in named.items() if find_root(name) != name}
        self._keys: dict[str, dict[str, None]] = {}

    def look(self, values: Mapping[str, object]) -> None:
        """Look at a record; a path that it has is not watched any longer."""
        for name in list(self._options):
            root, *steps = _STEP.split(name)
            keys = None if name in values else _list_keys(_parse_nested(values.get(root)), steps)
            if keys is None:
                del self._options[name]
            elif keys:
                self._keys.setdefault(name, {}).update(dict.fromkeys(keys))

    def describe_fault(self) -> str | None:
        """Say which path led nowhere and what else there is, or nothing where all led somewhere."""
        for name, keys in self._keys.items():
            if name in self._options:
                known, option = ", ".join(list(keys)[:20]), self._options[name]
                return f"no document has '{name}', as {option} says; at that place there are: {known}"
        return None


def _list_keys(value: object, steps: Sequence[str]) -> list[str] | None:
    """Return the keys that stand where a path goes wrong, `[]` where none does; None where it is right."""
    for step in steps:
        key = step.removeprefix("[]").removeprefix(".")
        items = [item for item in (value if isinstance(value, list) else [value]) if item is not None]
        objects = [item for item in items if isinstance(item, dict)]
        if key and not any(key in one for one in objects):
            keys = dict.fromkeys(str(name) for one in objects for name in one)
            return list(keys) or (["no keys"] if items else [])
        value = _step(value, step)
    return None


def _parse_nested(value: object) -> object:
    """Read a cell that holds JSON or what Python prints; it is parsed and never run."""
    if not isinstance(value, str) or len(value) > _LONGEST or value.strip()[:1] not in ("{", "["):
        return value
    for parse in (json.loads, ast.literal_eval):
        try:
            found: object = parse(value.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        return found
    return value
