"""A case as a piece of HTML: the text, and labels as chips with a colour and a letter."""

from __future__ import annotations

from html import escape

from seq2set.experiments.cases import Case, Mark


def case_html(case: Case) -> str:
    """Return the case; its looks are in the page's style."""
    text = "" if case.text is None else f'<p class="quoted">{escape(case.text)}</p>'
    lines = "".join(
        f"<dt>{escape(name)}</dt><dd>{' '.join(map(_chip, marks)) or '<i>no label</i>'}</dd>"
        for name, marks in case.lines()
    )
    return f'<div class="case"><h3>Case {case.number}: {escape(case.id)}</h3>{text}<dl>{lines}</dl></div>'


def _chip(mark: Mark) -> str:
    colour = f' style="background: {mark.colour}"' if mark.colour else ""
    letter = f" <b>{mark.letter}</b>" if mark.letter else ""
    label = f"{mark.sign}{escape(mark.label)}{letter}"
    return f'<span class="chip {mark.kind}" title="{mark.kind}"{colour}>{label}</span>'
