from __future__ import annotations

import functools
import json
import os
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from seq2set.benchmarks import BENCHMARKS, RATIOS, arrays, encoder
from seq2set.benchmarks.inputs import (
    DocumentShape,
    build_learner,
    compute_mean_labels,
    make_documents,
    make_texts,
)
from seq2set.benchmarks.ratio import Ratio, TimedResult, call_apart, measure_ratio
from seq2set.core.errors import WorkError
from seq2set.core.names import load_named
from seq2set.models.predictions import SEARCHES
from seq2set.nn.encoders.bilstm import BiLSTMEncoder
from seq2set.training.examples import TrainingBatch
from seq2set.training.step import Phase


def test_a_ratio_is_the_opponents_time_by_ours() -> None:
    import time

    result = measure_ratio("x", "sleep", lambda: None, lambda: time.sleep(0.05), {"n": 1}, rounds=1)
    assert result.ratio == pytest.approx(result.theirs / result.ours)
    assert result.ratio > 1
    assert result.to_dict().keys() == {"name", "ratio", "opponent", "seconds", "shapes"}


def test_texts_are_repeatable_and_natural() -> None:
    texts = make_texts(200, words=50, seed=2)
    assert texts == make_texts(200, words=50, seed=2)
    lengths = [len(text.split()) for text in texts]
    assert 40 < sum(lengths) / len(lengths) < 70
    counts = sorted((" ".join(texts).split().count(f"w{n}") for n in range(3)), reverse=True)
    assert counts[0] > counts[2]


TINY = DocumentShape(shortest=3, longest=12, vocabulary=40, labels=6)
TINY_NETWORK = [
    "encoder.embedding=8",
    "encoder.hidden=8",
    "decoder.embedding=8",
    "decoder.hidden=8",
    "training.batch_size=32",
]
SMALL: dict[str, dict[str, Any]] = {
    "decode": {"shape": TINY, "settings": TINY_NETWORK, "settling": 2, "rounds": 1},
    "encoder": {"shape": TINY, "embedding": 8, "hidden": 8, "batches": 2, "rounds": 1},
    "reward": {"samples": 2, "batches": 1, "rounds": 1},
    "serve": {"clients": 4, "seconds": 0.5, "rounds": 1, "settings": TINY_NETWORK},
    "rl-step": {"shape": TINY, "settings": TINY_NETWORK, "settling": 2, "rounds": 1},
    "search": {"shape": TINY, "settings": TINY_NETWORK, "settling": 2, "rounds": 1},
}
"""What makes a benchmark quick, beside few documents."""


@functools.cache
def small(name: str) -> Ratio:
    result: Ratio = load_named(BENCHMARKS[name].path)(documents=50, **SMALL.get(name, {}))
    return result


@pytest.mark.parametrize("name", RATIOS)
def test_every_benchmark_runs_small(name: str) -> None:
    result = small(name)
    assert result.name == name
    assert result.ours > 0
    assert result.theirs > 0
    assert result.shapes["documents"] == 50
    json.dumps(result.to_dict())


def test_checks_are_shown_where_there_are_any() -> None:
    result = Ratio("x", "y", 2.0, 1.0, {}, {"limit": 3})
    assert result.to_dict()["checks"] == {"limit": 3}
    assert (result.ratio, result.cost) == (0.5, 2.0)


def test_made_documents_have_the_shape_asked_for() -> None:
    examples = make_documents(100, DocumentShape(5, 9, 30, 12), seed=4)
    assert set(examples.lengths) == {5, 6, 7, 8, 9}
    words = np.concatenate(examples.words)
    assert (words.min(), words.max() <= 31) == (2, True)  # 0 and 1 are padding and `unk`
    assert [one[0] for one in examples.words] == [len(labels) for labels in examples.sequences]
    # 70 documents with 2 labels, 22 with 3, 6 with 4 and 2 with 5: 140 + 66 + 24 + 10 = 240
    assert compute_mean_labels(examples) == 2.4
    assert all((np.diff(labels) > 0).all() and labels[-1] < 12 for labels in examples.sequences)
    again = make_documents(100, DocumentShape(5, 9, 30, 12), seed=4)
    assert all((a == b).all() for a, b in zip(examples.words, again.words, strict=True))


def test_settling_brings_samples_to_the_documents_set_sizes() -> None:
    shape = TINY._replace(labels=30)
    examples = make_documents(64, shape)
    batch = examples.batch(np.arange(64))
    learner = build_learner("seq2set-simp", shape, TINY_NETWORK)
    before = learner.measure_set_sizes(batch)
    # With random weights `eos` has about one chance in 31 at each step, so that sets are far too large.
    assert before["sampled_labels"] > 8
    learner.settle(shape, 80, rate=0.01)
    after = learner.measure_set_sizes(batch)
    assert 1.7 < after["sampled_labels"] < 3.1
    assert 1.7 < after["greedy_labels"] < 3.1
    assert learner.optimizer.param_groups[0]["lr"] == 3e-4  # as the preset has it
    assert after["longest_sample"] < before["longest_sample"]


@pytest.mark.parametrize("phase", ["warm-start", "self-critical"])
def test_an_update_moves_every_part_of_the_network(phase: Phase) -> None:
    learner = build_learner("seq2set", TINY, TINY_NETWORK)
    network = learner.step.network
    parts = [network.encoder, network.sequence_decoder, network.set_decoder]
    weights = [weight for part in parts if part for weight in [next(part.parameters())]]
    before = [weight.detach().clone() for weight in weights]
    learner.update(make_documents(32, TINY).batch(np.arange(32)), phase)
    assert len(weights) == 3
    assert not any(torch.equal(old, new) for old, new in zip(before, weights, strict=True))
    assert all(weight.grad is None for weight in weights)


@pytest.mark.parametrize("name", ["decode", "rl-step"])
def test_the_ratio_is_of_the_model_that_costs_more(name: str) -> None:
    result = small(name)
    checks, shapes = result.checks or {}, result.shapes
    assert checks["cost"].keys() == {"seq2set", "seq2set-simp"}
    assert checks["cost"][checks["ratio_is_of"]] == max(checks["cost"].values())
    assert checks["cost"][checks["ratio_is_of"]] == pytest.approx(1 / result.ratio, abs=1e-3)
    assert {"greedy_labels"} < shapes["seq2set"].keys() == shapes["seq2set-simp"].keys()
    assert (shapes["words"], shapes["labels"], shapes["labels_per_document"]) == ("3-12", 6, 2.4)


def test_the_baselines_share_is_a_part_of_the_update() -> None:
    shares = [small("rl-step").shapes[model]["baseline_share"] for model in ("seq2set", "seq2set-simp")]
    assert all(0 < share < 1 for share in shares)


def test_every_search_has_its_cost_beside_greedy_decoding() -> None:
    result = small("search")
    checks = result.checks or {}
    assert checks["cost"].keys() == checks["documents_per_second"].keys() == set(SEARCHES)
    assert checks["cost"]["greedy"] == 1
    assert checks["cost"]["set-beam"] == pytest.approx(result.cost, abs=0.01)
    assert (checks["width"], checks["samples"]) == (5, 8)


def test_the_encoders_two_sides_agree() -> None:
    checks = small("encoder").checks or {}
    assert 0 <= checks["largest_difference"]["outputs"] < 1e-5
    assert 0 < checks["largest_difference"]["gradients"] < 1e-5
    assert checks["new_shapes"]["cost"] > 0


def test_an_encoder_that_differs_is_refused() -> None:
    def shifted(model: BiLSTMEncoder, batch: TrainingBatch) -> encoder.Outputs:
        outputs = encoder.encode_packed(model, batch)
        return outputs._replace(states=outputs.states + 0.001)

    work = encoder.EncoderCase(20, TINY, embedding=8, hidden=8, layers=1)
    ours, theirs = (encoder.time_step(work, read).result for read in (shifted, encoder.encode_packed))
    with pytest.raises(WorkError, match="outputs differ from the packed LSTM's by 1.0e-03 and its gradients"):
        encoder.compare_sides(ours, theirs)


calls: list[int] = []


def process_timed(seconds: int) -> TimedResult[int]:
    """Say in which process this ran, and that it took a second less each time."""
    calls.append(seconds)
    return TimedResult(seconds - len(calls), os.getpid())


def test_sides_run_apart_and_the_quickest_call_counts() -> None:
    ours, theirs = call_apart(partial(process_timed, 3), partial(process_timed, 5), rounds=2)
    assert len({os.getpid(), ours.result, theirs.result}) == 3
    assert (ours.seconds, theirs.seconds) == (1, 3)


def test_gradients_that_differ_are_refused() -> None:
    outputs = encoder.Outputs(torch.zeros(1, 1, 2), torch.zeros(1, 1, 2))
    ours = encoder.StepResult(outputs, (torch.tensor([4.0, 1.0]),))
    theirs = encoder.StepResult(outputs, (torch.tensor([4.0, 2.0]),))
    # The second number differs by 1, a quarter of the largest gradient.
    with pytest.raises(
        WorkError, match=r"by 0.0e\+00 and its gradients by 2.5e-01; at most 1e-05 is allowed"
    ):
        encoder.compare_sides(ours, theirs)


def test_both_sides_give_the_same_rewards() -> None:
    checks = small("reward").checks or {}
    assert checks["largest_difference"] < 1e-6
    assert 0.2 < checks["mean_reward"] < 0.8


def test_the_three_ways_to_a_reward_agree_by_hand() -> None:
    # {0, 1} against {1, 2}: 2 * 1 / (2 + 2) = 0.5; the empty set against it 0; and against the empty set 1.
    given = np.array([[[1, 1, 0], [0, 0, 0]], [[0, 0, 0], [0, 0, 0]]], bool)
    right = np.array([[[0, 1, 1]], [[0, 0, 0]]], bool)
    by_hand = [[0.5, 0.0], [1.0, 1.0]]
    assert arrays.score_by_document(given, right).tolist() == by_hand
    assert arrays.score_by_sample(given, right).tolist() == by_hand


def test_bench_prints_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from seq2set.cli.bench import bench
    from seq2set.core.errors import UnknownNameError

    few = arrays.measure_metrics(documents=20)
    monkeypatch.setattr(arrays, "measure_metrics", lambda: few)
    bench("metrics", as_json=True)
    assert json.loads(capsys.readouterr().out)["opponent"].startswith("scikit-learn")
    bench("metrics", as_json=False)
    assert "times as fast as scikit-learn" in capsys.readouterr().out
    monkeypatch.setattr(arrays, "measure_metrics", lambda: few._replace(checks={"limit": 3}))
    bench("metrics", as_json=False)
    assert "checks: {'limit': 3}" in capsys.readouterr().out
    with pytest.raises(UnknownNameError, match="benchmark 'metric' is not known, did you mean 'metrics'"):
        bench("metric", as_json=False)
