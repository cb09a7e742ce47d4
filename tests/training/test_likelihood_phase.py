"""The models that learn by likelihood alone, on the loop of all others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric
from loops import all_known, encoded, new_loop, weights

from seq2set.config import build_config
from seq2set.config.run_folder import RunFolder
from seq2set.config.schema import SearchSettings
from seq2set.labels.metrics import Counts
from seq2set.labels.thresholds import find_threshold
from seq2set.nn.decoding.rollout import roll_out_greedily
from seq2set.training import trainer
from seq2set.training.learning_rates import PhasePlan
from seq2set.training.step import TrainingStep
from seq2set.training.train_network import plan_phases
from seq2set.training.validation import compute_micro_f1, search_validation
from tiny_networks import tiny_config, tiny_examples, tiny_network, trained

MODELS = ("cnn", "cnn-rnn", "seq2seq")
ALONE = PhasePlan("likelihood", 2, 0.01, 0.7)


@pytest.mark.parametrize("model", MODELS)
def test_there_is_one_phase_with_a_decay_of_its_own(tmp_path: Path, model: str) -> None:
    settings = ("likelihood.epochs=3", "likelihood.decay=0.5", "training.decay=0.1", "warm_start.epochs=9")
    trained(tmp_path, tiny_config(*settings, model=model))
    records = RunFolder(tmp_path).records()
    assert [record["phase"] for record in records] == ["likelihood"] * 3
    assert [record["learning_rate"] for record in records] == pytest.approx([0.01, 0.005, 0.0025])


def test_the_set_models_keep_their_phases_and_their_decay() -> None:
    config = tiny_config("likelihood.decay=0.9", "self_critical.epochs=2", "training.decay=0.4")
    assert plan_phases(config) == [
        PhasePlan("warm-start", 1, 0.01, 0.4),
        PhasePlan("self-critical", 2, 0.001, 0.4),
    ]


def test_the_presets_give_likelihood_the_papers_schedule_and_the_set_models_budget() -> None:
    for preset in ("paper-aapd", "paper-rcv1", "paper-small"):
        config = build_config(preset=preset, model="seq2seq")
        (plan,) = plan_phases(config)
        warm, critical = config.warm_start, config.self_critical
        budget = (warm.epochs + critical.epochs, warm.learning_rate, config.training.decay)
        assert (plan.epochs, plan.learning_rate, plan.decay) == budget


@pytest.mark.parametrize("model", MODELS)
def test_the_loss_is_the_networks_own(model: str) -> None:
    config = tiny_config(model=model)
    step = TrainingStep(tiny_network(config), config)
    batch = encoded(config, tiny_examples(6)).batch(np.arange(6))
    losses = step(batch, "likelihood", torch.Generator())
    wanted = step.network(batch.ids, batch.lengths).likelihood(batch.sequences, batch.gold)
    assert losses.total.item() == wanted.item() > 0.1
    assert losses.reward is None
    losses.total.backward()
    assert all(weight.grad is not None for weight in step.parameters())


def test_a_network_without_decoders_has_no_other_phase() -> None:
    config = tiny_config(model="cnn")
    step = TrainingStep(tiny_network(config), config)
    batch = encoded(config, tiny_examples(6)).batch(np.arange(6))
    with pytest.raises(AssertionError, match="only the set models have other phases"):
        step(batch, "warm-start", torch.Generator())


def test_samples_do_not_matter_to_those_that_draw_none() -> None:
    assert len(plan_phases(tiny_config("objective.baseline=leave-one-out", model="cnn"))) == 1


def test_validation_decodes_greedily() -> None:
    config = tiny_config(model="seq2seq")
    step = TrainingStep(tiny_network(config), config)
    examples = encoded(config, tiny_examples(15))
    batch = examples.batch(np.arange(15))
    with torch.no_grad():
        given = roll_out_greedily(step.network(batch.ids, batch.lengths).final).masks(4).numpy()
    wanted = Counts.of(given, batch.gold.numpy()).metrics()["micro_f1"]
    assert 0.05 < wanted < 0.95
    found = search_validation(step, examples, SearchSettings(), Fabric(accelerator="cpu", devices=1))
    score = compute_micro_f1(found, all_known(examples))
    assert score == pytest.approx(wanted, abs=1e-9)
    assert step.training


def test_validation_of_sigmoids_is_at_the_best_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny_config(model="cnn")
    step = TrainingStep(tiny_network(config), config)
    with torch.no_grad():
        step.network.output.bias.fill_(-25.0)  # far below 0.5, as at the beginning of a training
    examples = encoded(config, tiny_examples(15))
    batch = examples.batch(np.arange(15))
    with torch.no_grad():
        scores = torch.sigmoid(step.network(batch.ids, batch.lengths).logits).numpy()
    assert scores.max() < 0.5
    monkeypatch.setattr("seq2set.training.validation.VALIDATION_BATCH", 4)  # whatever the batches
    found = search_validation(step, examples, SearchSettings(), Fabric(accelerator="cpu", devices=1))
    score = compute_micro_f1(found, all_known(examples))
    assert score == pytest.approx(find_threshold(scores, batch.gold.numpy(), "micro_f1").score, abs=1e-9)
    assert score > 0.4


class Killed(BaseException):
    pass


@pytest.mark.parametrize("model", MODELS)
def test_a_killed_run_goes_on_to_the_same_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    config = tiny_config("encoder.dropout=0.3", "cnn.dropout=0.3", "decoder.dropout=0.3", model=model)
    whole = new_loop(tmp_path / "whole", lambda: 0.5, [ALONE], config=config)
    whole.run()
    real, calls = trainer.save_checkpoint, 0

    def deadly(*arguments: Any) -> None:
        nonlocal calls
        calls += 1
        real(*arguments)
        if calls == 3:
            raise Killed

    monkeypatch.setattr(trainer, "save_checkpoint", deadly)
    with pytest.raises(Killed):
        new_loop(tmp_path / "cut", lambda: 0.5, [ALONE], config=config).run()
    again = new_loop(tmp_path / "cut", lambda: 0.5, [ALONE], config=config)
    assert again.run().update == 10
    assert torch.equal(weights(again), weights(whole))
