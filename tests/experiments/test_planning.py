from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from seq2set.config.run_folder import RunFolder
from seq2set.experiments.cells.cell import CellResult
from seq2set.experiments.cells.plan import Schedule, Shape, rule_of_thumb, span
from seq2set.experiments.options import Options
from seq2set.experiments.studies.compare import cells
from tiny_networks import tiny_config


@pytest.mark.parametrize(
    ("model", "settings", "seconds"),
    [
        # 7,000 documents of 120 words make 840,000; at 1.2 million words a second 0.7 s a label.
        ("br", ["threads=1"], 63),
        ("br", ["threads=2"], 31.5),
        ("cc", ["threads=1"], 63),
        ("cc", ["threads=1", "chain.order=ensemble", "chain.chains=4"], 252),
        # At 5 million a second 0.168 s a combination.
        ("lp", ["threads=1"], 84),
        ("lp", ["threads=1", "powerset.max_combinations=100"], 16.8),
    ],
)
def test_the_rule_for_linear_models_worked_by_hand(model: str, settings: list[str], seconds: float) -> None:
    shape = Shape(documents=7000, labels=90, words=120.0, combinations=500)
    assert rule_of_thumb(tiny_config(*settings, model=model), shape) == pytest.approx(seconds)


def test_the_rule_for_networks_worked_by_hand() -> None:
    # A layer of 10 units on 20 inputs has 10 x 30 weights, one on top of it 10 x (20 + 10): 600 a word.
    # Of 300 words 200 are read: 120,000 weights, 0.0000923 s, and 0.003 s on top; 100 documents, 3 epochs.
    sizes = ("embedding=20", "hidden=10", "layers=2", "max_words=200")
    config = tiny_config(
        *(f"encoder.{one}" for one in sizes), "warm_start.epochs=1", "self_critical.epochs=2"
    )
    assert rule_of_thumb(config, Shape(100, 9, 300.0, 20)) == pytest.approx(300 * (0.003 + 120_000 / 1.3e9))


def test_the_plan_knows_what_is_done_and_what_is_begun(
    compared: Options, results: list[CellResult], tmp_path: Path
) -> None:
    schedule = Schedule(cells(replace(compared, seeds=(1, 2, 3))))
    assert [(step.cell.name, step.state) for step in schedule.steps()] == [
        ("br", "done"),
        ("seq2set-simp-seed1", "done"),
        ("seq2set-simp-seed2", "done"),
        ("seq2set-simp-seed3", "to do"),
    ]
    begun = cells(replace(compared, out=tmp_path))
    RunFolder.start(begun[1].folder, begun[1].config)
    assert [step.state for step in Schedule(begun).steps()] == ["to do", "begun", "to do"]


def test_a_cell_is_estimated_by_others_of_its_model(compared: Options, results: list[CellResult]) -> None:
    schedule = Schedule(cells(replace(compared, seeds=(1, 2, 3))))
    third = schedule.left[0]
    # The same settings but for the seed: the mean of the two that are done.
    assert schedule.estimate(third).seconds == pytest.approx((results[1].seconds + results[2].seconds) / 2)
    assert schedule.estimate(third).measured


def test_without_any_done_the_rule_of_thumb_holds(compared: Options, tmp_path: Path) -> None:
    schedule = Schedule(cells(replace(compared, out=tmp_path)), jobs=2)
    rules = [schedule.estimate(cell) for cell in schedule.cells]
    assert not any(one.measured for one in rules)
    # Two at a time take half as long; one that failed takes no more time.
    assert schedule.seconds_left == pytest.approx(sum(one.seconds for one in rules) / 2)
    schedule.give_up(schedule.cells[0])
    schedule.give_up(schedule.cells[1])
    assert [cell.name for cell in schedule.left] == ["seq2set-simp-seed2"]
    assert schedule.seconds_left == pytest.approx(rules[2].seconds)


@pytest.mark.parametrize(("seconds", "text"), [(0, "0 s"), (89, "89 s"), (600, "10 min"), (9000, "2.5 h")])
def test_spans(seconds: float, text: str) -> None:
    assert span(seconds) == text
