"""The labels in one cell: a list, a list written out as text, or names with a sign between them."""

from __future__ import annotations

import ast
import io
import json
import tokenize
import warnings

MISSING = frozenset(
    ("NaN", "nan", "NAN", "None", "null", "Null", "NULL", "N/A", "n/a", "#N/A", "<NA>", "<na>", "NaT")
)
"""What programs write where a value is missing; no label, unless the options say so."""

_BRACKETS = {"[": "]", "(": ")", "{": "}"}
_LONGEST = 1 << 16


def is_missing(value: object) -> bool:
    """Say whether a value stands for a missing one: null, not a number, or a word for either."""
    if isinstance(value, str):
        return value.strip() in MISSING
    return value is None or (isinstance(value, float) and value != value)


def looks_like_list(text: str) -> bool:
    """Say whether a text stands in brackets, as a list does that was written out."""
    text = text.strip()
    return len(text) > 1 and _BRACKETS.get(text[0]) == text[-1]


def written_list(text: str) -> list[object] | None:
    """Read `['a', 'b']`, `["a", "b"]`, `('a',)` or `{'a'}`, of texts and numbers; None where it is no list.

    The text is parsed and never run. An array without commas, as numpy prints it, is read as well.
    """
    if not looks_like_list(text) or len(text) > _LONGEST:
        return None
    if (items := _json_list(text)) is not None:
        return items
    try:
        with warnings.catch_warnings():  # of escapes that Python does not know
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval").body
            if isinstance(tree, ast.Dict) and not tree.keys:
                return []
            if not isinstance(tree, ast.List | ast.Tuple | ast.Set):
                return None
            items = [_item(node) for node in tree.elts]
            texts = _quoted(text) if any(isinstance(item, str) for item in items) else []
    except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError):
        return None
    # Python joins texts that stand side by side: 'a' 'b' would be the label 'ab'.
    joined = len(texts) > sum(isinstance(item, str) for item in items)
    return [*texts] if joined and all(isinstance(item, str) for item in items) else items


def _json_list(text: str) -> list[object] | None:
    """Read a list as JSON has it; Python would read its escapes otherwise."""
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):
        return None
    plain = isinstance(items, list) and all(item is None or type(item) in (str, int, float) for item in items)
    return items if plain else None


def _item(node: ast.expr) -> object:
    if isinstance(node, ast.Name) and node.id in {"nan", "null", "NaN"}:
        return None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = _item(node.operand)
        if isinstance(number, int | float):
            return -number
    if isinstance(node, ast.Constant) and (node.value is None or type(node.value) in (str, int, float)):
        return node.value
    raise ValueError


def _quoted(text: str) -> list[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text.strip()).readline)
    return [ast.literal_eval(token.string) for token in tokens if token.type == tokenize.STRING]
