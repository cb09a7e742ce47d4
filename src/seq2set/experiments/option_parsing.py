"""The options of a study's own, given as `--option NAME=VALUE`: what each means, allows and defaults to."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from seq2set.core.errors import InputError, UnknownNameError

Parser = Callable[[str, str], Any]
"""Reads an option's text; takes the option's name too, for the sentence about a wrong one."""


class StudyOption(NamedTuple):
    """An option of a study."""

    summary: str
    parse: Parser
    default: str | None = None
    """As it would be given; None where it is not a fixed value"""

    @property
    def help(self) -> str:
        """What the option means, and its default."""
        return self.summary if self.default is None else f"{self.summary}, by default {self.default}"

    def read(self, name: str, text: str | None) -> Any:
        """Return the value of a text, or the default where none is given; None where there is neither."""
        given = self.default if text is None else text
        return None if given is None else self.parse(name, given)


def parse_numbers(name: str, text: str) -> tuple[int, ...]:
    """Read whole numbers above 0 with commas between, and put them in ascending order."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and int(part) for part in parts):
        raise InputError(
            f"--option {name} is '{text}'; it must be whole numbers >= 1 with commas between, such as 10,20"
        )
    return tuple(sorted(set(map(int, parts))))


def parse_number(name: str, text: str) -> int:
    """Read one whole number above 0."""
    found = parse_numbers(name, text)
    if len(found) > 1:
        raise InputError(f"--option {name} is '{text}'; it must be one whole number >= 1")
    return found[0]


def parse_share(name: str, text: str) -> float:
    """Read a number from 0 to 1."""
    return _parse_share(text, f"--option {name} is '{text}'; it must be a number")


def parse_shares(name: str, text: str) -> tuple[float, ...]:
    """Read numbers from 0 to 1 with commas between, and put them in ascending order."""
    fault = f"--option {name} is '{text}'; it must be numbers with commas between, each"
    return tuple(sorted({_parse_share(part, fault) for part in text.split(",")}))


def _parse_share(text: str, fault: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise InputError(f"{fault} from 0 to 1")
    return value


def choose_from(*allowed: str) -> Parser:
    """Return what reads one of a few words."""

    def parse(name: str, text: str) -> str:
        if text not in allowed:
            raise InputError(f"--option {name} is '{text}'; it must be {' or '.join(allowed)}")
        return text

    return parse


def choose_some_of(known: Collection[str]) -> Parser:
    """Return what reads names with commas between, in the order in which they are given."""

    def parse(name: str, text: str) -> tuple[str, ...]:
        names = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
        for one in names:
            if one not in known:
                raise UnknownNameError(f"--option {name}:", one, known)
        return names

    return parse
