"""The most frequent labels left out: of the measurement, or of the corpus that models are trained on."""

from __future__ import annotations

from seq2set.corpora.document import Document
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.errors import InputError
from seq2set.experiments.options import Options
from seq2set.experiments.own_numbers import own_numbers
from seq2set.experiments.reducing import reduced_corpus
from seq2set.vocabulary import Labels

PAPER_STEPS, PAPER_LABELS = (10, 20, 30, 40, 50, 60), 103
"""How many labels the paper leaves out, and how many its corpus RCV1-V2 has."""


def training_labels(corpus: PreparedCorpus) -> Labels:
    """Return the labels of the training split, the most frequent first."""
    return Labels.build(corpus.split("train").labels())


def removal_steps(options: Options, labels: int) -> tuple[int, ...]:
    """Return how many labels to leave out in turn: as asked, or the paper's shares of the labels."""
    asked = own_numbers(options, "steps")
    if asked is not None and asked[-1] >= labels:
        raise InputError(
            f"--option steps is '{options.extra['steps']}', but the corpus has {labels} labels; "
            f"at most {labels - 1} can be left out"
        )
    scaled = {round(step * labels / PAPER_LABELS) for step in PAPER_STEPS}
    steps = asked or tuple(sorted(step for step in scaled if 0 < step < labels))
    if not steps:
        raise InputError(f"the corpus has {labels} labels; there are too few to leave any out")
    return steps


def corpus_without(options: Options, corpus: PreparedCorpus, removed: tuple[str, ...]) -> PreparedCorpus:
    """Open the corpus without some labels, or make it; documents that keep no label are dropped."""
    gone = set(removed)

    def reduce(document: Document) -> Document | None:
        kept = tuple(label for label in document.labels if label not in gone)
        return document._replace(labels=kept) if kept else None

    name = f"{corpus.name}-without-{len(removed)}"
    how = {"labels left out": list(removed)}
    return reduced_corpus(corpus, options.out / "corpora" / name, reduce, name=name, how=how)
