"""Write a CSV file of made-up documents, to measure what large corpora cost.

Usage: python tools/synthetic_corpus.py DOCUMENTS > FILE.csv

A document has 12 of 20,000 words, some more often than others, and one or two of 20 labels that follow from
them.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from itertools import accumulate

WORDS, LABELS, LENGTH = 20_000, 20, 12


def make_rows(documents: int) -> Iterator[str]:
    """Yield the header and the rows, the same ones every time."""
    draw = random.Random(1)
    weights = list(accumulate(1 / (rank + 10) for rank in range(WORDS)))
    yield "id,text,labels"
    for number in range(documents):
        words = draw.choices(range(WORDS), cum_weights=weights, k=LENGTH)
        labels = sorted({word % LABELS for word in words[: 1 + number % 2]})
        text = " ".join(f"w{word}" for word in words)
        yield f"d{number},{text},{';'.join(f'l{label}' for label in labels)}"


if __name__ == "__main__":
    for row in make_rows(int(sys.argv[1])):
        print(row)
