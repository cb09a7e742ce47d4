from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tomli_w
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from studies import space_file

from seq2set.config import Config, build_config
from seq2set.config.catalog import MODELS, PRESETS
from seq2set.core.errors import ConfigError, InputError
from seq2set.tuning.space import Parameter, Space, apply_settings, read_shipped_space, read_space


class FirstOrLow:
    """Draws the first choice, or the low end of a range, and notes down what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def suggest_categorical(self, name: str, choices: Any) -> Any:
        self.asked.append((name, *choices))
        return choices[0]

    def suggest_int(self, name: str, low: int, high: int, *, log: bool = False) -> int:
        self.asked.append((name, low, high, log))
        return low

    def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float:
        self.asked.append((name, low, high, log))
        return low


def read(folder: Path, text: str, config: Config | None = None) -> Space:
    return read_space(space_file(folder, text), config or Config(model="br"))


def faults(folder: Path, text: str) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        read(folder, text)
    place = f"{folder / 'wanted.toml'}: "
    assert all(fault.startswith(place) for fault in refused.value.faults)
    return [fault.removeprefix(place) for fault in refused.value.faults]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("model", MODELS)
def test_every_model_has_a_space_whose_names_and_values_its_settings_take(model: str, preset: str) -> None:
    config = build_config(model=model, preset=preset)
    space = read_shipped_space(config)
    assert 4 <= len(space.parameters) <= 9
    drawn = {one.name: one.draw(FirstOrLow()) for one in space.parameters}
    assert apply_settings(config, drawn) != config


def test_a_model_without_a_space_of_its_own_needs_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODELS, "mine", MODELS["br"])
    with pytest.raises(InputError) as refused:
        read_shipped_space(Config(model="mine"))
    assert str(refused.value) == "model 'mine' has no search space of its own; pass --space FILE"


def test_a_space_is_read_drawn_from_and_written_back(tmp_path: Path) -> None:
    space = read(
        tmp_path,
        """
        objective.lambda = { real = [0, 1] }
        [linear]
        c = { real = [0.1, 10], log = true }
        [features]
        ngrams = { integer = [1, 3] }
        max_terms = { integer = [10, 1000], log = true }
        [cnn]
        widths = { choice = [[2, 3], [3]] }
        """,
    )
    assert space.parameters == (
        Parameter("objective.lambda", FloatDistribution(0.0, 1.0)),
        Parameter("linear.c", FloatDistribution(0.1, 10.0, log=True)),
        Parameter("features.ngrams", IntDistribution(1, 3)),
        Parameter("features.max_terms", IntDistribution(10, 1000, log=True)),
        Parameter("cnn.widths", CategoricalDistribution(["[2, 3]", "[3]"]), ([2, 3], [3])),
    )
    drawing = FirstOrLow()
    values = {one.name: one.draw(drawing) for one in space.parameters}
    assert drawing.asked == [
        ("objective.lambda", 0.0, 1.0, False),
        ("linear.c", 0.1, 10.0, True),
        ("features.ngrams", 1, 3, False),
        ("features.max_terms", 10, 1000, True),
        ("cnn.widths", "[2, 3]", "[3]"),
    ]
    found = apply_settings(Config(), values)
    assert (found.objective.lambda_, found.linear.c, found.cnn.widths) == (0.0, (0.1,), (2, 3))
    assert read(tmp_path, tomli_w.dumps(space.source)).parameters == space.parameters


def test_all_faults_of_a_space_are_told_at_once(tmp_path: Path) -> None:
    assert faults(
        tmp_path,
        """
        seed = { integer = [1, 3] }
        model = { choice = ["br", "cc"] }
        lineer.c = { real = [0.1, 1] }
        [data]
        corpus = { choice = ["reuters"] }
        [decision]
        metric = { choice = ["micro_f1", "macro_f1"] }
        [features]
        ngram = { integer = [1, 2] }
        ngrams = { integer = [0, 9] }
        min_documents = 3
        max_terms = { chioce = [5] }
        sublinear = { choice = [] }
        [linear]
        c = { real = [0, 1], log = true }
        tolerance = { real = [0.5, 0.1] }
        [encoder]
        hidden = { real = [64, 128] }
        layers = { integer = [1.5, 2] }
        dropout = { real = [0.1, 0.5], choice = [0.1] }
        words = { log = true }
        [cnn]
        filters = { choice = [8, "many", -1] }
        dropout = { choice = [0.1], log = true }
        """,
    ) == [
        "seed cannot be searched; all trials of a study have it in common",
        "model cannot be searched; all trials of a study have it in common",
        "lineer is not a setting, did you mean 'linear.c'?",
        "data cannot be searched; all trials of a study have it in common",
        "decision.metric cannot be searched; all trials of a study have it in common",
        "features.ngram is not a setting, did you mean 'features.ngrams'?",
        "features.ngrams is 0; it must be >= 1",
        "features.ngrams is 9; it must be <= 5",
        "features.min_documents is 3; it must be a table, such as { choice = [1, 2] }",
        "features.max_terms.chioce is not known in a search space, did you mean 'choice'?; "
        "known are: choice, integer, real and log",
        "features.sublinear.choice is []; it must be a list of at least one value",
        "linear.c.log is true and the range begins at 0; it must begin above 0",
        "linear.tolerance.real is [0.5, 0.1]; it must be two numbers, the lower one first",
        "encoder.hidden is 88.44582472; it must be a whole number",
        "encoder.layers.integer is [1.5, 2]; it must be two whole numbers, the lower one first",
        "encoder.dropout has choice and real; it must have one of choice, integer, real",
        "encoder.words has no values; it must have one of choice, integer, real",
        "cnn.filters is 'many'; it must be a whole number",
        "cnn.filters is -1; it must be >= 1",
        "cnn.dropout.log is True; it must be true or false, and stands with ranges only",
    ]


def test_an_empty_space_and_one_that_is_not_there_are_refused(tmp_path: Path) -> None:
    assert faults(tmp_path, "") == ["the search space is empty; it must name at least one setting"]
    with pytest.raises(InputError, match=r"nowhere\.toml does not exist"):
        read_space(tmp_path / "nowhere.toml", Config())
    with pytest.raises(ConfigError, match=r"wanted\.toml is not valid TOML"):
        read(tmp_path, "[linear")
