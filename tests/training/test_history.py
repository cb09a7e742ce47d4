"""The history as TensorBoard reads it back."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from loops import WARM, new_loop
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from seq2set.config import Config, build_config
from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import MissingExtraError, OutputError
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.training.history import TensorBoardWriter, add_tensorboard
from seq2set.workflows.train import train
from tiny_networks import TINY

LOOKS = [
    {"phase": "warm-start", "epoch": 1, "update": 2, "loss": 2.0, "micro_f1": 0.25},
    {"phase": "warm-start", "epoch": 1, "update": 4, "loss": 1.0, "micro_f1": 0.5},
    {"phase": "self-critical", "epoch": 1, "update": 6, "loss": 0.5, "reward": 0.75, "micro_f1": 0.5},
]


def curves(run: Path) -> dict[str, list[tuple[int, float]]]:
    """Every curve as (step, value), in the order in which the points were written."""
    found = EventAccumulator(str(run / "tensorboard"), purge_orphaned_data=False).Reload()
    return {
        tag: [(event.step, event.value) for event in found.Scalars(tag)] for tag in found.Tags()["scalars"]
    }


def watched(path: Path, *, resume: bool = False) -> RunFolder:
    return RunFolder.start(path, Config(), resume=resume, watch=TensorBoardWriter(RunFolder(path)))


def test_every_number_of_the_history_is_on_a_curve_of_its_phase(tmp_path: Path) -> None:
    run = watched(tmp_path)
    for look in LOOKS:
        run.log(look)
    assert curves(tmp_path) == {
        "warm-start/epoch": [(2, 1), (4, 1)],
        "warm-start/loss": [(2, 2.0), (4, 1.0)],
        "warm-start/micro_f1": [(2, 0.25), (4, 0.5)],
        "self-critical/epoch": [(6, 1)],
        "self-critical/loss": [(6, 0.5)],
        "self-critical/reward": [(6, 0.75)],
        "self-critical/micro_f1": [(6, 0.5)],
    }


def test_a_resumed_run_writes_no_point_twice(tmp_path: Path) -> None:
    run = watched(tmp_path)
    for look in LOOKS[:2]:
        run.log(look)
    run.truncate(1)  # the last checkpoint was before the second look
    resumed = watched(tmp_path, resume=True)
    assert curves(tmp_path)["warm-start/loss"] == [(2, 2.0), (4, 1.0)]  # still, until there is a new look
    resumed.log(LOOKS[1] | {"loss": 1.5})
    resumed.log(LOOKS[2])
    assert curves(tmp_path)["warm-start/loss"] == [(2, 2.0), (4, 1.5)]
    assert curves(tmp_path)["self-critical/reward"] == [(6, 0.75)]


def test_the_loop_that_was_stopped_and_went_on(tmp_path: Path) -> None:
    scores = iter([0.1, 0.2, 0.3, 0.4, 0.5])

    def loop() -> Any:
        made = new_loop(tmp_path, lambda: next(scores), [WARM, WARM._replace(name="self-critical")])
        made.run_folder = RunFolder(tmp_path, TensorBoardWriter(RunFolder(tmp_path)))
        return made

    stopped = loop()

    def power_cut(*_: object) -> None:
        raise KeyboardInterrupt

    keep, stopped._save = stopped._save, lambda place: keep(place) if place.records < 2 else power_cut()
    with pytest.raises(KeyboardInterrupt):
        stopped.run()
    assert curves(tmp_path)["warm-start/micro_f1"] == [(2, pytest.approx(0.1)), (4, pytest.approx(0.2))]
    scores = iter([0.21, 0.3, 0.4, 0.5, 0.6])
    loop().run()
    # 5 updates a phase: looks after 2, 4 and 5, then after 6, 8 and 10.
    found = curves(tmp_path)
    assert found["warm-start/micro_f1"] == [
        (2, pytest.approx(0.1)),
        (4, pytest.approx(0.21)),
        (5, pytest.approx(0.3)),
    ]
    assert [step for step, _ in found["self-critical/reward"]] == [6, 8, 10]
    records = RunFolder(tmp_path).records()
    assert len(records) == 6
    for name in ("loss", "learning_rate", "documents_per_second"):
        written = [
            value for phase in ("warm-start", "self-critical") for _, value in found[f"{phase}/{name}"]
        ]
        assert written == pytest.approx([record[name] for record in records], rel=1e-6)


@pytest.mark.parametrize("model", ["br", "seq2set-simp"])
def test_a_setting_turns_it_on(small_corpus: PreparedCorpus, tmp_path: Path, model: str) -> None:
    settings = [*TINY, f'data.corpus="{small_corpus.folder}"', "linear.c=[1, 10]"]
    told: list[int] = []
    config = build_config(model=model, assignments=[*settings, "training.tensorboard=true"])
    run = train(config, tmp_path / "on", watch=lambda number, _: told.append(number))
    phase = {"br": "linear", "seq2set-simp": "warm-start"}[model]
    written = [value for _, value in curves(run.path)[f"{phase}/micro_f1"]]
    assert written == pytest.approx([record["micro_f1"] for record in run.records()])
    assert told == list(range(1, len(written) + 1))


def test_nothing_is_written_unless_asked_for(tmp_path: Path) -> None:
    def watch(number: int, record: dict[str, Any]) -> None: ...

    assert add_tensorboard(Config(), tmp_path, None) is None
    assert add_tensorboard(Config(), tmp_path, watch) is watch


def test_a_missing_extra_is_named_before_anything_begins(
    small_corpus: PreparedCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)  # as if it were not installed
    settings = [f'data.corpus="{small_corpus.folder}"', "training.tensorboard=true"]
    with pytest.raises(
        MissingExtraError, match=r"needs the package 'tensorboard': pip install 'seq2set\[track\]'"
    ):
        train(build_config(model="br", assignments=settings), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_place_that_cannot_be_written_to(tmp_path: Path) -> None:
    run = watched(tmp_path / "run")
    (tmp_path / "run" / "tensorboard").write_text("in the way")
    with pytest.raises(OutputError, match=r"cannot write to \S+tensorboard: a part of the path is a file"):
        run.log(LOOKS[0])
    assert [json.loads(line) for line in run.history.read_text().splitlines()] == LOOKS[:1]
