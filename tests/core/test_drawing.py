"""What all pictures share."""

from __future__ import annotations

import re

from seq2set.core.drawing import apply_style, create_picture, format_powers, render_svg


def numbers_on(low: float, high: float) -> list[str]:
    """The numbers that a reader finds on a logarithmic axis."""
    with apply_style():
        picture = create_picture((4.0, 3.0))
        picture.axes.set(xscale="log", xlim=(low, high), yticks=[])
        format_powers(picture.axes.xaxis)
        text = render_svg(picture.figure)
    return re.findall(r"<text [^>]*>([^<]+)</text>", text)


def test_logarithmic_axes_have_numbers_not_formulas() -> None:
    assert numbers_on(0.9, 2e6) == ["1", "10", "100", "1,000", "10,000", "100,000", "1,000,000"]
    assert numbers_on(9e-5, 1.1e-2) == ["0.0001", "0.001", "0.01"]


def test_within_one_power_of_ten_the_steps_between_are_named() -> None:
    assert {"20", "40"} <= set(numbers_on(12, 80))


def test_dollars_in_a_label_stay_dollars() -> None:
    with apply_style():
        picture = create_picture((4.0, 3.0))
        picture.axes.set_title("$a_1$ and $b$")
        assert "$a_1$ and $b$" in render_svg(picture.figure)


def test_the_same_drawing_gives_the_same_bytes() -> None:
    assert numbers_on(1, 10) == numbers_on(1, 10)
    with apply_style():
        assert render_svg(create_picture((2.0, 2.0)).figure) == render_svg(create_picture((2.0, 2.0)).figure)
