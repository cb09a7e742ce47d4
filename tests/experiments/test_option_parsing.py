from __future__ import annotations

from pathlib import Path

import pytest

from seq2set.core.errors import InputError
from seq2set.experiments import EXPERIMENTS, list_options
from seq2set.experiments.options import Options


def options(**extra: str) -> Options:
    return Options("x", Path("out"), ("br",), extra=extra)


def test_numbers_are_put_in_order() -> None:
    assert options(steps="30, 10,30").read("steps") == (10, 30)
    assert options().read("steps") is None
    assert options().read("cases") == 3
    assert options(cases="7").read("cases") == 7


@pytest.mark.parametrize("text", ["", "1,,2", "0", "-1", "1.5", "²", "two"])
def test_anything_else_is_refused_at_once(text: str) -> None:
    sentence = f"--option steps is '{text}'; it must be whole numbers >= 1 with commas between, such as 10,20"
    with pytest.raises(InputError, match=sentence.replace(".", r"\.")):
        options(steps=text)


def test_one_number_is_not_several() -> None:
    with pytest.raises(InputError, match="--option cases is '1,2'; it must be one whole number >= 1"):
        options(cases="1,2")


def test_a_choice() -> None:
    assert options().read("texts") == "shown"
    assert options(texts="hidden").read("texts") == "hidden"
    with pytest.raises(InputError, match="--option texts is 'gone'; it must be shown or hidden"):
        options(texts="gone")


def test_two_studies_have_no_option_of_the_same_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXPERIMENTS, "depth", EXPERIMENTS["remove-frequent"])
    sentence = "the studies remove-frequent and depth both have an option 'steps'; rename one"
    with pytest.raises(InputError, match=sentence):
        list_options()


def test_every_default_is_read_as_if_it_were_given() -> None:
    for name, option in list_options().items():
        option.read(name, None)
    assert list_options()["bands"].help == "how many bands of equally many labels, by default 5"
    assert "by default" not in list_options()["limits"].help
