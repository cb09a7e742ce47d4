from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from ranked_corpora import by_knowledge, give, ranked_options
from small_experiments import by_model, small_options

from seq2set.core.errors import InputError
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.experiments.analysis.comparison import summarize_rows
from seq2set.experiments.analysis.margins import ModelPair
from seq2set.experiments.options import Options
from seq2set.experiments.render.removal import spread_margin
from seq2set.experiments.render.report import Section
from seq2set.experiments.render.tables import Quantity, Table
from seq2set.experiments.run import run_experiment
from seq2set.experiments.studies.remove_frequent import STUDY as REMOVE_FREQUENT
from seq2set.experiments.studies.remove_frequent import list_steps, measure_step

cells = REMOVE_FREQUENT.cells
sections = REMOVE_FREQUENT.sections

FOUR = ("br", "seq2seq", "seq2set-simp", "seq2set")


def values(table: Table) -> dict[str, list[float]]:
    return {
        row.name: [entry.value for entry in row.entries if isinstance(entry, Quantity)] for row in table.rows
    }


def told(options: Options) -> list[Section]:
    return sections(options, give(cells(options), by_knowledge))


def test_steps_are_the_papers_shares_of_the_labels(tmp_path: Path) -> None:
    options = Options("x", tmp_path, ("br",))
    assert list_steps(options, 103) == (10, 20, 30, 40, 50, 60)
    # 53 labels: 53 x 10 / 103 = 5.1, and so on.
    assert list_steps(options, 53) == (5, 10, 15, 21, 26, 31)
    assert list_steps(options, 5) == (1, 2, 3)
    assert list_steps(replace(options, extra={"steps": "4,2,4"}), 5) == (2, 4)


def test_steps_that_cannot_be(tmp_path: Path) -> None:
    options = Options("x", tmp_path, ("br",), extra={"steps": "2,5"})
    with pytest.raises(
        InputError,
        match="--option steps is '2,5', but the corpus has 5 labels; at most 4 can be left out",
    ):
        list_steps(options, 5)
    with pytest.raises(InputError, match="the corpus has 1 label; there are too few to leave any out"):
        list_steps(replace(options, extra={}), 1)


def test_what_is_named_wrongly_is_refused_before_any_training(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--option retrain is 'maybe'; it must be no or yes"):
        Options("x", tmp_path, ("br",), extra={"retrain": "maybe"})
    options = ranked_options(tmp_path, ("br",), extra={"steps": "5"})
    with pytest.raises(InputError, match="--option steps is '5', but the corpus has 5 labels"):
        cells(options)


def test_f1_on_the_labels_that_are_left(tmp_path: Path) -> None:
    found = told(ranked_options(tmp_path, FOUR))[0]
    f1, margins, left = found.tables
    # Of 19 occurrences BR gives 14, all right: 28/33. Without a 8 of 13, without b 4 of 9, without c 0 of 5.
    assert values(f1)["BR"] == pytest.approx([28 / 33, 16 / 21, 8 / 13, 0])
    assert values(f1)["Seq2Seq"] == pytest.approx([20 / 29, 8 / 17, 0, 0])
    assert values(f1)["Seq2Set"] == pytest.approx([1, 1, 1, 1])
    assert [column.name for column in f1.columns] == ["all", "−1", "−2", "−3"]
    assert values(margins)["Seq2Set over BR"] == pytest.approx(
        [100 * 5 / 33, 100 * 5 / 21, 100 * 5 / 13, 100]
    )
    assert [row.name for row in margins.rows[:2]] == ["Seq2Set (simp.) over BR", "95 % of it"]
    assert margins.data()["rows"][0]["leads"] == "Seq2Set (simp.) over BR"  # as in all published results
    assert [(row.entries[0], values(left)[row.name][0]) for row in left.rows] == [
        ("5", 19), ("4", 13), ("3", 9), ("2", 5),
    ]  # fmt: skip


def several(tmp_path: Path, models: tuple[str, ...], steps: str) -> Options:
    return ranked_options(tmp_path, models, seeds=(1, 3, 4), extra={"steps": steps})


def test_the_paper_is_confirmed(tmp_path: Path) -> None:
    def half_of_them(cell, labels):
        known = {"br": "ab", "seq2seq": "a", "seq2set": "abcde"}[cell.config.model]
        return [one for one in labels if one in known]

    options = several(tmp_path, ("br", "seq2seq", "seq2set"), "1")
    found = sections(options, give(cells(options), half_of_them))[0].claims
    # Of 19 labels Seq2Seq gives the 6 a and, without a, nothing: 2 x 6 / (6 + 19) = 48.0 points are lost. BR
    # falls from 20/29 to 8/17, by 21.9 points, and Seq2Set from 1 to 1.
    assert found[0].text == "the performance of all models deteriorates"
    assert found[0].holds is None
    assert found[0].evidence.startswith(
        "without the 1 most frequent labels: 1 of 3 differences are not settled: Seq2Set +0.0 points "
    )
    assert found[1].text == "Seq2Seq loses more than the other methods"
    # 48.0 - 21.9 and 48.0 - 0 points.
    assert found[1].evidence.startswith(
        "without the 1 most frequent labels: the loss of Seq2Seq over that of BR +26.1 points ("
    )
    assert found[2].text == "the advantage of Seq2Set over BR does not decrease"
    assert found[2].evidence.startswith(
        "the margin of Seq2Set over BR, from +31.0 to +52.9 points, changes by +21.9 points ("
    )
    assert found[3].text == "the advantage of Seq2Set over Seq2Seq becomes larger"
    assert found[3].evidence.startswith(
        "the margin of Seq2Set over Seq2Seq, from +52.0 to +100.0 points, changes by +48.0 points ("
    )
    assert [one.holds for one in found] == [None, True, None, True]


def test_one_seed_judges_nothing(tmp_path: Path) -> None:
    options = ranked_options(tmp_path, ("br", "seq2seq", "seq2set"), extra={"steps": "1"})
    found = told(options)[0].claims
    assert [one.holds for one in found] == [None] * 4
    assert all(
        "fewer than three seeds allow no test of methods, train at least 3" in one.evidence for one in found
    )


def test_a_margin_that_surely_shrinks(tmp_path: Path) -> None:
    # Seq2Set gives a and b only: with them all is right, and on the other labels nothing; BR the reverse.
    def by_turns(cell, labels):
        return [one for one in labels if one in ("cde" if cell.config.model in ("br", "seq2seq") else "ab")]

    options = several(tmp_path, ("br", "seq2seq", "seq2set"), "2")
    found = sections(options, give(cells(options), by_turns))[0].claims
    assert [(one.text, one.holds) for one in found[2:]] == [
        ("the advantage of Seq2Set over BR does not decrease", False),
        ("the advantage of Seq2Set over Seq2Seq becomes larger", False),
    ]
    assert " to −100.0 points, changes by −" in found[2].evidence


def test_an_unchanged_margin_is_not_proven_by_ten_documents(tmp_path: Path) -> None:
    options = several(tmp_path, ("br", "seq2set"), "1")
    found = sections(options, give(cells(options), lambda cell, labels: labels))[0].claims
    assert found[1].holds is None
    assert found[1].evidence == (
        "the margin of Seq2Set over BR, from +0.0 to +0.0 points, changes by +0.0 points (+0.0 to +0.0); "
        "less than 1 point counts as none; not significant, and no number of seeds would settle it on these "
        "documents"
    )


def test_another_baseline_is_the_one_to_beat(tmp_path: Path) -> None:
    options = ranked_options(tmp_path, ("cnn", "seq2set"), extra={"steps": "1"})
    found = sections(options, give(cells(options), lambda cell, labels: labels[:1]))[0].found
    assert found[0].startswith(
        "The margin of Seq2Set over CNN, from +0.0 to +0.0 points, changes by +0.0 points"
    )
    assert found[0].endswith("not tested, with fewer than three seeds.")
    assert "paper" not in found[0]


def test_bands_are_drawn_for_several_seeds(tmp_path: Path) -> None:
    options = ranked_options(tmp_path, ("br", "seq2set"), seeds=(1, 2), extra={"steps": "3"})
    found = told(options)[0]
    f1, margins, _ = found.tables
    # Without a, b and c there are 5 occurrences; the second seed misses two of them: 1 and 6/8.
    last = f1.rows[1].entries[1]
    assert isinstance(last, Quantity)
    assert last.value == pytest.approx(0.875)
    assert last.deviation == pytest.approx(0.25 / 2**0.5)
    assert values(margins)["Seq2Set over BR"][1] == pytest.approx(87.5)
    assert [one.name for one in found.figures] == ["remaining-f1", "remaining-leads"]
    assert all(one.caption.endswith("Shades: the deviation over seeds.") for one in found.figures)
    assert f1.caption.endswith("mean ± deviation over seeds.")


def test_a_margin_wavers_with_the_seeds_of_both(tmp_path: Path) -> None:
    def seed_2_knows_less(cell, labels):
        less = {"seq2seq": "a", "seq2set": "abcd"} if cell.config.seed == 2 else {}
        return [one for one in labels if one in less.get(cell.config.model, "abcde")]

    options = ranked_options(tmp_path, ("seq2seq", "seq2set"), seeds=(1, 2))
    step = measure_step(0, summarize_rows(by_model(give(cells(options), seed_2_knows_less))))
    # Seq2Seq gives 19 and 6 of 19 labels, 1 and 12/25; Seq2Set 19 and 17, 1 and 34/36. The deviation of two
    # values is their difference over the root of two, and variances add up.
    found = spread_margin(step, ModelPair("seq2set", "seq2seq"))
    assert found.mean == pytest.approx(100 * ((1 + 34 / 36) / 2 - (1 + 12 / 25) / 2))
    assert found.deviation == pytest.approx(100 * ((13 / 25) ** 2 / 2 + (2 / 36) ** 2 / 2) ** 0.5)


def test_without_a_rival_there_is_no_margin(tmp_path: Path) -> None:
    found = told(ranked_options(tmp_path, ("seq2set",)))[0]
    assert [table.name for table in found.tables] == ["remaining-f1", "remaining-labels"]
    assert [figure.name for figure in found.figures] == ["remaining-f1"]
    assert found.found == ()
    assert len(found.claims) == 1


def test_trained_again_on_fewer_labels(tmp_path: Path) -> None:
    options = ranked_options(tmp_path, ("br", "seq2set"), extra={"retrain": "yes", "steps": "1,3"})
    wanted = cells(options)
    assert [cell.name for cell in wanted] == [
        "br", "seq2set-seed1",
        "br-without-1", "seq2set-without-1-seed1", "br-without-3", "seq2set-without-3-seed1",
    ]  # fmt: skip
    # Rows are keyed by the number of labels; folders of cells keep the names that users have on their disks.
    keys = [one.key for one in REMOVE_FREQUENT.variants(options)]
    assert keys == [(model, step) for step in ("", "1", "3") for model in ("br", "seq2set")]
    reduced = PreparedCorpus.open(Path(wanted[2].config.data.corpus))
    assert reduced.folder == options.out / "corpora" / "ranked-without-1"
    # Training documents 0 to 3 had nothing but a, and so had one document of the test split.
    assert [len(reduced.split(one)) for one in ("train", "valid", "test")] == [16, 2, 9]
    assert "a" not in {label for one in reduced.split("train").labels() for label in one}
    found = told(options)[1]
    assert found.title == "Models that never saw the frequent labels"
    # Without a, b, c: five occurrences in the 4 documents that hold d or e; BR gives none of them.
    assert values(found.tables[0])["BR"] == pytest.approx([28 / 33, 16 / 21, 0])
    assert values(found.tables[-1])["3 left out"] == [5, 5 / 19, 4]
    assert "Documents that keep no label are dropped" in found.asked


def test_cells_that_are_missing_leave_gaps(tmp_path: Path) -> None:
    options = ranked_options(tmp_path, ("br", "seq2set"), extra={"retrain": "yes", "steps": "1,2"})
    results = [one for one in give(cells(options), by_knowledge) if one.row != "seq2set-without-1"]
    table = sections(options, results)[1].tables[0]
    assert table.rows[1].entries[1] is None
    only_again = [one for one in results if one.row == "br-without-1"]
    assert [one.title for one in sections(options, only_again)] == [
        "Models that never saw the frequent labels", "Every training",
    ]  # fmt: skip


def test_real_trainings_from_beginning_to_end(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    extra = {"retrain": "yes", "steps": "2"}
    options = small_options(small_corpus, tmp_path, ("br",), extra=extra)
    findings, page = run_experiment("remove-frequent", options)
    numbers = json.loads((page.parent / "results.json").read_text(encoding="utf-8"))
    assert [one["name"] for one in numbers["cells"]] == ["br", "br-without-2"]
    assert numbers["cells"][1]["labels"] == 2
    assert findings.sections[0].tables[0].rows[0].name == "BR"
