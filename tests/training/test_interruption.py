from __future__ import annotations

import signal
import threading

import pytest

from seq2set.core.processes import Interruption


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_first_request_is_remembered_and_a_second_is_not_held_back(number: signal.Signals) -> None:
    before = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
    with Interruption() as interruption:
        assert not interruption.asked
        signal.raise_signal(number)
        assert interruption.asked
        assert [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)] == before


def test_without_a_request_all_is_as_before() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Interruption() as interruption:
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before
    assert not interruption.asked


def test_other_threads_have_no_signals() -> None:
    seen: list[bool] = []

    def work() -> None:
        with Interruption() as interruption:
            seen.append(interruption.asked)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [False]
