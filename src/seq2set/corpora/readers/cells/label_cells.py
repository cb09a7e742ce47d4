"""The labels in one cell: a list, a list written out as text, or names with a separator between them.

Cells hold surprises, which are counted (`LabelTally`) and reported in sentences: missing values, and lists
that cannot be read.
"""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
import warnings
from dataclasses import dataclass, field

from seq2set.core.text_utils import count_things, shorten

MISSING = frozenset(
    (
        *("NaN", "nan", "NAN", "-NaN", "-nan", "NaT", "None", "null", "Null", "NULL", "N/A", "n/a"),
        *("#N/A", "#N/A N/A", "#NA", "<NA>", "<na>", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
    )
)
"""What programs write where a value is missing; no label, unless the options say so."""

MISSING_CELL = "NA"
"""Stands for a missing value where it fills a cell, as pandas and R have it; in a list it may be Namibia."""

_BRACKETS = {"[": "]", "(": ")", "{": "}"}
_LONGEST = 1 << 16
_CALL = re.compile(r"(set|frozenset|list|tuple|array)\((.*?)(, dtype=[^()\[\]]*)?\)", re.DOTALL)
_CALLED = ("set(", "frozenset(", "list(", "tuple(", "array(")
_QUOTES = ("'", '"')


def is_missing(value: object) -> bool:
    """Return whether a value stands for a missing one: null, not a number, or a word for either."""
    if isinstance(value, str):
        return value.strip() in MISSING
    return value is None or (isinstance(value, float) and value != value)


def looks_like_list(text: str) -> bool:
    """Return whether a text stands in brackets, as a list does that was written out."""
    text = text.strip()
    return len(text) > 1 and _BRACKETS.get(text[0]) == text[-1]


def looks_broken(text: str) -> bool:
    """Return whether a text that is no list looks like one: cut off, nested, or with quotation marks missing.

    Labels may have brackets too: `(misc)`, `[R] Research` and `f(x)` do not count.
    """
    text = text.strip()
    if text.startswith("["):
        return text.endswith("]") or "]" not in text
    if text.endswith("]"):
        return "[" not in text or text.startswith(_CALLED)
    if text.startswith(("(", "{")):
        several = any(sign in text for sign in (",", *_QUOTES))
        return text[1:].startswith(_QUOTES) or (several and looks_like_list(text))
    return text.startswith(_CALLED)


def parse_bare_list(text: str) -> list[str] | None:
    """Read `[a, b]`, whose texts have no quotation marks; None where it could be anything else."""
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]")) or not 2 < len(text) <= _LONGEST:
        return None
    items = [item.strip() for item in text[1:-1].split(",")]
    return items if all(map(_is_bare, items)) else None


def _is_bare(item: str) -> bool:
    quoted = item.startswith(_QUOTES) or item.endswith(_QUOTES)
    return bool(item) and not quoted and not any(sign in item for sign in '[](){};"')


def parse_list(text: str) -> list[object] | None:
    """Read `['a', 'b']`, `["a", "b"]`, `('a',)` or `{'a'}`, of texts and numbers; None where it is no list.

    The text is parsed and never run. An array without commas, as numpy prints it, is read as well, and so
    is what Python prints of other containers: `set()`, `frozenset({'a'})`, `array(['a'], dtype=object)`.
    """
    text = text.strip()
    if (call := _CALL.fullmatch(text)) is not None:
        text = call[2].strip() or "[]"
    if not looks_like_list(text) or len(text) > _LONGEST:
        return None
    if (items := _parse_json(text)) is not None:
        return items
    try:
        with warnings.catch_warnings():  # of escapes that Python does not know
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval").body
            if isinstance(tree, ast.Dict) and not tree.keys:
                return []
            if not isinstance(tree, ast.List | ast.Tuple | ast.Set):
                return None
            items = [_parse_item(node) for node in tree.elts]
            texts = _list_strings(text) if any(isinstance(item, str) for item in items) else []
    except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError):
        return None
    # Python joins texts that stand side by side: 'a' 'b' would be the label 'ab'.
    joined = len(texts) > sum(isinstance(item, str) for item in items)
    return [*texts] if joined and all(isinstance(item, str) for item in items) else items


def _parse_json(text: str) -> list[object] | None:
    """Read a list as JSON has it; Python would read its escapes otherwise."""
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):
        return None
    plain = isinstance(items, list) and all(item is None or type(item) in (str, int, float) for item in items)
    return items if plain else None


def _parse_item(node: ast.expr) -> object:
    if isinstance(node, ast.Name) and node.id in {"nan", "null", "NaN"}:
        return None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = _parse_item(node.operand)
        if isinstance(number, int | float):
            return -number
    if isinstance(node, ast.Constant) and (node.value is None or type(node.value) in (str, int, float)):
        return node.value
    raise ValueError


def _list_strings(text: str) -> list[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text.strip()).readline)
    return [ast.literal_eval(token.string) for token in tokens if token.type == tokenize.STRING]


EXAMPLES, WIDTH = 5, 40


@dataclass
class ValueCounter:
    """Counts values, and keeps the first few different ones as examples."""

    count: int = 0
    examples: dict[str, None] = field(default_factory=dict)

    def add(self, value: object) -> None:
        """Count a value."""
        self.count += 1
        if len(self.examples) < EXAMPLES:
            self.examples.setdefault("null" if value is None else str(value).strip())

    def quote(self) -> str:
        """Return the examples as they may stand in a sentence."""
        short = (shorten(example, WIDTH) for example in self.examples)
        return ", ".join(f'"{one}"' if "'" in one else f"'{one}'" for one in short)


@dataclass
class LabelTally:
    """Counts cells that hold something else than labels, or labels that were not easy to find."""

    missing: ValueCounter = field(default_factory=ValueCounter)
    """Values that stand for missing labels"""
    bare: ValueCounter = field(default_factory=ValueCounter)
    """Lists of words without quotation marks"""
    broken: ValueCounter = field(default_factory=ValueCounter)
    """Cells that look like lists and cannot be read as such"""
    listed: int = 0
    """Lists with a label that would stand for a missing one if it filled the cell"""
    with_id: int = 0
    without_id: int = 0

    def count_id(self, name: str | None) -> None:
        """Count a document by whether it has an id."""
        if name:
            self.with_id += 1
        else:
            self.without_id += 1

    def sentences(self) -> list[str]:
        """Describe what was found; nothing where all cells were plain."""
        said = [self._describe_missing()] if self.missing.count else []
        if self.bare.count:
            verb = "is read as a list" if self.bare.count == 1 else "are read as lists"
            cells = count_things(self.bare.count, "label cell")
            said.append(f"{cells} {verb} of words without quotation marks ({self.bare.quote()})")
        if self.broken.count:
            one = self.broken.count == 1
            look, stand = ("looks like a list", "it is") if one else ("look like lists", "they are")
            cells = count_things(self.broken.count, "label cell")
            said.append(
                f"{cells} {look} and cannot be read as such ({self.broken.quote()}): "
                f"{stand} split at the separator like any other text, brackets and all; "
                "write ['a', 'b'] or a;b"
            )
        if self.without_id and self.with_id:  # without any id, numbers are no surprise
            some = count_things(self.without_id, "document has", "documents have")
            said.append(f"{some} no id and the number of the row in its place; --id names another column")
        return said

    def _describe_missing(self) -> str:
        values, are = ("value stands", "is") if self.missing.count == 1 else ("values stand", "are")
        sentence = (
            f"{self.missing.count:,} {values} for missing labels ({self.missing.quote()}) and {are} not read "
            "as labels; data.keep_missing=true (--keep-missing) keeps them"
        )
        lists = count_things(self.listed, "list")
        return sentence + (f"; 'NA' in {lists} is kept as a label" if self.listed else "")
