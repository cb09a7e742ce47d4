"""The words of the field: phrases that are not to come back in code, messages, pages and docs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KINDS = {".py", ".md", ".js", ".html", ".j2", ".toml", ".css"}
TEXTS = [path for path in sorted((ROOT / "src/seq2set").rglob("*")) if path.suffix in KINDS]
TEXTS += [*sorted((ROOT / "docs").rglob("*.md")), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md"))]

COUNTED = (
    "labels|documents|texts|words|numbers|sets|samples|updates|hypotheses|units|classifiers?|objects?|rows?"
)
PLACES = "label|document|second|request|text|word|update|step|line|class|term|direction|seed|batch"
VERBS = "is|has|was|must|can|occurs|misses|gets|holds|of|that|in"

INSTEAD = {
    rf"\b(?<!more )({COUNTED}) an? ({PLACES})\b(?! ({VERBS})\b)": "labels per document",
    r"\b(at (most|least)|give) so many\b": "maximum texts per request",
    r"\bin vain\b": "timed out after 60 s",
    r"\bmay be (an )?accidents?\b": "not significant",
    r"\bbrought along\b": "is not bundled; pass --from",
    r"\bhow it is had\b|\bcannot be had\b": "how to get it",
    r"\bheard to say\b": "its predictions",
    r"\btakes? no notice\b": "ignores",
    r"\bnot to be told from\b": "not significantly different",
    r"\bnobody to disagree\b": "only one model finished; nothing to compare",
    r"\bnothing is lost\b": "rerun the same command to continue",
    r"\bwhich must not be\b": "unexpected",
    r"\bput (it|them|a model) together again\b": "restore from a saved state",
    r"\bnothing at this address\b": "not found",
    r"\bwent wrong inside\b": "internal error; see the server log",
    r"\bon a telephone\b": "on a phone",
    r"\ba (second|minute|request|document|label) at most\b": "at most ... per second",
}
"""What not to write, as a pattern, and an example of what to write instead."""


@pytest.mark.parametrize("pattern", INSTEAD, ids=lambda one: INSTEAD[one])
def test_words_of_the_field(pattern: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}"
        for path in TEXTS
        for text in [path.read_text(encoding="utf-8")]
        for match in re.finditer(pattern, text, re.IGNORECASE)
    ]
    assert found == []
