from __future__ import annotations

from pathlib import Path

import pytest

from seq2set.core.errors import InputError
from seq2set.experiments.options import Options, own_choice, own_number, own_numbers


def options(**extra: str) -> Options:
    return Options("x", Path("out"), ("br",), extra=extra)


def test_numbers_are_put_in_order() -> None:
    assert own_numbers(options(steps="30, 10,30"), "steps") == (10, 30)
    assert own_numbers(options(), "steps") is None
    assert own_number(options(), "cases", 3) == 3
    assert own_number(options(cases="7"), "cases", 3) == 7


@pytest.mark.parametrize("text", ["", "1,,2", "0", "-1", "1.5", "²", "two"])
def test_anything_else_is_refused(text: str) -> None:
    sentence = f"--option steps is '{text}'; it must be whole numbers >= 1 with commas between, such as 10,20"
    with pytest.raises(InputError, match=sentence.replace(".", r"\.")):
        own_numbers(options(steps=text), "steps")


def test_one_number_is_not_several() -> None:
    with pytest.raises(InputError, match="--option cases is '1,2'; it must be one whole number >= 1"):
        own_number(options(cases="1,2"), "cases", 3)


def test_a_choice() -> None:
    assert own_choice(options(), "texts", ("shown", "hidden")) == "shown"
    assert own_choice(options(texts="hidden"), "texts", ("shown", "hidden")) == "hidden"
    with pytest.raises(InputError, match="--option texts is 'gone'; it must be shown or hidden"):
        own_choice(options(texts="gone"), "texts", ("shown", "hidden"))
