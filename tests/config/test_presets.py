"""The presets that are named after the paper, against what the paper says, written down by hand."""

from __future__ import annotations

import re
from importlib import resources
from typing import Any

import pytest

from seq2set.config import Config, build_config
from seq2set.config.loader import read_preset, walk_settings

EVERYWHERE: dict[str, Any] = {
    "label_order.kind": "descending",  # "we sort labels by frequency in a descending order"
    "prior.enabled": False,
    "decoder.global_embedding": False,
    "objective.reward": "f1",  # eq. 11
    "objective.baseline": "greedy",  # eq. 10
    "encoder.kind": "bilstm",  # "a bidirectional LSTM"
    "objective.samples": 1,  # eq. 10
    "objective.temperature": 1.0,  # eq. 10: sampled from p_theta
    "objective.likelihood_share": 0.0,
    "self_critical.learning_rate": 0.0003,  # "the learning rate is initialized to 0.0003"
    "training.batch_size": 64,  # "the batch size is set to 64"
    "training.decay": 0.5,  # "it is halved after every training epoch"
    "training.clip_norm": 10.0,  # "clip the gradients to the maximum norm of 10"
    "training.validate_every": 100,  # "monitor its performance on the validation set after 100 updates"
    "training.patience": 0,  # "a fixed number of epochs"
    "training.averaging": 0.0,
    "search.name": "greedy",
    "text.unit": "word",
}

SIZES = {  # Table 2: (encoder, decoder) where it gives two
    "paper-rcv1": {
        "vocabulary": 50_000,
        "embedding": 256,
        "layers": (2, 3),
        "hidden": (256, 512),
        "lambda": 0.8,
    },
    "paper-aapd": {
        "vocabulary": 30_000,
        "embedding": 256,
        "layers": (2, 2),
        "hidden": (256, 512),
        "lambda": 0.95,
    },
}


def of_the_paper(preset: str) -> dict[str, Any]:
    """What the paper says about the settings of a preset."""
    if preset == "paper-small":  # the method, and AAPD's vocabulary and lambda
        return EVERYWHERE | {"text.vocabulary_size": 30_000, "objective.lambda": 0.95}
    sizes: dict[str, Any] = SIZES[preset]
    return EVERYWHERE | {
        "text.vocabulary_size": sizes["vocabulary"],
        "encoder.embedding": sizes["embedding"],
        "decoder.embedding": sizes["embedding"],
        "encoder.layers": sizes["layers"][0],
        "decoder.layers": sizes["layers"][1],
        "encoder.hidden": sizes["hidden"][0],
        "decoder.hidden": sizes["hidden"][1],
        "encoder.max_words": 500,  # "we filter out samples with more than 500 words"
        "objective.lambda": sizes["lambda"],
    }


PAPER = ("paper-aapd", "paper-rcv1", "paper-small")


@pytest.mark.parametrize("preset", PAPER)
def test_a_preset_of_the_paper_has_its_numbers(preset: str) -> None:
    chosen = dict(walk_settings(build_config(preset=preset).model_dump(mode="json")))
    expected = of_the_paper(preset)
    assert {key: chosen[key] for key in expected} == expected


@pytest.mark.parametrize("preset", PAPER)
def test_each_line_of_such_a_preset_says_whose_the_setting_is(preset: str) -> None:
    text = resources.files("seq2set.config.presets").joinpath(f"{preset}.toml").read_text(encoding="utf-8")
    section, marked = "", {"The paper": set[str](), "Not in the paper": set[str]()}
    for line in text.splitlines():
        if found := re.fullmatch(r"\[(\w+)\]", line):
            section = found[1]
        elif section and line:
            setting = re.fullmatch(r"(\w+) = .*  # (The paper|Not in the paper)(: .+)?", line)
            assert setting, line
            marked[setting[2]].add(f"{section}.{setting[1]}")
    assert marked["The paper"] == set(of_the_paper(preset))
    assert {
        "warm_start.epochs",
        "warm_start.learning_rate",
        "self_critical.epochs",
        "encoder.dropout",
        "decoder.dropout",
        "decoder.attention",
    } <= marked["Not in the paper"]


OF_TRANSFORMERS = {
    f"encoder.{name}"
    for name in (
        "pretrained",
        "tune",
        "learning_rate",
        "layer_decay",
        "warm_up",
        "unfreeze_every",
        "cache_gigabytes",
    )
}
"""What the encoder of the paper's presets, a BiLSTM, does not read"""


@pytest.mark.parametrize("preset", PAPER)
def test_such_a_preset_leaves_nothing_that_its_networks_read_to_the_defaults(preset: str) -> None:
    named = set(dict(walk_settings(read_preset(preset))))
    sections = ("text", "encoder", "decoder", "set_decoder", "objective", "warm_start", "self_critical")
    for section in (*sections, "likelihood", "cnn"):
        fields = type(getattr(Config(), section)).model_fields.items()
        assert {f"{section}.{field.alias or name}" for name, field in fields} - OF_TRANSFORMERS <= named
    training = ("batch_size", "decay", "clip_norm", "validate_every", "patience", "averaging")
    assert {f"training.{name}" for name in training} <= named
    assert {"label_order.kind", "prior.enabled", "search.name"} <= named


@pytest.mark.parametrize("preset", ["paper-aapd", "paper-rcv1"])
def test_both_phases_begin_at_the_papers_learning_rate(preset: str) -> None:
    config = build_config(preset=preset)
    assert config.warm_start.learning_rate == config.self_critical.learning_rate == 0.0003
