"""Findings as a list for a terminal of 80 columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from seq2set.corpora.checks.finding import LEVELS, Finding
from seq2set.corpora.showing import printable, shortened

_STYLES = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}
_WIDEST_EXAMPLE = 200


def print_findings(findings: Sequence[Finding], name: str, documents: int) -> None:
    """Print each finding with its reason and its cure, and how many there are of each level."""
    console = Console(highlight=False)
    for finding in findings:
        _print_finding(console, finding)
    counts: Counter[str] = Counter(finding.level for finding in findings)
    summary = ", ".join(_counted(counts[level], level) for level in LEVELS)
    console.print(Text(f"{printable(name)}, {documents:,} documents: {summary}."))


def _print_finding(console: Console, finding: Finding) -> None:
    head = Text(finding.level, style=_STYLES[finding.level]) + Text(f" {finding.code}", style="bold")
    console.print(head + Text(f": {printable(finding.what)}."))
    console.print(_indented("why", Text(f"{finding.why}.")))
    console.print(_indented("do", Text(f"{finding.todo}.")))
    shown = "; ".join(shortened(example, _WIDEST_EXAMPLE) for example in finding.examples)
    console.print(_indented("such as", Text(shown, style="dim")))
    console.print()


def _indented(title: str, text: Text) -> Padding:
    return Padding(Text(f"{title}: ", style="italic") + text, (0, 0, 0, 2))


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
