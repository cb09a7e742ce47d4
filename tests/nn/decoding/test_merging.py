from __future__ import annotations

import numpy as np

from seq2set.nn.decoding.beam import Held, merge_scores
from seq2set.nn.decoding.prefixes import Reals

TWO_ORDERS = np.array([[[0.0, 0.27, 0.03, 0.1], [0.24, 0.0, 0.06, 0.2]]])
"""What (0,) and (1,) go on with: the labels 0, 1 and 2, or the end."""


def log(chances: Reals) -> Reals:
    with np.errstate(divide="ignore"):
        return np.log(chances)


def held(*sequences: tuple[int, ...], live: bool = True) -> Held:
    symbols = np.array([list(sequences)])
    emitted = np.zeros((1, len(sequences), 4), bool)
    np.put_along_axis(emitted, symbols, True, 2)
    return Held(symbols, emitted, np.full((1, len(sequences)), live))


def test_two_orders_of_a_set_are_added_and_the_likelier_one_goes_on() -> None:
    found = merge_scores(log(TWO_ORDERS), log(TWO_ORDERS), held((0,), (1,)))
    # {0, 1} has 0.27 + 0.24 in the order 0, 1; {0, 2}, {1, 2} and both ends are what they were.
    expected = np.array([[[0.0, 0.51, 0.03, 0.1], [0.0, 0.0, 0.06, 0.2]]])
    np.testing.assert_allclose(np.exp(found), expected, atol=1e-12)


def test_the_order_that_goes_on_is_the_likelier_sequence_not_the_likelier_set() -> None:
    orders = np.array([[[0.0, 0.1, 0.03, 0.1], [0.2, 0.0, 0.06, 0.2]]])
    found = merge_scores(log(TWO_ORDERS), log(orders), held((0,), (1,)))
    expected = np.array([[[0.0, 0.0, 0.03, 0.1], [0.51, 0.0, 0.06, 0.2]]])
    np.testing.assert_allclose(np.exp(found), expected, atol=1e-12)


def test_what_has_ended_meets_nothing() -> None:
    found = merge_scores(log(TWO_ORDERS), log(TWO_ORDERS), held((0,), (1,), live=False))
    np.testing.assert_allclose(np.exp(found), TWO_ORDERS, atol=1e-12)
