"""Cells that were published are taken up where corpus and settings are the same, and nowhere else."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_cells import fake_cells
from ranked_corpora import KNOWN, by_knowledge, give, ranked_options
from small_experiments import SETTINGS, Noting, small_options

from changing_corpora import all_documents, with_one_label_rare, write_prepared
from publish_results import publish
from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import InputError
from seq2set.core.progress import Silent
from seq2set.corpora.documents import Document
from seq2set.corpora.prepare import prepare
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.splits import SplitPlan
from seq2set.experiments import EXPERIMENTS
from seq2set.experiments.cells.cell import ANSWERS
from seq2set.experiments.cells.predictions import Answers
from seq2set.experiments.cells.published import read_cell
from seq2set.experiments.options import Options
from seq2set.experiments.run import list_cells as all_cells
from seq2set.experiments.run import plan_all, plan_experiment, run_all, run_experiment
from seq2set.experiments.studies.compare import STUDY as COMPARE

cells = COMPARE.cells


@pytest.fixture
def grouped(small_corpus: PreparedCorpus, tmp_path: Path) -> PreparedCorpus:
    """The small corpus with two documents in each group of the test split."""
    documents = [
        one._replace(group=f"source {place // 2}") for place, one in enumerate(all_documents(small_corpus))
    ]
    return write_prepared(tmp_path / "corpus", documents)


@pytest.fixture
def published(grouped: PreparedCorpus, tmp_path: Path) -> Options:
    """Options for a new folder, and beside it the published cells of br and both seeds of seq2set-simp."""
    options = small_options(grouped, tmp_path / "first", ("br", "seq2set-simp"))
    fake_cells(cells(options), lambda cell: 0.5 + cell.config.seed / 10)
    run_experiment("compare", options)
    publish(options.out, tmp_path / "results")
    shutil.rmtree(options.out)
    return replace(options, out=tmp_path / "second", published=tmp_path / "results/small-compact/cells")


def folder_of(options: Options) -> Path:
    assert options.published is not None
    return options.published


def results_of(out: Path) -> dict[str, Any]:
    """Return every experiment's numbers, but for the checksums of files."""
    found = {}
    for path in out.glob("*/results.json"):
        found[path.parent.name] = json.loads(path.read_text(encoding="utf-8"))
        for cell in found[path.parent.name]["cells"]:
            del cell["answers"]
    return found


def test_every_experiment_is_written_again_without_training(tmp_path: Path) -> None:
    extra = {"cases": "1", "bands": "2", "steps": "1", "retrain": "yes", "threshold": "0.8"}
    settings = (*SETTINGS, "self_critical.epochs=1")
    options = ranked_options(tmp_path, tuple(KNOWN), extra=extra, seeds=(1, 2), assignments=settings)
    give(all_cells(options), by_knowledge)
    run_all(options)
    before = results_of(options.out)
    assert set(before) == set(EXPERIMENTS)
    publish(options.out, tmp_path / "results")
    shutil.rmtree(options.out)
    again = replace(options, published=tmp_path / "results" / "ranked-compact" / "cells")
    assert plan_all(again, Silent()).left == []
    run_all(again)
    assert results_of(options.out) == before


def test_documents_that_a_cell_left_out_are_left_out_where_it_is_taken_up(tmp_path: Path) -> None:
    words = {"grain": "wheat harvest", "oil": "crude barrels", "trade": "tariff exports"}
    names = sorted(words)
    # Every other text stands there twice, so that a split by chance has some on both sides.
    documents = [
        Document(f"{n}-{copy}", f"{words[names[n % 3]]} w{n}", (names[n % 3],))
        for n in range(60)
        for copy in range(1 + n % 2)
    ]
    plan = SplitPlan("random", valid=0.2, test=0.2)
    corpus = prepare(documents, tmp_path / "c", name="c", source="", licence="", plan=plan)
    options = small_options(corpus, tmp_path / "first", ("br",))
    run_experiment("compare", options)
    before = results_of(options.out)
    left_out = before["compare"]["cells"][0]["seen"]["left_out"]
    assert 0 < left_out < len(corpus.split("test"))
    publish(options.out, tmp_path / "results")
    again = replace(options, out=tmp_path / "second", published=tmp_path / "results/c-compact/cells")
    run_experiment("compare", again)
    assert results_of(again.out) == before
    first, second = (Answers.load(one.out / "cells" / "br" / ANSWERS) for one in (options, again))
    assert (second.ids, second.metrics()) == (first.ids, first.metrics())


def test_what_was_taken_up_is_published_as_it_was(published: Options, tmp_path: Path) -> None:
    run_experiment("compare", published)
    publish(published.out, tmp_path / "again")
    names = sorted(path.name for path in folder_of(published).iterdir())
    assert names == ["br.json", "seq2set-simp-seed1.json", "seq2set-simp-seed2.json"]
    for name in names:
        second = tmp_path / "again" / "small-compact" / "cells" / name
        assert second.read_bytes() == (folder_of(published) / name).read_bytes()


def test_a_published_cell_holds_settings_and_labels_but_no_documents(
    published: Options, grouped: PreparedCorpus
) -> None:
    path = folder_of(published) / "seq2set-simp-seed2.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    facts, test = values["facts"], grouped.split("test")
    assert (facts["seed"], facts["config"]["seed"], facts["config"]["data"]["corpus"]) == (2, 2, "small")
    assert facts["corpus"]["fingerprint"] == grouped.fingerprint
    assert facts["seconds"]["training"] == 60.0
    assert facts["machine"]["seq2set"]
    names = values["labels"]
    assert [sorted(names[place] for place in one) for one in values["true"]] == list(
        map(sorted, test.labels())
    )
    groups = test.groups() or []
    assert len(set(zip(groups, values["groups"], strict=True))) == len(set(groups)) < len(groups)
    text = path.read_text(encoding="utf-8")
    assert not any(one in text for one in (*test.texts(), *groups, str(grouped.folder)))
    assert set(values) == {
        "format", "name", "facts", "labels", "frequencies", "groups", "given", "true", "sha256"
    }  # fmt: skip
    numbers = [number for name in ("given", "true") for one in values[name] for number in one]
    assert {type(one) for one in (*numbers, *values["groups"])} == {int}


def test_only_what_is_not_published_is_trained(
    compared: Options, results: list[object], tmp_path: Path
) -> None:
    run_experiment("compare", compared)
    publish(compared.out, tmp_path / "results")
    shelf = tmp_path / "results" / "small-compact" / "cells"
    options = replace(compared, out=tmp_path / "out", published=shelf, seeds=(1, 2, 3))
    schedule = plan_experiment("compare", options)
    assert [step.state for step in schedule.list_steps()] == ["published"] * 3 + ["to do"]
    assert not options.out.exists()
    progress = Noting()
    found = run_experiment("compare", options, progress)
    assert f"3 of the cells are taken from {shelf}" in progress.notes
    trained = [RunFolder(options.cells / cell.name).model.is_dir() for cell in cells(options)]
    assert trained == [False, False, False, True]
    for taken in cells(compared):
        assert_same_answers(options.cells / taken.name / ANSWERS, taken.folder / ANSWERS)
    assert [one.facts["seed"] for one in found.findings.results] == [1, 1, 2, 3]
    again = Noting()
    run_experiment("compare", options, again)
    assert again.notes == ["4 of 4 cells are done already"]


def assert_same_answers(one: Path, other: Path) -> None:
    first, second = Answers.load(one), Answers.load(other)
    assert (first.names, first.frequencies) == (second.names, second.frequencies)
    assert (first.ids, first.groups) == (second.ids, second.groups)
    for mine, theirs in zip((*first.chosen, *first.actual), (*second.chosen, *second.actual), strict=True):
        assert mine.tolist() == theirs.tolist()


def test_nothing_can_be_taken_over_from_a_published_cell(grouped: PreparedCorpus, tmp_path: Path) -> None:
    options = small_options(grouped, tmp_path / "first", ("br",))
    fake_cells(plan_experiment("table-results", options).cells, lambda cell: 0.5)
    run_experiment("table-results", options)
    publish(options.out, tmp_path / "results")
    shelf = tmp_path / "results" / "small-compact" / "cells"
    (shelf / "br.json").unlink()
    again = replace(options, out=tmp_path / "second", published=shelf)
    steps = {step.cell.name: step for step in plan_experiment("table-results", again).list_steps()}
    assert [(step.state, step.time.shares) for step in steps.values()] == [
        ("published", False),
        ("to do", False),
    ]


def test_a_changed_corpus_is_trained_on_anew(published: Options, grouped: PreparedCorpus) -> None:
    old = grouped.fingerprint
    new = write_prepared(grouped.folder, with_one_label_rare(all_documents(grouped))).fingerprint
    schedule = plan_experiment("compare", published)
    assert len(schedule.left) == 3
    assert schedule.stored is not None
    assert list(schedule.stored.list_notes()) == [
        f"not taken from {published.published} but trained here: br, seq2set-simp-seed1, seq2set-simp-seed2; "
        f"the corpus was another one (fingerprint {old}, now {new})"
    ]


def test_other_settings_are_trained_anew(published: Options) -> None:
    options = replace(published, assignments=(*published.assignments, "encoder.hidden=7"))
    schedule = plan_experiment("compare", options)
    # Binary relevance has no encoder, and stays the same.
    assert [cell.name for cell in schedule.left] == ["seq2set-simp-seed1", "seq2set-simp-seed2"]
    assert schedule.stored is not None
    taken, refused = schedule.stored.list_notes()
    assert taken == f"1 of the cells are taken from {published.published}"
    assert refused.startswith(
        f"not taken from {published.published} but trained here: seq2set-simp-seed1, seq2set-simp-seed2; "
        "settings differ (encoder.hidden: "
    )


def test_cells_of_the_same_documents_are_taken_however_files_were_read(published: Options) -> None:
    options = replace(published, assignments=(*published.assignments, 'data.separator=";"'))
    assert plan_experiment("compare", options).left == []


def test_settings_of_another_version_are_trained_anew(published: Options, tmp_path: Path) -> None:
    rewrite(folder_of(published) / "br.json", lambda facts: facts["config"].update(cloud={"size": 3}))
    schedule = plan_experiment("compare", published)
    assert schedule.stored is not None
    assert [cell.name for cell in schedule.left] == ["br"]
    assert next(reversed(list(schedule.stored.list_notes()))).endswith(
        "trained here: br; its settings are of another version"
    )


def rewrite(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change a published cell and make its checksum fit, as another version would have written it."""
    from seq2set.experiments.cells import published as published_cells

    values = json.loads(path.read_text(encoding="utf-8"))
    del values["sha256"]
    change(values["facts"])
    text = json.dumps(values | {"sha256": published_cells._compute_checksum(values)})
    path.write_text(text, encoding="utf-8")


def test_a_cell_that_has_begun_here_goes_on(published: Options) -> None:
    begun = cells(published)[0]
    RunFolder.start(begun.folder, begun.config)
    schedule = plan_experiment("compare", published)
    assert [cell.name for cell in schedule.left] == ["br"]
    assert schedule.stored is not None
    assert list(schedule.stored.list_notes())[1] == (
        f"not taken from {published.published} but trained here: br; {published.cells} has started it"
    )


def cut(text: str) -> str:
    return text[: len(text) // 2]


def with_another_label(text: str) -> str:
    changed = text.replace('"given": [[', '"given": [[1,', 1)
    assert changed != text
    return changed


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (cut, "it is no JSON of a cell"),
        (lambda text: "[]", "it is no JSON of a cell"),
        (lambda text: "{}", "it is no JSON of a cell"),
        (with_another_label, "its checksum is not the recorded one"),
    ],
)
def test_a_damaged_cell_is_named(published: Options, damage: Callable[[str], str], why: str) -> None:
    path = folder_of(published) / "br.json"
    path.write_text(damage(path.read_text(encoding="utf-8")), encoding="utf-8")
    sentence = f"{path} is damaged: {why}; put it back, or delete it to train the cell again"
    with pytest.raises(InputError) as error:
        plan_experiment("compare", published)
    assert str(error.value) == sentence


def test_true_labels_that_are_not_the_corpus_s_are_damage(published: Options) -> None:
    cell = read_cell(folder_of(published) / "br.json")
    with pytest.raises(InputError, match=r"br\.json is damaged: its true labels are not those of the corpus"):
        cell.read_answers(["1"], [["a"]], None)


def test_a_newer_file_is_refused(published: Options) -> None:
    path = folder_of(published) / "br.json"
    path.write_text('{"format": 2}', encoding="utf-8")
    with pytest.raises(InputError, match=r"br\.json has format 2, and this version reads format 1"):
        plan_experiment("compare", published)


def test_a_folder_without_cells_is_refused(published: Options, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--cells is .*nowhere, which holds no published cells; it must be"):
        plan_experiment("compare", replace(published, published=tmp_path / "nowhere"))


def test_cells_of_one_name_and_other_settings_stand_beside_each_other(
    published: Options, tmp_path: Path
) -> None:
    other = replace(
        published, out=tmp_path / "third", models=("br",), assignments=("linear.c=[7]",), published=None
    )
    fake_cells(cells(other), lambda cell: 0.2)
    run_experiment("compare", other)
    for _ in range(2):
        publish(other.out, tmp_path / "results")
    found = [read_cell(path) for path in folder_of(published).glob("br*.json")]
    assert sorted(one.facts["metrics"]["micro_recall"] < 0.5 for one in found) == [False, True]
    for options, recall in ((published, "more"), (replace(other, published=folder_of(published)), "less")):
        schedule = plan_experiment("compare", replace(options, out=tmp_path / recall))
        assert schedule.left == []
        assert (schedule.results["br"].metrics["micro_recall"] > 0.4) == (recall == "more")


def test_answers_other_than_those_of_the_results_are_not_published(published: Options) -> None:
    run_experiment("compare", published)
    answers = published.cells / "br" / ANSWERS
    answers.write_bytes(answers.read_bytes() + b" ")
    with pytest.raises(
        InputError, match=r"answers\.npz is not the file that the results were made of; run the"
    ):
        publish(published.out, published.out / "results")


def test_labels_that_training_never_saw_come_back(tmp_path: Path, small_corpus: PreparedCorpus) -> None:
    documents: list[Document] = all_documents(small_corpus)
    rare = [one._replace(labels=(*one.labels, "zebra")) if one.split == "test" else one for one in documents]
    corpus = write_prepared(tmp_path / "corpus", rare)
    options = small_options(corpus, tmp_path / "out", ("br",), assignments=("linear.c=[1]", "threads=1"))
    run_experiment("compare", options)
    before = results_of(options.out)
    publish(options.out, tmp_path / "results")
    shutil.rmtree(options.out)
    again = replace(options, published=tmp_path / "results" / "small-compact" / "cells")
    assert plan_experiment("compare", again).left == []
    run_experiment("compare", again)
    assert results_of(options.out) == before
