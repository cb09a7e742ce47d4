"""The words of the field: phrases that are not to come back in code, messages, pages and docs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KINDS = {".py", ".md", ".js", ".html", ".j2", ".toml", ".css"}
TEXTS = [path for path in sorted((ROOT / "src/seq2set").rglob("*")) if path.suffix in KINDS]
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "results/README.md")
TEXTS += [*sorted((ROOT / "docs").rglob("*.md")), *(ROOT / name for name in PAGES)]


def one_of(words: str) -> str:
    """Return a pattern for one of these words."""
    return f"({'|'.join(words.split())})"


NUMBERS = one_of(
    r"\d[\d,]*(?:\.\d+)? one two three four five six seven eight nine ten eleven twelve twenty several"
    " hundreds? thousands? millions? once twice"
)
COUNTED = one_of(
    "labels documents texts words numbers sets samples updates hypotheses units classifiers? objects?"
    " rows? files predictions requests calls times rounds epochs trainings trials tokens characters"
    " bytes cells steps seeds errors outputs? models passes lines batches"
)
PLACES = one_of(
    "label document second minute hour day request text word update step line class term direction seed"
    " batch model epoch file core process preset row column cell run trial corpus table layer worker"
    " thread block sample"
)
VERBS = one_of(
    "is has had was must can may occurs misses gets gives holds uses reads takes of that which in for and or"
)
OTHERS = one_of(
    "of from to in on for with by as at than per into over within about without under between after"
    " before is has was that where when if and or but which a an the gives? makes? needs? names? counts?"
    " ends? says teach(?:es)? like such only not"
)
"""What may stand between a number and `a label` where the two are no rate"""

INSTEAD = {
    rf"\b(?<!more\s){COUNTED} an? {PLACES}\b(?! {VERBS}\b)": "labels per document",
    rf"\b{NUMBERS}( (?!{OTHERS}\b)[\w-]+){{0,3}} an? {PLACES}\b(?! {VERBS}\b)": "one verb per file",
    r"\bin the place of\b": "instead of",
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


def find(pattern: str, text: str) -> list[re.Match[str]]:
    """Return where a pattern stands in a text; any white space stands for a blank."""
    return list(re.finditer(pattern.replace(" ", r"\s+"), text, re.IGNORECASE))


@pytest.mark.parametrize(
    "sentence",
    [
        "It gave 3 predictions a document.",
        "It labels 5 files a second",
        "One classifier a label; one linear classifier a label",
        "files a minute, texts an hour, 0.96 a document against 0.86",
        "two passes a batch, a checkpoint twice an epoch, 12,000 of them a step",
        "labels\n    a document",
    ],
)
def test_a_rate_is_seen(sentence: str) -> None:
    assert any(find(pattern, sentence) for pattern in INSTEAD)


@pytest.mark.parametrize(
    "sentence",
    [
        "3 predictions per document, 5 files per second",
        "how many labels a document has; give more documents a label",
        "one of a batch, one that a model gives, fewer than three seeds of a model",
        "from 0 on a label is given",
        "in place of nothing",
    ],
)
def test_other_articles_are_left_alone(sentence: str) -> None:
    assert not any(find(pattern, sentence) for pattern in INSTEAD)


@pytest.mark.parametrize("pattern", INSTEAD, ids=lambda one: INSTEAD[one])
def test_words_of_the_field(pattern: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}"
        for path in TEXTS
        for text in [path.read_text(encoding="utf-8")]
        for match in find(pattern, text)
    ]
    assert found == []
