"""The number of threads follows what updates were seen to take."""

from __future__ import annotations

import pytest
import torch

from seq2set.training import thread_choice
from seq2set.training.thread_choice import INTERVAL, TURNS, ThreadChoice


class Machine:
    """A machine of four cores on which an update takes a time that depends on its threads."""

    def __init__(self, seconds: dict[int, float]):
        self.seconds, self.now, self.used = seconds, 0.0, list[int]()

    def update(self, choice: ThreadChoice, words: int = 10) -> None:
        with choice.apply(words):
            self.used.append(torch.get_num_threads())
            self.now += self.seconds[self.used[-1]] * words


@pytest.fixture(autouse=True)
def four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_choice, "count_cores", lambda: 4)


@pytest.mark.parametrize(("four", "chosen"), [(0.05, 4), (0.099, 1), (0.7, 1)])
def test_the_faster_number_is_chosen(four: float, chosen: int) -> None:
    machine = Machine({1: 0.1, 4: four})
    choice = ThreadChoice("auto", lambda: machine.now)
    assert choice.describe() == ""
    for number in range(2 * TURNS + 2):
        machine.update(choice, words=10 + number)  # batches of other lengths are compared by the word
    assert machine.used == [1, 4] * (TURNS + 1)
    machine.update(choice)
    assert machine.used[-1] == choice.threads == chosen
    assert choice.describe() == f"{chosen} of 4 threads: 4 were {0.1 / four:.2f} times as fast as 1"


def test_a_choice_is_made_again_when_the_machine_has_changed() -> None:
    machine = Machine({1: 0.1, 4: 0.05})
    choice = ThreadChoice("auto", lambda: machine.now)
    for _ in range(2 * TURNS + 2):
        machine.update(choice)
    assert choice.threads == 4
    machine.seconds[4] = 2.0
    machine.now += INTERVAL
    for _ in range(2 * TURNS + 3):
        machine.update(choice)
    assert (machine.used[-1], choice.threads) == (1, 1)


@pytest.mark.parametrize("wanted", [1, 3])
def test_a_number_is_no_choice(wanted: int) -> None:
    machine = Machine({1: 0.1, 3: 9.0})
    choice = ThreadChoice(wanted, lambda: machine.now)
    for _ in range(20):
        machine.update(choice)
    assert set(machine.used) == {wanted}
    assert choice.describe() == ""
