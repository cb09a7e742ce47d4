from __future__ import annotations

import functools
import json
import os
import subprocess
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
import typer

from seq2set.benchmarks import (
    BENCHMARKS,
    RATIOS,
    arrays,
    encoder,
    network_speed,
    page,
    processes,
    run_benchmark,
)
from seq2set.benchmarks.growth import fit_exponent
from seq2set.benchmarks.inputs import (
    DocumentShape,
    build_learner,
    configure,
    describe_documents,
    make_documents,
    make_texts,
)
from seq2set.benchmarks.plain import (
    PlainEncoded,
    bind,
    encode_packed,
    pick_likeliest,
    roll_out,
    score_sequences,
)
from seq2set.benchmarks.ratio import (
    Ratio,
    TimedResult,
    call_apart,
    format_values,
    list_checks,
    measure_ratio,
    run_apart,
    run_in_turns,
)
from seq2set.config.run_folder import RunFolder
from seq2set.config.schema import SearchSettings
from seq2set.core.errors import InputError, WorkError
from seq2set.core.progress import Silent
from seq2set.models.network import compute_ordered_likelihood
from seq2set.models.predictions import SEARCHES
from seq2set.models.seq2set import SetNetwork
from seq2set.nn.decoding.rollout import roll_out_greedily
from seq2set.nn.encoders.bilstm import BiLSTMEncoder
from seq2set.training.step import Phase

TYPED = typer.Context(typer.core.TyperCommand("bench"))
"""A command line on which no option was typed."""


def test_a_ratio_is_the_opponents_time_by_ours() -> None:
    import time

    def burn() -> None:
        end = time.process_time() + 0.05
        while time.process_time() < end:
            pass

    result = measure_ratio("x", "a loop", lambda: None, burn, {"n": 1}, rounds=1)
    assert result.ratio == pytest.approx(result.theirs / result.ours)
    assert result.ratio > 1
    assert result.to_dict().keys() == {"name", "ratio", "opponent", "seconds", "shapes"}


def test_texts_are_repeatable_and_natural() -> None:
    texts = make_texts(200, words=50)
    assert texts == make_texts(200, words=50)
    lengths = [len(text.split()) for text in texts]
    assert 40 < sum(lengths) / len(lengths) < 70
    counts = sorted((" ".join(texts).split().count(f"w{n}") for n in range(3)), reverse=True)
    assert counts[0] > counts[2]


TINY = DocumentShape(shortest=3, longest=12, vocabulary=40, labels=6)
TINY_NETWORK: list[str] = list(BENCHMARKS["decode"].quick["settings"])


@functools.cache
def small(name: str) -> Ratio:
    result: Ratio = run_benchmark(name, quick=True)
    return result


@pytest.mark.parametrize("name", RATIOS)
def test_every_benchmark_runs_small(name: str) -> None:
    result = small(name)
    assert result.name == name
    assert result.ours > 0
    assert result.theirs > 0
    assert result.shapes["documents"] >= 1
    shown = json.loads(json.dumps(result.to_dict()))
    assert shown.keys() >= {"name", "ratio", "opponent", "seconds", "shapes"}
    assert all(shown["seconds"][side] > 0 for side in ("ours", "opponent"))
    assert not {"{", "}"} & set(result.summarize())  # no Python in it


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
    assert describe_documents(examples, TINY)["labels_per_document"] == 2.4
    assert all((np.diff(labels) > 0).all() and labels[-1] < 12 for labels in examples.sequences)
    again = make_documents(100, DocumentShape(5, 9, 30, 12), seed=4)
    assert all((a == b).all() for a, b in zip(examples.words, again.words, strict=True))


def test_settling_brings_samples_to_the_documents_set_sizes() -> None:
    shape = TINY._replace(labels=30)
    examples = make_documents(64, shape)
    batch = examples.batch(np.arange(64))
    learner = build_learner(configure("seq2set-simp", TINY_NETWORK), shape)
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
    learner = build_learner(configure("seq2set", TINY_NETWORK), TINY)
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
    assert (checks["width"], checks["samples"]) == (5, SearchSettings().samples)


def test_the_encoders_two_sides_agree() -> None:
    checks = small("encoder").checks or {}
    assert 0 <= checks["largest_difference"]["outputs"] < 1e-5
    assert 0 < checks["largest_difference"]["gradients"] < 1e-5
    assert checks["new_shapes"]["cost"] > 0


def test_an_encoder_that_differs_is_refused() -> None:
    def shifted(model: BiLSTMEncoder, ids: torch.Tensor, lengths: torch.Tensor) -> PlainEncoded:
        outputs = encode_packed(model, ids, lengths)
        return outputs._replace(states=outputs.states + 0.001)

    work = encoder.EncoderCase(20, TINY, embedding=8, hidden=8, layers=1)
    ours, theirs = (encoder.time_step(work, read).result for read in (shifted, encode_packed))
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
    outputs = PlainEncoded(torch.zeros(1, 1, 2), torch.zeros(1, 1, 2))
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


@pytest.mark.parametrize("model", ["seq2set", "seq2set-simp"])
def test_the_plain_network_computes_what_ours_does(model: str) -> None:
    shape = TINY._replace(labels=12)
    learner = build_learner(configure(model, [*network_speed.NO_DROPOUT, *TINY_NETWORK]), shape)
    learner.settle(shape, 20, rate=0.01)
    network, batch = learner.step.network, make_documents(40, shape).batch(np.arange(40))
    assert isinstance(network, SetNetwork)
    with torch.no_grad():
        ours = roll_out_greedily(network(batch.ids, batch.lengths).final)
        plain = roll_out(bind(network, batch.ids, batch.lengths, None), pick_likeliest, 12)
        assert torch.equal(plain.sets, ours.masks(12))
        assert torch.allclose(plain.log_prob, ours.log_prob, atol=1e-5)
        # One row of each document's three draws the likeliest: rows do not meet.
        rows = roll_out(bind(network, batch.ids, batch.lengths, None, 3), pick_likeliest, 12)
        assert torch.equal(rows.sets.view(40, 3, 12)[:, 2], plain.sets)
        ends = score_sequences(bind(network, batch.ids, batch.lengths, None), batch.sequences)
        right = compute_ordered_likelihood(network(batch.ids, batch.lengths).final, batch.sequences)
        assert -ends.mean() == pytest.approx(float(right), abs=1e-4)


def test_plain_updates_learn() -> None:
    learner = build_learner(configure("seq2set-simp", [*network_speed.NO_DROPOUT, *TINY_NETWORK]), TINY)
    batch = make_documents(32, TINY).batch(np.arange(32))
    before = [weight.detach().clone() for weight in learner.step.parameters()]
    for phase in network_speed.PHASES:
        network_speed.update_plainly(learner, batch, phase)
    moved = [not torch.equal(a, b) for a, b in zip(before, learner.step.parameters(), strict=True)]
    assert all(moved)


def test_both_runtimes_are_compared_on_the_same_answers(br_run: RunFolder) -> None:
    checks = small("onnx").checks or {}
    assert checks["difference"] < 1e-4
    assert checks["ratio_at_64"] > 0
    with pytest.raises(InputError, match="it must be a network, since linear models have no graphs"):
        run_benchmark("onnx", model=br_run.path, quick=True)


def test_both_sides_of_predict_decode_alike() -> None:
    checks = small("predict").checks or {}
    assert checks["other_greedy_sets"] == 0
    assert checks["documents_per_second"].keys() == {"ours", "opponent"}
    assert checks["command"].keys() == checks["times_the_opponent"].keys() == {2}
    times = checks["command"][2] / checks["documents_per_second"]["opponent"]
    assert checks["times_the_opponent"][2] == pytest.approx(times, abs=0.006)


def test_predict_refuses_a_model_without_a_decoder(br_run: RunFolder) -> None:
    with pytest.raises(InputError, match="it must be a model of the kind seq2set or seq2set-simp"):
        run_benchmark("predict", model=br_run.path, quick=True)


def test_likelihoods_that_differ_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_speed, "TOLERANCE", -1.0)
    with pytest.raises(WorkError, match="likelihood differs from ours by .*; at most -1e"):
        run_benchmark("train-step", quick=True)


def test_an_exponent_is_the_slope_in_logarithms() -> None:
    # 3 n^1.5: 3, 94.87 and 3000 at 1, 10 and 100
    assert fit_exponent({1: 3.0, 10: 94.8683, 100: 3000.0}) == pytest.approx(1.5, abs=1e-6)
    assert fit_exponent({50: 2.0, 500: 2.0}) == pytest.approx(0.0)


def test_scaling_has_an_exponent_for_each_kind_of_size() -> None:
    checks = small("scaling").checks or {}
    kinds = {"documents", "words", "labels"}
    assert {verb: set(one) for verb, one in checks["exponents"].items()} == {"predict": kinds, "train": kinds}
    assert list(checks["points"]["predict"]["documents"]["seconds"]) == [5, 20]
    assert list(checks["points"]["train"]["labels"]["seconds"]) == [5, 15]
    one = checks["points"]["train"]["words"]
    assert checks["last_exponents"]["train"]["words"] == pytest.approx(one["last_exponent"])
    assert one["last_exponent"] == pytest.approx(one["exponent"], abs=1e-3)  # of two sizes


def test_a_start_without_torch_is_measured_where_the_model_can_be_exported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert (small("startup").shapes["runtime"], small("startup").opponent) == ("onnx", "the same with torch")
    monkeypatch.setattr(processes, "_export", lambda *_: False)
    alone = run_benchmark("startup", quick=True)
    assert (alone.shapes["runtime"], alone.opponent) == ("torch", "a process that only imports torch")


def test_threads_are_compared_in_every_situation() -> None:
    result = small("threads")
    checks = result.checks or {}
    situation = "Python, 1 busy"
    speeds = checks["documents_per_second"][situation]
    assert speeds.keys() == {"one", "all", "auto"}
    best = max(speeds["one"], speeds["all"])
    assert checks["ratio"] == {situation: pytest.approx(speeds["auto"] / best, rel=0.01)}
    assert result.opponent.endswith(situation)


def test_both_faces_train_alike(tmp_path: Path) -> None:
    settings = ["threads=1", "workers=1"]
    faces = ("command line", "Python")
    by_command, by_python = (processes._list_training(face, tmp_path, settings) for face in faces)
    assert " ".join(by_command[5:]) == f"--set threads=1 --set workers=1 --out {tmp_path}"
    assert by_python[2:] == [str(tmp_path), *settings]


def test_a_busy_process_ends_with_its_block() -> None:
    with processes.keep_busy(1):
        children = list_loops()
        assert len(children) == 1
    assert not list_loops()


def list_loops() -> list[str]:
    """The loops that this process started."""
    found = subprocess.run(["ps", "-o", "args=", "--ppid", str(os.getpid())], capture_output=True, text=True)
    return [line for line in found.stdout.splitlines() if "while True: pass" in line]


def test_memory_is_compared_in_bytes() -> None:
    result = small("memory")
    shown, checks = result.to_dict(), result.checks or {}
    assert shown["bytes"] == checks["bytes"][checks["ratio_is_of"]]
    assert shown["ratio"] == pytest.approx(shown["bytes"]["opponent"] / shown["bytes"]["ours"], abs=1e-3)
    assert checks["growth"][checks["ratio_is_of"]] == max(checks["growth"].values())
    assert "times as small as the same with 5 documents" in result.summarize()


def test_a_process_that_fails_is_named_with_its_last_words() -> None:
    with pytest.raises(WorkError, match="the benchmark's process -c .* ended with: NameError: name 'x'"):
        run_apart("-c", "x")
    with pytest.raises(WorkError, match="ended with: exit code 3"):
        run_apart("-c", "raise SystemExit(3)")


def test_a_process_counts_its_own_memory_and_time() -> None:
    small_one, large_one = run_in_turns([("-S", "-c", ""), ("-S", "-c", "x = b'1' * 10**8")], rounds=2)
    assert large_one.memory - small_one.memory > 0.9e8
    assert small_one.seconds > 0


def test_values_are_told_without_python() -> None:
    told = {"words": 12_000, "share": 0.12345, "cost": {"a_b": 1.5, "c": [1, 2]}, "model": "made"}
    assert format_values(told) == "words 12,000, share 0.1235, cost (a b 1.5, c 1 / 2), model made"
    assert list_checks(told) == ["words: 12,000", "share: 0.1235", "cost: a b 1.5, c 1 / 2", "model: made"]


def make_scaling() -> Ratio:
    points = {"predict": {"words": {"seconds": {3: 1.0, 30: 9.0}, "exponent": 0.954}}}
    return Ratio("scaling", "the same", 1.0, 1.1, {"documents": 2}, {"points": points})


def test_all_is_one_page_that_names_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from seq2set.cli.bench import bench

    def run(name: str, *, model: Path | None, quick: bool) -> Ratio:
        assert (model, quick) == (None, True)
        if name == "startup":
            raise WorkError("it would not <start>")
        return make_scaling() if name == "scaling" else Ratio(name, "a & b", 2.0, 8.0, {"documents": 5})

    monkeypatch.setattr(page, "run_benchmark", run)
    bench(TYPED, "all", out=tmp_path / "bench", quick=True)
    told = capsys.readouterr()
    assert "metrics: 4.00 times as fast as a & b" in told.out
    assert told.out.endswith(f"all of it: {tmp_path / 'bench' / 'index.html'}\n")
    assert "startup is not measured: it would not <start>" in told.err
    text = (tmp_path / "bench" / "index.html").read_text(encoding="utf-8")
    assert "<li>startup: it would not &lt;start&gt;</li>" in text
    assert (text.count("<svg"), "predict, words: exponent 0.95" in text) == (2, True)
    assert "<td>a &amp; b</td>" in text
    stored = json.loads((tmp_path / "bench" / "results.json").read_text(encoding="utf-8"))
    assert [one["name"] for one in stored["benchmarks"]] == [name for name in RATIOS if name != "startup"]
    assert stored["not_measured"] == {"startup": "it would not <start>"}
    bench(TYPED, "all", out=tmp_path / "bench", quick=True, as_json=True)
    assert json.loads(capsys.readouterr().out) == stored


def test_all_has_a_bound_and_keeps_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, ran = [0.0], list[str]()

    def run(name: str, **_: object) -> Ratio:
        if len(ran) == 2:
            raise KeyboardInterrupt
        ran.append(name)
        clock[0] += 90.0
        return Ratio(name, "another", 2.0, 8.0, {"documents": 5})

    monkeypatch.setattr(page, "run_benchmark", run)
    monkeypatch.setattr(page.time, "monotonic", lambda: clock[0])
    found = page.run_all(Silent(), tmp_path / "bound", minutes=1.0)
    assert (ran, found.minutes) == ([RATIOS[0]], {RATIOS[0]: 1.5})
    assert found.missing == dict.fromkeys(RATIOS[1:], "1 minutes (--minutes) were over")
    with pytest.raises(KeyboardInterrupt):
        page.run_all(Silent(), tmp_path / "stopped")
    stored = json.loads((tmp_path / "stopped" / "results.json").read_text(encoding="utf-8"))
    assert [one["name"] for one in stored["benchmarks"]] == [RATIOS[0]]


def test_a_model_is_refused_where_it_says_nothing(tmp_path: Path) -> None:
    from seq2set.cli.bench import bench

    with pytest.raises(
        InputError, match="--model is named, but .metrics. takes none; hostile, memory, onnx, predict"
    ):
        bench(TYPED, "metrics", model=tmp_path)


def test_bench_prints_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from seq2set.cli.bench import bench
    from seq2set.core.errors import UnknownNameError

    few = arrays.measure_metrics(documents=20)
    monkeypatch.setattr(arrays, "measure_metrics", lambda: few)
    bench(TYPED, "metrics", as_json=True)
    assert json.loads(capsys.readouterr().out)["opponent"].startswith("scikit-learn")
    bench(TYPED, "metrics", as_json=False)
    assert "times as fast as scikit-learn" in capsys.readouterr().out
    monkeypatch.setattr(arrays, "measure_metrics", lambda: few._replace(checks={"limit": 3}))
    bench(TYPED, "metrics", as_json=False)
    assert "\n  limit: 3\n" in capsys.readouterr().out
    with pytest.raises(UnknownNameError, match="benchmark 'metric' is not known, did you mean 'metrics'"):
        bench(TYPED, "metric", as_json=False)
