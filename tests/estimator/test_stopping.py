from __future__ import annotations

import pytest

from seq2set import Seq2SetClassifier
from seq2set.core.errors import StoppedError
from seq2set.workflows import train


def test_a_stopped_fit_is_an_interrupt_that_no_search_swallows(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*arguments: object) -> None:
        raise StoppedError("stopped after update 3")

    monkeypatch.setattr(train, "get_fit_function", lambda name: stopped)
    with pytest.raises(KeyboardInterrupt):
        Seq2SetClassifier(model="br").fit(["a b", "c d", "a c", "b d"], [("x",), ("y",), ("x",), ("y",)])
