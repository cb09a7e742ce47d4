"""The loop: when it looks, what it keeps, how it steps."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from loops import CRITICAL, WARM, Scripted, drawn_alike, gradients_of, new_loop, weights
from torch import Tensor

from seq2set.config.run_folder import RunFolder, find_kept_weights
from seq2set.core.errors import WorkError
from seq2set.core.progress import Advance
from seq2set.training import trainer
from seq2set.training.checkpoint import load_checkpoint
from tiny_networks import tiny_config

DROPOUT = ("encoder.dropout=0.3", "decoder.dropout=0.3")


def test_it_looks_every_so_many_updates_and_at_the_end_of_an_epoch(tmp_path: Path) -> None:
    loop = new_loop(tmp_path, lambda: 0.5, [WARM._replace(epochs=2)])
    loop.run()
    # Epochs of 5 updates, a look after every 2nd: 2, 4, 5 (the end), then 6, 8, 10 (the end, too).
    assert [record["update"] for record in loop.run_folder.records()] == [2, 4, 5, 6, 8, 10]
    assert [record["epoch"] for record in loop.run_folder.records()] == [1, 1, 1, 2, 2, 2]


def test_the_learning_rate_halves_after_every_epoch_of_a_phase(tmp_path: Path) -> None:
    phases = [WARM._replace(epochs=3), CRITICAL._replace(epochs=2)]
    loop = new_loop(tmp_path, lambda: 0.5, phases, validate_every=100)
    used: list[float] = []
    loop.adam.register_step_pre_hook(lambda adam, *_: used.append(adam.param_groups[0]["lr"]))
    loop.run()
    rates = [0.01, 0.005, 0.0025, 0.001, 0.0005]
    assert used == [rate for rate in rates for _ in range(5)]
    assert [record["learning_rate"] for record in loop.run_folder.records()] == rates


def test_gradients_are_cut_to_the_norm(tmp_path: Path) -> None:
    free, cut = (
        gradients_of(new_loop(tmp_path / str(limit), lambda: 0.5, [WARM], clip_norm=limit)).norm(dim=1)
        for limit in (1000.0, 0.05)
    )
    assert free.min() > 0.05
    assert cut.tolist() == pytest.approx([0.05] * 5, rel=1e-4)


def test_the_best_weights_are_kept(tmp_path: Path) -> None:
    scores = Scripted([0.1, 0.5, 0.3])
    loop = scores.watching(new_loop(tmp_path, scores, [WARM]))
    place = loop.run()
    assert (place.best, place.best_update) == (0.5, 4)
    assert torch.equal(weights(loop), scores.seen[1])
    assert not torch.equal(scores.seen[1], scores.seen[2])
    assert [path.name for path in loop.run_folder.checkpoints.glob("best*")] == ["best-4.safetensors"]


def test_a_phase_begins_from_the_best_weights_with_a_new_optimiser(tmp_path: Path) -> None:
    scores = Scripted([0.1, 0.9, 0.2, 0.3, 0.4, 0.5])
    loop = scores.watching(new_loop(tmp_path, scores, [WARM, CRITICAL]))
    begun: list[tuple[Tensor, int]] = []
    loop.adam.register_step_pre_hook(lambda adam, *_: begun.append((weights(loop), len(adam.state))))
    place = loop.run()
    assert begun[4][1] > 0
    assert torch.equal(begun[5][0], scores.seen[1])
    assert begun[5][1] == 0
    # The second phase never beat the first one's best, which therefore is the result.
    assert (place.best, place.best_update, place.update) == (0.9, 4, 10)
    assert torch.equal(weights(loop), scores.seen[1])


def test_patience_ends_a_phase_in_the_middle_of_an_epoch(tmp_path: Path) -> None:
    scores = Scripted([0.5, 0.5, 0.4, 0.3, 0.2])
    loop = scores.watching(
        new_loop(tmp_path, scores, [WARM._replace(epochs=9), CRITICAL], validate_every=1, patience=2)
    )
    place = loop.run()
    # An equal score is no better one: updates 2 and 3 end the first phase, 4 and 5 the second.
    assert (place.update, place.best_update) == (5, 1)
    assert [record["phase"] for record in loop.run_folder.records()] == ["warm-start"] * 3 + [
        "self-critical"
    ] * 2


@pytest.mark.parametrize("accumulate", [2, 3, 50])
def test_a_batch_in_parts_is_one_batch(tmp_path: Path, accumulate: int) -> None:
    # Batches of 7 make unequal parts.
    whole, added = (
        gradients_of(new_loop(tmp_path / str(parts), lambda: 0.5, [WARM], batch_size=7, accumulate=parts))
        for parts in (1, accumulate)
    )
    assert whole.norm(dim=1).min() > 0.5
    assert torch.allclose(whole, added, atol=1e-6, rtol=0)


@pytest.mark.parametrize("baseline", ["greedy", "leave-one-out"])
def test_a_reward_is_the_same_in_any_part_of_a_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, baseline: str
) -> None:
    # Samples are the same in any part, so that all that could differ is what they are worth.
    monkeypatch.setattr("seq2set.training.step.sample", drawn_alike)
    config = tiny_config("objective.reward=micro_f1", "objective.samples=3", f"objective.baseline={baseline}")
    loops = [
        new_loop(
            tmp_path / str(parts), lambda: 0.5, [CRITICAL], config=config, batch_size=7, accumulate=parts
        )
        for parts in (1, 2, 4)
    ]
    whole, *added = map(gradients_of, loops)
    assert whole.norm(dim=1).min() > 0.1
    for one in added:
        assert torch.allclose(whole, one, atol=1e-6, rtol=0)
    places = [
        load_checkpoint(one.run_folder.checkpoints, one.network, one.adam, one.averaged) for one in loops
    ]
    assert places[0] is not None
    assert {place and place.so_far for place in places} == {places[0].so_far}
    # Three updates of 6, 7 and 7 documents, as they were shuffled, with three samples each
    assert places[0].so_far.sets == pytest.approx(0.98**3 + 18 * 0.98**2 + 21 * 0.98 + 21)


def test_the_history_says_what_happened(tmp_path: Path) -> None:
    loop = new_loop(tmp_path, lambda: 0.25, [WARM, CRITICAL], validate_every=100)
    loop.run()
    first, second = loop.run_folder.records()
    assert first.keys() == {
        *("phase", "epoch", "update", "learning_rate", "loss", "seconds", "documents_per_second"),
        *("micro_f1", "search", "best_phase", "best_update", "validation_seconds"),
        *("workers", "threads"),
    }
    assert second.keys() == first.keys() | {"reward", "signal"}
    assert first["micro_f1"] == 0.25
    assert first["loss"] > 0
    assert first["documents_per_second"] > 0
    assert 0 <= second["reward"] <= 1
    assert 0 <= second["signal"] <= 1


class Bars:
    """Remembers what a progress bar would have shown."""

    def __init__(self) -> None:
        self.shown: list[tuple[str, int | None, int, str]] = []

    @contextmanager
    def stage(self, title: str, total: int | None = None) -> Iterator[Advance]:
        yield lambda done, status="", /: self.shown.append((title, total, done, status))

    def note(self, sentence: str) -> None:
        raise AssertionError(sentence)


def test_the_bar_shows_loss_reward_score_and_speed(tmp_path: Path) -> None:
    bars = Bars()
    new_loop(tmp_path, lambda: 0.25, [WARM, CRITICAL], progress=bars).run()
    warm = [shown for shown in bars.shown if shown[0] == "warm-start"]
    assert warm[0] == ("warm-start", 5, 0, "")
    assert sum(shown[2] for shown in warm) == 5
    assert warm[1][3].startswith("loss ")
    assert warm[1][3].endswith(" documents/s")
    assert "validation F1 0.2500" in warm[3][3]
    assert "reward 0." in bars.shown[-2][3]


@pytest.mark.parametrize("name", ["the loss", "the gradient's norm"])
def test_what_is_not_finite_stops_the_run_with_the_batch_named(tmp_path: Path, name: str) -> None:
    loop = new_loop(tmp_path, lambda: 0.5, [WARM])
    weight = loop.network.set_decoder.W_o.weight
    if name == "the loss":
        weight.data[0, 0] = float("nan")
    else:
        weight.register_hook(lambda gradient: gradient * float("inf"))
    untouched = weights(loop)
    with pytest.raises(
        WorkError, match=f"{name} is (nan|inf); the documents of this batch are listed in .*json"
    ):
        loop.run()
    found = json.loads((loop.run_folder.checkpoints / "not-finite.json").read_text())
    assert (found["what"], found["value"]) == (name, "nan" if name == "the loss" else "inf")
    assert len(set(found["documents"])) == 4
    assert all(one in {f"d{number}" for number in range(20)} for one in found["documents"])
    assert torch.equal(weights(loop).nan_to_num(), untouched.nan_to_num())


SCORES = [0.1, 0.3, 0.2, 0.4, 0.35, 0.36, 0.5, 0.1, 0.6, 0.55, 0.2, 0.2]


def resumable(folder: Path, validate: Any) -> trainer.Trainer:
    """Dropout and sampling, so that every random number counts, and an average, so that each update does."""
    phases = [WARM._replace(epochs=2), CRITICAL._replace(epochs=2)]
    config = tiny_config(*DROPOUT, "objective.samples=2", "objective.reward=micro_f1")
    return new_loop(folder, validate, phases, config=config, averaging=0.7)


class Whole(NamedTuple):
    """An uninterrupted run."""

    weights: Tensor
    history: list[dict[str, Any]]
    folder: Path


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    scores, folder = Scripted(SCORES), tmp_path_factory.mktemp("whole") / "run"
    loop = scores.watching(resumable(folder, scores))
    loop.run()
    return Whole(weights(loop), loop.run_folder.records(), folder)


class Killed(BaseException):
    pass


@pytest.mark.parametrize("moment", ["save_weights", "save_checkpoint", "load_weights", "log"])
@pytest.mark.parametrize("when", [1, 4])
def test_a_run_killed_at_any_moment_goes_on_to_the_same_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: Whole, moment: str, when: int
) -> None:
    place, attribute = (RunFolder, "log") if moment == "log" else (trainer, moment)
    real = getattr(place, attribute)
    calls = 0

    def deadly(*arguments: Any) -> None:
        nonlocal calls
        calls += 1
        real(*arguments)
        if calls == when:
            raise Killed

    monkeypatch.setattr(place, attribute, deadly)
    killed = False
    for _ in range(2):
        scores = looking(tmp_path / "cut")
        loop = scores.watching(resumable(tmp_path / "cut", scores))
        try:
            loop.run()
        except Killed:
            killed = True
    assert killed or when > calls
    assert torch.equal(weights(loop), whole.weights)
    assert list(map(timeless, loop.run_folder.records())) == list(map(timeless, whole.history))


def looking(folder: Path) -> Scripted:
    """The scores that come next in a run that may have been cut."""
    stored = resumable(folder, lambda: 0.0)
    place = load_checkpoint(stored.run_folder.checkpoints, stored.network, stored.adam, stored.averaged)
    return Scripted(SCORES[place.records if place else 0 :])


def timeless(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if "second" not in key}


@pytest.mark.parametrize("look", [3, 9, 12])
def test_a_signal_saves_and_says_how_to_go_on(tmp_path: Path, whole: Whole, look: int) -> None:
    scores = Scripted(SCORES)

    def validate() -> float:
        score = scores()
        if len(scores.seen) == look:
            signal.raise_signal(signal.SIGTERM)
        return score

    loop = scores.watching(resumable(tmp_path / "cut", validate))
    with pytest.raises(
        WorkError, match=r"stopped after update \d+; checkpoint saved in .*cut; rerun with --resume"
    ):
        loop.run()
    rest = looking(tmp_path / "cut")
    again = rest.watching(resumable(tmp_path / "cut", rest))
    again.run()
    assert torch.equal(weights(again), whole.weights)


def test_a_finished_loop_gives_its_best_weights_again(whole: Whole) -> None:
    again = resumable(whole.folder, lambda: pytest.fail("there is nothing left to look at"))
    place = again.run()
    assert (place.phase, place.update, place.best) == (2, 20, 0.6)
    assert torch.equal(weights(again), whole.weights)


@pytest.mark.parametrize(
    ("later", "phase", "update"), [([0.5, 0.6, 0.1], "warm-start", 4), ([0.5, 0.7, 0.1], "self-critical", 8)]
)
def test_the_history_says_which_phase_gave_the_best_weights(
    tmp_path: Path, later: list[float], phase: str, update: int
) -> None:
    # Looks after updates 2, 4 and 5 of the warm start, then after 6, 8 and 10 of the self-critical phase.
    script = Scripted([0.3, 0.6, 0.4, *later])
    place = script.watching(new_loop(tmp_path, script, [WARM, CRITICAL], search="marginal")).run()
    records = RunFolder(tmp_path).records()
    assert [(one["best_phase"], one["best_update"]) for one in records[:3]] == [
        ("warm-start", 2),
        ("warm-start", 4),
        ("warm-start", 4),
    ]
    assert (records[-1]["best_phase"], records[-1]["best_update"]) == (phase, update)
    assert (place.best_phase, place.best_update) == (phase, update)
    assert find_kept_weights(records) == {"phase": phase, "update": update}
    assert {one["search"] for one in records} == {"marginal"}
    assert find_kept_weights([{"c": 1.0, "micro_f1": 0.5}]) == find_kept_weights([]) == {}
