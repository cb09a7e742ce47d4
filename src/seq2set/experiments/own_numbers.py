"""How experiments read those of their own options that are whole numbers or one of a few words."""

from __future__ import annotations

from collections.abc import Sequence

from seq2set.errors import InputError
from seq2set.experiments.options import Options


def own_numbers(options: Options, name: str) -> tuple[int, ...] | None:
    """Read whole numbers above 0 with commas between, in ascending order; None where none are named."""
    if (text := options.extra.get(name)) is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and int(part) for part in parts):
        raise InputError(
            f"--option {name} is '{text}'; it must be whole numbers >= 1 with commas between, such as 10,20"
        )
    return tuple(sorted(set(map(int, parts))))


def own_number(options: Options, name: str, default: int) -> int:
    """Read one whole number above 0."""
    found = own_numbers(options, name) or (default,)
    if len(found) > 1:
        raise InputError(f"--option {name} is '{options.extra[name]}'; it must be one whole number >= 1")
    return found[0]


def own_choice(options: Options, name: str, allowed: Sequence[str]) -> str:
    """Read one of the words that are allowed; the first of them unless told."""
    found = options.extra.get(name, allowed[0])
    if found not in allowed:
        raise InputError(f"--option {name} is '{found}'; it must be {' or '.join(allowed)}")
    return found
