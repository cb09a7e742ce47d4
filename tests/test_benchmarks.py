from __future__ import annotations

import importlib
import json

import pytest

from seq2set.benchmarks.ratio import measure
from seq2set.benchmarks.texts import zipf_texts
from seq2set.cli.bench import BENCHMARKS


def test_a_ratio_is_the_opponents_time_by_ours() -> None:
    import time

    result = measure("x", "sleep", lambda: time.sleep(0.01), lambda: time.sleep(0.05), {"n": 1}, rounds=1)
    assert result.ratio == pytest.approx(result.theirs / result.ours)
    assert result.ratio > 1
    assert result.to_dict().keys() == {"name", "ratio", "opponent", "seconds", "shapes"}


def test_texts_are_repeatable_and_natural() -> None:
    texts = zipf_texts(200, words=50, seed=2)
    assert texts == zipf_texts(200, words=50, seed=2)
    lengths = [len(text.split()) for text in texts]
    assert 40 < sum(lengths) / len(lengths) < 70
    counts = sorted((" ".join(texts).split().count(f"w{n}") for n in range(3)), reverse=True)
    assert counts[0] > counts[2]


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_runs_small(name: str) -> None:
    result = importlib.import_module(f"seq2set.benchmarks.{name}").run(documents=50)
    assert result.name == name
    assert result.ours > 0
    assert result.theirs > 0


def test_bench_prints_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from seq2set.benchmarks import metrics
    from seq2set.cli.bench import bench
    from seq2set.errors import UnknownNameError

    small = metrics.run(documents=20)
    monkeypatch.setattr(metrics, "run", lambda: small)
    bench("metrics", as_json=True)
    assert json.loads(capsys.readouterr().out)["opponent"].startswith("scikit-learn")
    bench("metrics", as_json=False)
    assert "times as fast as scikit-learn" in capsys.readouterr().out
    with pytest.raises(UnknownNameError, match="benchmark 'metric' is not known, did you mean 'metrics'"):
        bench("metric", as_json=False)
