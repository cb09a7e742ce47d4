from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from small_experiments import small_options

from seq2set.core.errors import InputError
from seq2set.corpora.documents import SPLITS, Document
from seq2set.corpora.prepare import prepare
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.splits import Method, SplitPlan
from seq2set.corpora.subset import open_reduced_corpus, write_carved_corpus
from seq2set.experiments.studies.uncorrelated import (
    describe_reduction,
    find_largest_correlation,
    reduce_corpus,
)

PAIRS = [("a", "b"), ("a", "b"), ("a",), ("c",), ("c", "d"), ()]


@pytest.fixture(scope="module")
def paired(tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    """In each split: a and b mostly together, c and d somewhat, and documents without labels."""
    documents = [
        Document(f"{split}{number}", f"text {number}", PAIRS[number % len(PAIRS)], split)
        for split in SPLITS
        for number in range(12)
    ]
    return prepare(
        documents,
        tmp_path_factory.mktemp("paired") / "corpus",
        name="paired",
        source="made for tests",
        licence="none",
        plan=SplitPlan("given"),
        notes={"tree": {"b": "a", "a": None}},
    )


def test_the_part_is_a_prepared_corpus_of_its_own(paired: PreparedCorpus, tmp_path: Path) -> None:
    def short(document: Document) -> Document | None:
        return document if len(document.labels) < 2 else None

    part = open_reduced_corpus(paired, tmp_path / "part", short, name="short", how={"most": 1})
    part.verify()
    for split in SPLITS:
        wanted = [(one, labels) for one, labels in _rows(paired, split) if len(labels) < 2]
        assert _rows(part, split) == wanted
    assert (part.name, part.facts["licence"]) == ("short", "none")
    assert part.facts["notes"]["tree"] == {"b": "a", "a": None}
    assert part.facts["notes"]["reduced"] == {
        "from": "paired",
        "fingerprint": paired.fingerprint,
        "most": 1,
    }


@pytest.mark.parametrize(("method", "came_with_it"), [("given", True), ("random", False)])
def test_a_part_tells_whether_its_splits_came_with_the_corpus(
    method: Method, came_with_it: bool, tmp_path: Path
) -> None:
    documents = [Document(str(n), f"text {n}", ("ab"[n % 2],), SPLITS[n % 3]) for n in range(30)]
    plan = SplitPlan(method, valid=0, test=6)
    whole = prepare(documents, tmp_path / "c", name="c", source="", licence="", plan=plan)
    part = open_reduced_corpus(whole, tmp_path / "part", lambda one: one, name="part", how={})
    again = open_reduced_corpus(part, tmp_path / "again", lambda one: one, name="again", how={})
    assert [one.has_given_splits for one in (whole, part, again)] == [came_with_it] * 3
    if not came_with_it:
        write_carved_corpus(whole, tmp_path / "carved", 0.2)
        assert not PreparedCorpus.open(tmp_path / "carved").has_given_splits


def _rows(corpus: PreparedCorpus, split: str) -> list[tuple[str, list[str]]]:
    part = corpus.split(split)
    return list(zip(part.ids(), part.labels(), strict=True))


def test_it_is_made_once_and_never_taken_for_another(paired: PreparedCorpus, tmp_path: Path) -> None:
    open_reduced_corpus(paired, tmp_path / "part", lambda one: one, name="all", how={"most": 9})
    written = (tmp_path / "part" / "corpus.json").stat().st_mtime_ns
    again = open_reduced_corpus(paired, tmp_path / "part", _never, name="all", how={"most": 9})
    assert again.folder == tmp_path / "part"
    assert (tmp_path / "part" / "corpus.json").stat().st_mtime_ns == written
    with pytest.raises(InputError, match="part was made from something else .*'most': 9.*use another --out"):
        open_reduced_corpus(paired, tmp_path / "part", lambda one: one, name="all", how={"most": 8})
    with pytest.raises(InputError, match="paired/?.* was made from something else .None"):
        open_reduced_corpus(paired, paired.folder, lambda one: one, name="all", how={})


def _never(document: Document) -> Document | None:
    raise AssertionError("the corpus is there already")


def test_only_documents_of_uncorrelated_labels_stay(paired: PreparedCorpus, tmp_path: Path) -> None:
    options = small_options(paired, tmp_path, ("br",))
    reduced = reduce_corpus(options)
    # Of 12 training documents a stands in 6, b in 4, always with a: phi = (48 - 24) / sqrt(36 * 32) = 0.71.
    # c in 4, d in 2, always with c: phi = (24 - 8) / sqrt(32 * 20) = 0.63. b and d go: a and c bring more.
    assert sorted(reduced.selection.labels) == ["a", "c"]
    assert reduced.selection.largest <= 0.28
    assert reduced.part.folder == tmp_path / "corpora" / "uncorrelated-0.28"
    for split in SPLITS:
        assert {tuple(labels) for labels in reduced.part.split(split).labels()} == {("a",), ("c",), ()}
        assert len(reduced.part.split(split)) == 6
    everything = reduce_corpus(replace(options, extra={"threshold": "0.75"}))
    assert len(everything.part.split("train")) == 12
    assert everything.part.folder.name == "uncorrelated-0.75"


def test_what_became_of_the_corpus_is_told(paired: PreparedCorpus, tmp_path: Path) -> None:
    reduced = reduce_corpus(small_options(paired, tmp_path, ("br",)))
    section = describe_reduction(reduced)
    assert section.asked.endswith("no two correlate by more than 0.28?")
    assert section.found[0] == (
        "2 of the 4 labels are chosen; 2 of them occur in the documents that stay. On the training split of "
        f"paired the largest correlation between two of the chosen is {reduced.selection.largest:.3f}."
    )
    left = find_largest_correlation(reduced.part.split("train").labels())
    assert section.found[1].startswith(f"On the documents that stay it is {left:.3f}")
    rows = {row.name: [entry.value for entry in row.entries] for row in section.tables[0].rows}  # type: ignore[union-attr]
    assert rows["documents, train"] == [12, 6]
    assert rows["labels"] == [4, 2]
    assert rows["labels per document"] == [pytest.approx(8 / 6, abs=1e-4), pytest.approx(4 / 6, abs=1e-4)]
    assert rows["documents without labels"] == [6, 6]
    assert rows["largest correlation, train"] == [pytest.approx(24 / (36 * 32) ** 0.5), left]


def test_a_threshold_that_leaves_nothing_is_refused(tmp_path: Path) -> None:
    documents = [Document(f"d{number}", "text", ("a", "b")) for number in range(10)]
    documents += [Document(f"e{number}", "text", ("c",)) for number in range(10)]
    split = [one._replace(split=SPLITS[number % 3]) for number, one in enumerate(documents)]
    # Only training documents have c alone; a and b always stand together.
    split = [one._replace(split="train") if one.labels == ("c",) else one for one in split]
    corpus = prepare(
        split, tmp_path / "ab", name="ab", source="", licence="", plan=SplitPlan("given"), notes={}
    )
    with pytest.raises(
        InputError,
        match="--option threshold is 0.28, which leaves no document with labels in the split 'test'",
    ):
        reduce_corpus(small_options(corpus, tmp_path / "out", ("br",)))
    assert not (tmp_path / "out").exists()


def test_the_part_keeps_the_groups(tmp_path: Path) -> None:
    documents = [Document(f"d{n}", f"text {n}", ("a",), "train", f"g{n // 2}") for n in range(6)]
    plan = SplitPlan("given", valid=0)
    whole = prepare(documents, tmp_path / "whole", name="whole", source="here", licence="none", plan=plan)

    def later(document: Document) -> Document | None:
        return document if document.id > "d2" else None

    part = open_reduced_corpus(whole, tmp_path / "part", later, name="part", how={"from": 3})
    assert part.split("train").groups() == ["g1", "g2", "g2"]
