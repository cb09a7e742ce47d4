"""The Ray engine, on a cluster in this very process: the bytes of one machine, whatever dies."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from seq2set.config.run_folder import RunFolder
from seq2set.core import cluster
from seq2set.core.cluster import Workplace
from seq2set.core.errors import InputError, MissingExtraError, WorkError
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.inference.engines import ray_actors
from seq2set.inference.engines.blocks import BlockResult, EngineSettings, Texts, open_engine
from seq2set.inference.engines.local import InProcess
from seq2set.inference.engines.ray_actors import BlockActor, RayEngine
from seq2set.models.predictions import Request
from seq2set.workflows import prediction_input, shards

pytestmark = pytest.mark.skipif(find_spec("ray") is None, reason="the extra ray is not installed")

BLOCKS: list[Texts] = [["wheat harvest", f"crude barrels {n}", "zzz"] for n in range(12)]


@pytest.fixture(scope="module")
def running() -> Iterator[Any]:
    """A cluster of two CPUs on the loopback interface, with a token of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
        with cluster.open_cluster(None, 2) as opened:
            # The actors of this file travel whole: workers cannot import it.
            opened.cloudpickle.register_pickle_by_value(sys.modules[__name__])
            yield opened
            opened.cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


@pytest.fixture
def settings(br_run: RunFolder) -> EngineSettings:
    return EngineSettings(br_run.path, Request(explain=True), workers=2)


@pytest.fixture
def expected(settings: EngineSettings) -> list[BlockResult]:
    return list(InProcess(settings).map(BLOCKS))


def test_actors_give_what_one_process_gives(
    running: Any, settings: EngineSettings, expected: list[BlockResult]
) -> None:
    with open_engine("ray", settings) as engine:
        assert list(engine.map(BLOCKS)) == expected
        assert list(engine.map([])) == []


def test_an_actor_that_dies_loses_and_doubles_nothing(
    running: Any, settings: EngineSettings, expected: list[BlockResult]
) -> None:
    with RayEngine(settings) as engine:
        results = engine.map(BLOCKS)
        found = [next(results)]
        running.kill(engine.actors[0], no_restart=False)
        found.append(next(results))
        running.kill(engine.actors[1], no_restart=False)
        assert [*found, *results] == expected
        assert running.is_initialized()


class Deadly(BlockActor):
    """Dies of every block."""

    def predict(self, texts: Texts) -> dict[str, Any]:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


class Older(BlockActor):
    """Has another version of the package."""

    def describe(self) -> dict[str, Any]:
        return {"version": "0.0.1"}


class Broken(BlockActor):
    """Cannot start, as on a node without the package."""

    def __init__(self, *given: Any):
        raise ImportError("No module named 'seq2set'")


@pytest.mark.parametrize(
    ("actor", "sentence"),
    [
        (Deadly, "an actor died, 3 times on the same 3 texts; is there enough memory?"),
        (Older, "a node of the cluster has seq2set 0.0.1, this one .*; install the same version on all"),
        (Broken, r"an actor cannot start; is seq2set installed on all nodes\? \(.*No module named 'seq2set'"),
    ],
)
def test_what_actors_cannot_do_is_one_sentence(
    running: Any, settings: EngineSettings, monkeypatch: pytest.MonkeyPatch, actor: type, sentence: str
) -> None:
    monkeypatch.setattr(ray_actors, "BlockActor", actor)
    with pytest.raises(WorkError, match=sentence), RayEngine(settings) as engine:
        list(engine.map(BLOCKS[:2]))


def test_a_cluster_without_free_cpus_is_one_sentence(
    running: Any, settings: EngineSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_actors, "START_SECONDS", 0.1)
    monkeypatch.setattr(ray_actors, "CPUS", 99)
    with pytest.raises(
        WorkError, match="no actor has started within 0 s; . of the cluster's 2 CPUs are free"
    ):
        with RayEngine(settings) as engine:
            list(engine.map(BLOCKS))


def refuse_texts(*given: object) -> None:
    raise InputError("no such texts")


def test_a_wrong_model_or_request_is_the_sentence_of_one_process(
    br_run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", dict(os.environ))
    with (
        pytest.raises(InputError, match="does not exist"),
        RayEngine(EngineSettings(tmp_path / "x", Request())),
    ):
        pass
    actor = BlockActor({"files": {}}, {})
    assert actor.describe()["code"] == 2
    files = {path.name: path.read_bytes() for path in br_run.model.iterdir()}
    actor = BlockActor({"files": files}, {})
    assert actor.predict(BLOCKS[0])["predictions"]
    monkeypatch.setattr(type(actor.predictor.tagger), "infer", refuse_texts)
    assert actor.predict(BLOCKS[0]) == {"error": "no such texts", "code": 2}


def predict(seq2set, run: RunFolder, source: Path, out: Path, *more: object) -> str:
    outcome = seq2set("predict", run.path, "--input", source, "--output", out, *more)
    assert outcome.code == 0, outcome.err
    return outcome.err


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three files of 25 documents, in blocks of 5 and shards of 10."""
    for module in (prediction_input, shards):
        monkeypatch.setattr(module, "BLOCK", 5)
    folder = tmp_path / "in"
    folder.mkdir()
    for name in "abc":
        lines = (json.dumps({"id": f"{name}{n}", "text": f"wheat {n}"}) for n in range(25))
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
    return folder


def test_shards_equal_those_of_the_local_engine_and_continue(
    running: Any, seq2set, br_run: RunFolder, source: Path, tmp_path: Path
) -> None:
    for engine in ("local", "ray"):
        predict(seq2set, br_run, source, tmp_path / engine, "--engine", engine, "--shard-size", 10)
    names = sorted(path.name for path in (tmp_path / "local").iterdir())
    assert sorted(path.name for path in (tmp_path / "ray").iterdir()) == names
    for name in (name for name in names if name.startswith("part-")):
        assert (tmp_path / "ray" / name).read_bytes() == (tmp_path / "local" / name).read_bytes()
    done = (tmp_path / "ray" / "done.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "ray" / "done.jsonl").write_bytes(b"".join(done[:7]))
    # An engine is no part of the job: either continues what the other has begun.
    said = predict(seq2set, br_run, source, tmp_path / "ray", "--engine", "ray", "--shard-size", 10)
    assert said.splitlines()[0] == "7 shards are done already"
    assert said.splitlines()[-1].endswith("(texts: 15)")
    said = predict(seq2set, br_run, source, tmp_path / "ray", "--shard-size", 10)
    assert said.splitlines()[0] == "9 shards are done already"


def test_one_file_is_in_the_order_of_the_input(
    running: Any, seq2set, br_run: RunFolder, source: Path, tmp_path: Path
) -> None:
    for engine in ("local", "ray"):
        predict(seq2set, br_run, source, tmp_path / f"{engine}.csv", "--engine", engine)
    assert (tmp_path / "ray.csv").read_bytes() == (tmp_path / "local.csv").read_bytes()


def test_an_address_that_does_not_answer(
    running: Any, seq2set, br_run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "is_initialized", lambda: False)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    outcome = seq2set("predict", br_run.path, "wheat", "--engine", "ray", "--address", address)
    assert outcome.code == 1
    assert f"seq2set: the Ray cluster at {address} does not answer within 10 s (" in outcome.err
    outcome = seq2set("predict", br_run.path, "wheat", "--engine", "ray", "--address", "somewhere")
    assert outcome.code == 2
    assert "address is 'somewhere'; it must be HOST:PORT, such as 10.0.0.5:6379, or auto" in outcome.err


def test_what_ray_says_of_a_connection_is_one_sentence(running: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object, **options: object) -> None:
        raise ConnectionError("no running instance\nmore about it")

    monkeypatch.setattr(running, "is_initialized", lambda: False)
    monkeypatch.setattr(running, "init", refuse)
    with pytest.raises(WorkError, match="^the Ray cluster at auto does not answer: no running instance$"):
        with cluster.open_cluster("auto", 1):
            pass


def test_a_missing_extra_says_how_to_install_it(
    seq2set, br_run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    outcome = seq2set("predict", br_run.path, "wheat", "--engine", "ray")
    assert (outcome.code, outcome.err) == (2, f"seq2set: {MissingExtraError('ray', 'ray')}\n")


def test_processes_on_a_cluster_are_those_of_one_machine(running: Any, tmp_path: Path) -> None:
    with Workplace("ray").open_pool(2) as pool:
        assert (pool.free_slot, pool.pinned) == (0, False)
        speak = (
            "import os, sys; print(sys.stdin.readline().upper(), os.getcwd(), os.environ['SEQ2SET_CORES'])"
        )
        pool.start("a", ["-c", speak], message="wheat")
        pool.start("b", ["-c", "import sys; print('lost'); sys.exit(3)"], log=tmp_path / "log")
        assert (pool.jobs, pool.free_slot) == (["a", "b"], None)
        ended = {}
        while pool.jobs:
            ended |= {one.job: one for one in pool.wait()}
    assert ended["a"].output.split() == ["WHEAT", str(Path.cwd()), "1"]
    assert (ended["a"].code, ended["b"].code, ended["b"].output) == (0, 3, "")
    assert (tmp_path / "log").read_text() == "lost\n"


SAVE = """
import pathlib, sys
pathlib.Path(sys.argv[1]).touch()
sys.stdin.read()
pathlib.Path(sys.argv[2]).touch()
"""


def test_leaving_lets_processes_on_a_cluster_save(running: Any, tmp_path: Path) -> None:
    began, saved = tmp_path / "began", tmp_path / "saved"
    with Workplace("ray").open_pool(1) as pool:
        pool.start("a", ["-c", SAVE, str(began), str(saved)])
        while not began.exists():
            assert pool.wait(0.05) == []
    assert saved.exists()


def test_a_task_that_the_cluster_loses_is_one_sentence(running: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "run_process", lose)
    with pytest.raises(WorkError, match="a task of the Ray cluster failed: .*gone"):
        with Workplace("ray").open_pool(1) as pool:
            pool.start("a", [])
            pool.wait()


def lose(*given: object) -> None:
    raise RuntimeError("gone")


def test_cells_on_a_cluster_are_those_of_one_machine_and_continue(
    running: Any, seq2set, small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    told = ["experiment", "compare", "--data", small_corpus.folder, "--models", "br,lp", "--jobs", 2]
    found = {}
    for engine in ("local", "ray"):
        outcome = seq2set(*told, "--out", tmp_path / engine, "--engine", engine)
        assert outcome.code == 0, outcome.err
        for name in ("br", "lp"):
            (card,) = (tmp_path / engine / "cells").glob(f"{name}*/model/model.safetensors")
            found[engine, name] = card.read_bytes()
    for name in ("br", "lp"):
        assert found["ray", name] == found["local", name]
    again = seq2set(*told, "--out", tmp_path / "ray", "--engine", "ray")
    assert "2 of 2 cells are done already" in again.err


def test_trials_on_a_cluster(running: Any, seq2set, small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    told = [
        "tune",
        "--data",
        small_corpus.folder,
        "--model",
        "br",
        "--engine",
        "ray",
        "--out",
        tmp_path / "study",
    ]
    outcome = seq2set(*told, "--trials", 2)
    assert outcome.code == 0, outcome.err
    assert ": trial " in outcome.out
    more = seq2set(*told, "--trials", 3, "--resume")
    assert (more.code, " of 3, with" in more.out) == (0, True)


def test_an_unknown_engine(seq2set, small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    for verb in (["experiment", "compare"], ["tune"]):
        outcome = seq2set(*verb, "--data", small_corpus.folder, "--out", tmp_path, "--engine", "spark")
        assert (outcome.code, outcome.err) == (
            2,
            "seq2set: engine 'spark' is not known; known are: local, ray\n",
        )
