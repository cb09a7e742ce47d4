"""Processes on this machine: the same answers for any number of them, whoever of them dies."""

from __future__ import annotations

import io
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import InputError, ModelFolderError, UnknownNameError, WorkError
from seq2set.inference.engines import local, worker
from seq2set.inference.engines.blocks import (
    BlockResult,
    EngineSettings,
    Texts,
    from_plain,
    open_engine,
    predict_block,
    to_plain,
)
from seq2set.inference.engines.local import InProcess, WorkerProcesses, choose_workers, open_local
from seq2set.inference.predictor import Predictor
from seq2set.models.predictions import Request

BLOCKS: list[Texts] = [["wheat harvest", f"crude barrels {n}", "zzz"] for n in range(9)]


@pytest.fixture
def settings(br_run: RunFolder) -> EngineSettings:
    return EngineSettings(br_run.path, Request(explain=True))


@pytest.fixture
def expected(settings: EngineSettings) -> list[BlockResult]:
    return list(InProcess(settings).map(BLOCKS))


@pytest.mark.parametrize("workers", [2, 3])
def test_any_number_of_processes_gives_the_same(
    settings: EngineSettings, expected: list[BlockResult], workers: int
) -> None:
    with WorkerProcesses(settings, workers) as engine:
        assert list(engine.map(BLOCKS)) == expected
        assert list(engine.map(BLOCKS[:1])) == expected[:1]
    assert [one.note for one in expected[0].predictions] == [None, None, "no known words"]
    assert expected[0].predictions[0].suggestions[0].label == "grain"
    assert expected[0].predictions[0].suggestions[0].evidence


def test_only_some_blocks_are_read_ahead(settings: EngineSettings, expected: list[BlockResult]) -> None:
    taken: list[int] = []

    def give() -> Iterator[Texts]:
        for number in range(40):
            taken.append(number)
            yield BLOCKS[0]

    with WorkerProcesses(settings, 2) as engine:
        assert next(engine.map(give())) == expected[0]
        assert len(taken) == 2 * 2 + 1


def test_a_process_that_dies_is_replaced_and_its_block_done_again(
    settings: EngineSettings, expected: list[BlockResult]
) -> None:
    with WorkerProcesses(settings, 2) as engine:
        results = engine.map(BLOCKS)
        found = [next(results)]
        killed = [one._process.pid for one in engine.processes if one._process is not None]
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        assert [*found, *results] == expected
        assert killed
        assert not {one._process.pid for one in engine.processes if one._process is not None} & set(killed)


def test_processes_that_die_of_a_block_are_one_sentence(
    settings: EngineSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "COMMAND", ("-c", "raise SystemExit(9)"))
    with (
        pytest.raises(WorkError, match="a worker process ended with code 9, 3 times on the same 3 texts; if"),
        WorkerProcesses(settings, 2) as engine,
    ):
        list(engine.map(BLOCKS))


def test_leaving_in_mid_work_ends_all(settings: EngineSettings) -> None:
    with WorkerProcesses(settings, 2) as engine:
        next(engine.map(BLOCKS))
        pids = [one._process.pid for one in engine.processes if one._process is not None]
    assert pids
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_wrong_model_or_request_is_the_sentence_of_one_process(tmp_path: Path, br_run: RunFolder) -> None:
    with (
        pytest.raises(
            InputError, match=f"{tmp_path / 'none'} does not exist; it must be a run or a model folder"
        ),
        WorkerProcesses(EngineSettings(tmp_path / "none", Request()), 2) as engine,
    ):
        list(engine.map(BLOCKS))


@pytest.mark.parametrize(
    ("documents", "workers"), [(0, 1), (8_191, 1), (16_383, 1), (16_384, 2), (10**6, 3), (None, 3)]
)
def test_a_second_process_is_for_many_texts(
    br_run: RunFolder, monkeypatch: pytest.MonkeyPatch, documents: int | None, workers: int
) -> None:
    monkeypatch.setattr(local, "count_cores", lambda: 3)
    settings = EngineSettings(br_run.path, Request(), documents=documents)
    assert choose_workers(settings) == workers
    assert choose_workers(EngineSettings(br_run.path, Request(), 5, documents)) == 5
    with open_local(settings) as engine:
        assert isinstance(engine, InProcess if workers == 1 else WorkerProcesses)


def test_wrong_settings(br_run: RunFolder, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="workers is 0; it must be >= 1"):
        EngineSettings(br_run.path, Request(), workers=0)
    with pytest.raises(UnknownNameError, match="engine 'loca' is not known, did you mean 'local'"):
        open_engine("loca", EngineSettings(br_run.path, Request()))
    for documents in (5, 5_000):
        with pytest.raises(ModelFolderError, match="does not exist"):
            open_local(EngineSettings(tmp_path / "none", Request(), documents=documents))


def test_a_result_survives_json(expected: list[BlockResult]) -> None:
    assert from_plain(json.loads(json.dumps(to_plain(expected[0])))) == expected[0]


def serve(*lines: object) -> list[dict]:
    source = io.BytesIO(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    target = io.BytesIO()
    worker.serve_blocks(source, target)
    return [json.loads(line) for line in target.getvalue().splitlines()]


def test_a_worker_answers_until_its_input_ends(br_run: RunFolder, expected: list[BlockResult]) -> None:
    hello = {"model": str(br_run.path), "request": {"explain": True}}
    assert list(map(from_plain, serve(hello, *BLOCKS[:2]))) == expected[:2]
    assert serve(hello) == []


def test_a_worker_says_what_it_cannot_do(
    br_run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (answer,) = serve({"model": str(tmp_path / "none"), "request": {}}, BLOCKS[0])
    assert answer["code"] == 2
    with pytest.raises(InputError, match="does not exist"):
        worker.raise_error(answer)
    (answer,) = serve({"model": str(br_run.path), "request": {}}, [3])
    with pytest.raises(WorkError, match="Error: "):
        worker.raise_error(answer)


def test_texts_that_are_cut_are_counted(br_run: RunFolder) -> None:
    predictor = Predictor.open(br_run.path)
    assert predict_block(predictor, ["wheat " * 9999], Request()).cut == {}
