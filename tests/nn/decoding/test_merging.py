from __future__ import annotations

import torch

from seq2set.nn.decoding.beam import Held, merge_scores

TWO_ORDERS = torch.tensor([[[0.0, 0.27, 0.03, 0.1], [0.24, 0.0, 0.06, 0.2]]])
"""What (0,) and (1,) go on with: the labels 0, 1 and 2, or the end."""


def held(*sequences: tuple[int, ...], live: bool = True) -> Held:
    symbols = torch.tensor([list(sequences)])
    emitted = torch.zeros(1, len(sequences), 4, dtype=torch.bool).scatter(2, symbols, True)
    return Held(symbols, emitted, torch.full((1, len(sequences)), live))


def test_two_orders_of_a_set_are_added_and_the_likelier_one_goes_on() -> None:
    found = merge_scores(TWO_ORDERS.log(), TWO_ORDERS.log(), held((0,), (1,)))
    # {0, 1} has 0.27 + 0.24 in the order 0, 1; {0, 2}, {1, 2} and both ends are what they were.
    expected = torch.tensor([[[0.0, 0.51, 0.03, 0.1], [0.0, 0.0, 0.06, 0.2]]])
    torch.testing.assert_close(found.exp(), expected)


def test_the_order_that_goes_on_is_the_likelier_sequence_not_the_likelier_set() -> None:
    orders = torch.tensor([[[0.0, 0.1, 0.03, 0.1], [0.2, 0.0, 0.06, 0.2]]])
    found = merge_scores(TWO_ORDERS.log(), orders.log(), held((0,), (1,)))
    expected = torch.tensor([[[0.0, 0.0, 0.03, 0.1], [0.51, 0.0, 0.06, 0.2]]])
    torch.testing.assert_close(found.exp(), expected)


def test_what_has_ended_meets_nothing() -> None:
    found = merge_scores(TWO_ORDERS.log(), TWO_ORDERS.log(), held((0,), (1,), live=False))
    torch.testing.assert_close(found.exp(), TWO_ORDERS)
