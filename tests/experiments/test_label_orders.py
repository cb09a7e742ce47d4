from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fake_cells import fake_cells
from small_experiments import small_options

from seq2set.core.errors import InputError, UnknownNameError
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.subset import open_reduced_corpus
from seq2set.experiments.options import Options
from seq2set.experiments.render.tables import format_entry
from seq2set.experiments.run import run_experiment
from seq2set.experiments.studies.label_order import STUDY as LABEL_ORDER

cells = LABEL_ORDER.cells

TWO = ("seq2set-simp", "seq2set")


def options_for(corpus: PreparedCorpus, out: Path, **extra: str) -> Options:
    made = small_options(corpus, out, TWO, seeds=(1,), extra=extra)
    return replace(made, assignments=(*made.assignments, "warm_start.likelihood=ordered"))


@pytest.fixture(scope="module")
def with_tree(small_corpus: PreparedCorpus, tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    facts = small_corpus.facts | {"notes": {"tree": {"grain": "trade", "trade": None}}}
    source = PreparedCorpus(small_corpus.folder, facts)
    folder = tmp_path_factory.mktemp("tree") / "corpus"
    return open_reduced_corpus(source, folder, lambda document: document, name="with-tree", how={})


def test_a_tree_only_where_the_corpus_has_one(
    small_corpus: PreparedCorpus, with_tree: PreparedCorpus, tmp_path: Path
) -> None:
    names = [cell.name for cell in cells(options_for(small_corpus, tmp_path))]
    assert names == [f"{model}{order}-seed1" for order in ("", "-ascending", "-shuffled") for model in TWO]
    kinds = [cell.config.label_order.kind for cell in cells(options_for(with_tree, tmp_path))]
    assert kinds[::2] == ["descending", "ascending", "tree", "shuffled"]
    some = cells(options_for(small_corpus, tmp_path, orders="shuffled, ascending"))
    assert [cell.config.label_order.kind for cell in some][::2] == ["shuffled", "ascending"]
    with pytest.raises(
        InputError, match="--option orders has 'tree'; the corpus .*small has no tree of labels"
    ):
        cells(options_for(small_corpus, tmp_path, orders="tree"))
    with pytest.raises(UnknownNameError, match="--option orders: 'tre' is not known, did you mean 'tree'"):
        cells(options_for(small_corpus, tmp_path, orders="descending,tre"))


def test_the_full_model_with_an_order_and_the_simplified_without(
    with_tree: PreparedCorpus, tmp_path: Path
) -> None:
    options = replace(options_for(with_tree, tmp_path), seeds=(1, 2, 3))
    skill = {
        ("descending", "seq2set"): 0.9,
        ("tree", "seq2set"): 0.95,
        ("ascending", "seq2set"): 0.5,
        ("shuffled", "seq2set"): 0.1,
    }
    fake_cells(cells(options), lambda cell: skill.get((cell.config.label_order.kind, cell.config.model), 0.5))
    first, beside, _ = run_experiment("label-order", options).findings.sections
    known, unknown = first.sentences()[:2]
    assert known.startswith(
        "The paper's claim that the full model is better where an order is known holds here: "
    )
    assert "Seq2Set, tree over Seq2Set (simp.), tree +" in known
    assert unknown.startswith(
        "The paper's claim that the simplified model is better where no order is known holds here: "
        "Seq2Set, shuffled over Seq2Set (simp.), shuffled −"
    )
    assert [row.name for row in first.tables[0].rows][:2] == [
        "Seq2Set (simp.), descending",
        "Seq2Set, descending",
    ]
    # Table 3: 0.887 - 0.879; Table 6: 0.865 - 0.873; the paper has no ascending order.
    assert [format_entry(row.entries[4]) for row in beside.tables[0].rows] == ["+0.8", "–", "+0.8", "−0.8"]
    assert beside.found == (
        "In the paper's Table 3, RCV1-V2, Seq2Set lies +0.8 points over Seq2Set (simp.).",
        "In the paper's Table 4, AAPD, Seq2Set lies −0.7 points over Seq2Set (simp.).",
        "In the paper's Table 6, label-shuffled RCV1-V2, Seq2Set lies −0.8 points over Seq2Set (simp.).",
        "In the paper's Table 5, uncorrelated RCV1-V2, Seq2Set lies −0.5 points over Seq2Set (simp.).",
    )


def test_one_model_alone_is_compared_with_nothing(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    options = replace(options_for(small_corpus, tmp_path), models=("seq2set",))
    fake_cells(cells(options), lambda cell: 0.5)
    sections = run_experiment("label-order", options).findings.sections
    assert [one.title for one in sections] == ["Label orders", "Every training"]
    assert sections[0].found[-1] == "The corpus has no tree of labels, so that there is no order by tree."
    assert len(sections[0].tables[0].rows) == 3
