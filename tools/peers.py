"""Measure other libraries' linear classifiers on the splits of a prepared corpus, beside models of ours.

It runs in an environment of its own, which needs no seq2set:

    python -m venv build/peers
    build/peers/bin/python -m pip install -r tools/peers.txt
    build/peers/bin/python tools/peers.py CORPUS --ours 'seq2set evaluate RUN --data CORPUS --json'

Each learns from `train` alone. LinearSVC and Omikuji get one threshold for all labels from `valid`, and
LinearSVC its C and its terms; LibMultiLabel's `thresholding` cross-validates one per label on `train`.
`test` is measured once. Macro-F1 is the mean over all labels of train and test; a label that nobody has and
nobody gives counts 0. Processor time is that of features, training, choices and
prediction, in all threads; for models of ours, which are measured and not trained here, there is none.

Shapes: N documents, L labels.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.svm import LinearSVC

Scores = np.ndarray[Any, Any]


class Corpus(NamedTuple):
    """Texts and label matrices (N, L) of train, valid and test."""

    texts: dict[str, list[str]]
    labels: dict[str, Any]


class Row(NamedTuple):
    """What a library reached on test."""

    name: str
    micro_f1: float
    macro_f1: float
    cpu_seconds: float
    chosen: str


def load(folder: Path) -> Corpus:
    """Read the splits of a prepared corpus; labels that training lacks come last."""
    tables = {name: pq.read_table(folder / f"{name}.parquet") for name in ("train", "valid", "test")}
    sets = {name: table.column("labels").to_pylist() for name, table in tables.items()}
    known = sorted({label for one in sets["train"] for label in one})
    new = sorted({label for name in ("valid", "test") for one in sets[name] for label in one} - set(known))
    binarizer = MultiLabelBinarizer(classes=[*known, *new])
    return Corpus(
        {name: table.column("text").to_pylist() for name, table in tables.items()},
        {name: binarizer.fit_transform(one).astype(bool) for name, one in sets.items()},
    )


def compute_f1(given: Scores, right: Scores) -> tuple[float, float]:
    """Return micro-F1 and macro-F1 of (N, L)."""
    both, size = (given & right).sum(0), given.sum(0) + right.sum(0)
    return 2 * both.sum() / max(size.sum(), 1), float(np.mean(2 * both / np.maximum(size, 1)))


def find_threshold(scores: Scores, right: Scores) -> tuple[float, float]:
    """Return the threshold for all labels that is best for micro-F1, and what it reaches."""
    order = np.argsort(-scores, axis=None, kind="stable")
    f1 = 2 * np.cumsum(right.ravel()[order]) / (np.arange(1, scores.size + 1) + right.sum())
    best = int(f1.argmax())
    return float(scores.ravel()[order[best]]), float(f1[best])


def run_linear_svc(corpus: Corpus) -> Iterator[tuple[str, Scores]]:
    """scikit-learn's LinearSVC on TF-IDF: words or words and bigrams, and C, as validation says."""
    best, kept = -1.0, None
    for ngrams in (1, 2):
        tfidf = TfidfVectorizer(sublinear_tf=True, min_df=2, ngram_range=(1, ngrams))
        x = {
            name: (tfidf.fit_transform if name == "train" else tfidf.transform)(texts)
            for name, texts in corpus.texts.items()
        }
        for c in (0.3, 1.0, 3.0):
            scores = _fit_svc(x, corpus.labels["train"], c)
            reached = find_threshold(scores["valid"], corpus.labels["valid"])
            if reached[1] > best:
                best, kept = reached[1], (f"{ngrams}-grams, C = {c:g}", scores["test"] >= reached[0])
    assert kept is not None
    yield kept


def _fit_svc(x: dict[str, Any], right: Scores, c: float) -> dict[str, Scores]:
    scores = {name: np.full((x[name].shape[0], right.shape[1]), -np.inf) for name in ("valid", "test")}
    for label in np.flatnonzero(right.any(0)):
        machine = LinearSVC(C=c, random_state=1).fit(x["train"], right[:, label])
        for name in scores:
            scores[name][:, label] = machine.decision_function(x[name])
    return scores


def run_libmultilabel(corpus: Corpus) -> Iterator[tuple[str, Scores]]:
    """LibMultiLabel's linear methods, with its own TF-IDF and defaults."""
    import libmultilabel.linear as linear
    from scipy.sparse import csr_matrix

    tfidf = TfidfVectorizer()
    x = {name: tfidf.fit_transform(corpus.texts[name]) for name in ("train",)}
    x |= {name: tfidf.transform(corpus.texts[name]) for name in ("valid", "test")}
    known = corpus.labels["train"].any(0)
    y = csr_matrix(corpus.labels["train"][:, known].astype(float))
    for method in ("thresholding", "cost_sensitive"):
        model = getattr(linear, f"train_{method}")(y, x["train"], options="-m 1", verbose=False)
        given = np.zeros(corpus.labels["test"].shape, bool)
        given[:, known] = linear.predict_values(model, x["test"]) > 0
        yield f"{method}, its own thresholds", given


def run_omikuji(corpus: Corpus) -> Iterator[tuple[str, Scores]]:
    """Omikuji with its defaults (Parabel) on TF-IDF as Annif makes it; a beam that keeps every label."""
    import omikuji

    tfidf = TfidfVectorizer(min_df=2)
    x = {name: tfidf.fit_transform(corpus.texts[name]) for name in ("train",)}
    x |= {name: tfidf.transform(corpus.texts[name]) for name in ("valid", "test")}
    labels = corpus.labels["train"].shape[1]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.txt"
        path.write_text("\n".join(_write_lines(x["train"], corpus.labels["train"])) + "\n", encoding="utf-8")
        model = omikuji.Model.train_on_data(str(path), n_threads=1)
    scores = {name: np.full((x[name].shape[0], labels), -np.inf) for name in ("valid", "test")}
    for name, matrix in scores.items():
        for row, start, end in zip(matrix, x[name].indptr[:-1], x[name].indptr[1:], strict=True):
            pairs = list(zip(x[name].indices[start:end], x[name].data[start:end], strict=True))
            for label, score in model.predict(pairs, beam_size=labels, top_k=labels):
                row[label] = score
    threshold, _ = find_threshold(scores["valid"], corpus.labels["valid"])
    yield f"one threshold, {threshold:.2f}", scores["test"] >= threshold


def _write_lines(x: Any, right: Scores) -> Iterator[str]:
    yield f"{x.shape[0]} {x.shape[1]} {right.shape[1]}"
    for row, (start, end) in enumerate(zip(x.indptr[:-1], x.indptr[1:], strict=True)):
        pairs = sorted(zip(x.indices[start:end], x.data[start:end], strict=True))
        numbers = ",".join(map(str, np.flatnonzero(right[row])))
        yield " ".join([numbers, *(f"{place}:{value:.6f}" for place, value in pairs)])


def run_ours(command: str) -> Row:
    """Measure a model of ours by a command that prints JSON."""
    done = subprocess.run(shlex.split(command), capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    return Row(f"seq2set: {found['model']}", found["micro_f1"], found["macro_f1"], 0.0, command)


METHODS: dict[str, Callable[[Corpus], Iterator[tuple[str, Scores]]]] = {
    "LinearSVC": run_linear_svc,
    "LibMultiLabel": run_libmultilabel,
    "Omikuji": run_omikuji,
}


def measure(corpus: Corpus, names: Sequence[str]) -> Iterator[Row]:
    """Run the libraries, one after another."""
    for name in names:
        began = read_cpu_seconds()
        for chosen, given in METHODS[name](corpus):
            seconds = read_cpu_seconds() - began
            yield Row(name, *compute_f1(given, corpus.labels["test"]), seconds, chosen)
            began = read_cpu_seconds()


def read_cpu_seconds() -> float:
    """Return what all threads of this process have taken, and processes that it started and that ended."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def main() -> None:
    """Print a table row by row."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path, help="the folder of a prepared corpus")
    parser.add_argument("--methods", default=",".join(METHODS), help="which of the libraries, with commas")
    parser.add_argument("--ours", action="append", default=[], help="a command that measures a model of ours")
    wanted = parser.parse_args()
    print("| library | micro-F1 | macro-F1 | CPU seconds | chosen |\n|---|---|---|---|---|", flush=True)
    for row in [*map(run_ours, wanted.ours)]:
        print(_format(row), flush=True)
    for row in measure(load(wanted.corpus), wanted.methods.split(",")):
        print(_format(row), flush=True)


def _format(row: Row) -> str:
    seconds = f"{row.cpu_seconds:.1f}" if row.cpu_seconds else ""
    return f"| {row.name} | {row.micro_f1:.4f} | {row.macro_f1:.4f} | {seconds} | {row.chosen} |"


if __name__ == "__main__":
    main()
