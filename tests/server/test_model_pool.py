from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from io import BytesIO
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import httpx
import pytest
from test_server_shutdown import process

from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import InputError
from seq2set.core.processes import EndedProcessError
from seq2set.server.answers import Answerer, LabelRequest
from seq2set.server.batching import DynamicBatcher
from seq2set.server.jobs import PASS_CHARS
from seq2set.server.metrics import ServerMetrics
from seq2set.server.model_pool import ModelPool
from seq2set.server.model_process import (
    LONG_PRIORITY,
    TextBatch,
    answer_batch,
    read_answers,
    read_message,
    take_batch,
)
from seq2set.server.served_model import OpenedModel, ServedModel
from seq2set.server.settings import ServeSettings

PLAIN = LabelRequest()
TEXTS = ["wheat harvest bushels", "bank rates currency \ud800"]


def pooled(
    run: RunFolder, test: Callable[[DynamicBatcher, ModelPool, ServerMetrics], Awaitable[Any]], size: int = 2
) -> None:
    """Run a test beside real model processes."""
    metrics = ServerMetrics()

    async def main(pool: ModelPool) -> None:
        batcher = DynamicBatcher(pool, ServeSettings(window_ms=0), metrics)
        batcher.start()
        await test(batcher, pool, metrics)
        await batcher.close()

    with ModelPool(run.path, size) as pool:
        asyncio.run(main(pool))


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.01)


def test_processes_answer_as_the_model_does(br_run: RunFolder, served: OpenedModel) -> None:
    async def test(batcher: DynamicBatcher, pool: ModelPool, metrics: ServerMetrics) -> None:
        request = LabelRequest(explain=True, candidates=2, digits=None)
        expected = [one.to_dict(request) for one in Answerer(served.predictor.tagger)(TEXTS, request)]
        assert [json.loads(line) for line in await batcher.submit(TEXTS, request)] == expected
        assert ServedModel.from_dict(pool.description).to_dict() == served.served.to_dict()
        assert (pool.alive, len(set(pool.pids))) == (2, 2)

    pooled(br_run, test)


def test_the_process_that_was_busy_last_is_taken_first(br_run: RunFolder) -> None:
    async def test(batcher: DynamicBatcher, pool: ModelPool, metrics: ServerMetrics) -> None:
        taken = []
        for _ in range(4):  # it has its memory already; two that take turns would have twice as much
            process = await pool.take()
            taken.append(process.pid)
            pool.give_back(process)
        assert len(set(taken)) == 1

    pooled(br_run, test)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere threads have one priority")
def test_long_requests_let_others_go_first(br_run: RunFolder) -> None:
    async def test(batcher: DynamicBatcher, pool: ModelPool, metrics: ServerMetrics) -> None:
        short = await batcher.submit(["wheat"], PLAIN)
        (pid,) = pool.pids
        assert set(list_priorities(pid)) == {os.nice(0)}
        long = await batcher.submit(["wheat" + " " * PASS_CHARS, "wheat"], PLAIN)
        assert sorted(set(list_priorities(pid))) == [os.nice(0), min(19, os.nice(0) + LONG_PRIORITY)]
        assert long == [*short, *short]

    pooled(br_run, test, size=1)


def list_priorities(pid: int) -> list[int]:
    """Return the niceness of each thread of a process."""
    return [os.getpriority(os.PRIO_PROCESS, int(one.name)) for one in Path(f"/proc/{pid}/task").iterdir()]


def test_a_process_that_dies_idle_is_replaced(br_run: RunFolder) -> None:
    async def test(batcher: DynamicBatcher, pool: ModelPool, metrics: ServerMetrics) -> None:
        (dead,) = pool.pids
        os.kill(dead, signal.SIGKILL)
        await until(lambda: pool.alive == 0)
        assert not batcher.healthy
        await until(lambda: pool.alive == 1)
        assert dead not in pool.pids
        assert len(await batcher.submit(TEXTS, PLAIN)) == 2
        assert metrics.registry.get_sample_value("seq2set_model_restarts_total") == 1
        assert metrics.registry.get_sample_value("seq2set_model_processes") == 1

    pooled(br_run, test, size=1)


def test_a_request_whose_process_is_killed_is_answered_by_another(br_run: RunFolder) -> None:
    async def test(batcher: DynamicBatcher, pool: ModelPool, metrics: ServerMetrics) -> None:
        (held,) = pool.pids
        os.kill(held, signal.SIGSTOP)  # so that it is in the middle of the request when it dies
        asked = asyncio.create_task(batcher.submit(TEXTS, PLAIN))
        await until(lambda: len(batcher._passes) == 1)
        os.kill(held, signal.SIGKILL)
        assert [json.loads(line)["labels"][0]["label"] for line in await asked] == ["grain", "money"]

    pooled(br_run, test, size=1)


def test_another_model_in_the_same_place_is_not_taken_for_the_first(
    br_run: RunFolder, caplog: pytest.LogCaptureFixture
) -> None:
    async def test(batcher: DynamicBatcher, pool: ModelPool, metrics: ServerMetrics) -> None:
        pool.description = {**pool.description, "card": "what the first one had"}
        os.kill(pool.pids[0], signal.SIGKILL)
        await until(lambda: "holds another model than before; restart the server" in caplog.text)
        assert not batcher.healthy

    pooled(br_run, test, size=1)


def test_a_model_that_cannot_be_opened_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=str(tmp_path)):
        ModelPool(tmp_path, 1).__enter__()


def test_a_panic_ends_the_process_and_an_error_does_not() -> None:
    class Panic(BaseException):
        """What the tokenizer raises is no Exception either."""

    def panic(texts: object, request: object) -> list[Any]:
        raise Panic

    def answer(error: Exception) -> list[bytes]:
        def fail(texts: object, request: object) -> list[Any]:
            raise error

        target = BytesIO()
        answer_batch(fail, TextBatch(["a"], PLAIN), target)
        target.seek(0)
        return read_answers(read_message(target))

    with pytest.raises(RuntimeError, match="^internal error; see the server log$"):
        answer(ValueError("inside"))
    with pytest.raises(InputError, match="^the request is wrong$"):
        answer(InputError("the request is wrong"))
    with pytest.raises(Panic):
        answer_batch(panic, TextBatch(["a"], PLAIN), BytesIO())


PANIC = """
import sys
from seq2set.models.linear.tagger import LinearTagger
from seq2set.server import model_process

infer = LinearTagger.infer

def panic(self, texts, request):
    if "panic" in texts:
        raise BaseException("rust")
    return infer(self, texts, request)

LinearTagger.infer = panic
model_process.main()
"""


def test_after_a_panic_the_next_request_is_answered(
    br_run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = subprocess.Popen

    def start_panicking(command: list[str], **options: Any) -> Any:
        return start([sys.executable, "-c", PANIC, *command[-3:]], **options)

    monkeypatch.setattr("seq2set.core.processes.subprocess.Popen", start_panicking)

    async def test(batcher: DynamicBatcher, pool: ModelPool, metrics: ServerMetrics) -> None:
        with pytest.raises(Exception, match="the model process ended before it had answered; try again"):
            await batcher.submit(["panic"], PLAIN)
        await until(lambda: pool.alive == 1)
        assert len(await batcher.submit(TEXTS, PLAIN)) == 2
        assert metrics.registry.get_sample_value("seq2set_model_restarts_total") == 2  # it was tried twice

    pooled(br_run, test, size=1)


def list_children(parent: int) -> set[int]:
    rows = subprocess.check_output(["ps", "-A", "-o", "pid=,ppid=,stat="], text=True).splitlines()
    found = (row.split() for row in rows)
    return {int(pid) for pid, above, state in found if int(above) == parent and not state.startswith("Z")}


def is_running(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return state.stdout.strip() not in ("", "Z", "Zs", "Z+")


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_outlives_the_front(br_run: RunFolder, sign: signal.Signals) -> None:
    with process(br_run, "--workers", "2") as (front, address):
        assert httpx.post(address + "/v1/predict", json={"text": "wheat"}).status_code == 200
        children = list_children(front.pid)
        assert len(children) == 2
        front.send_signal(sign)
        assert front.wait() == (0 if sign == signal.SIGTERM else -sign)
        while any(map(is_running, children)):
            time.sleep(0.05)


def test_the_front_does_not_load_the_model(br_run: RunFolder) -> None:
    code = "import sys, seq2set.server.listen; print('torch' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"


def test_a_process_that_has_ended_says_so(br_run: RunFolder) -> None:
    with ModelPool(br_run.path, 1) as pool:
        (one,) = pool._started
        one.kill()
        one.wait()
        with pytest.raises(EndedProcessError):
            one.answer(TextBatch(["a"], PLAIN))


def test_a_process_without_work_gives_memory_back_once_and_goes_on() -> None:
    batches: SimpleQueue[TextBatch] = SimpleQueue()
    released = []

    def release() -> None:
        released.append(True)
        batches.put(TextBatch(TEXTS, PLAIN))

    assert take_batch(batches, release, seconds=0).texts == TEXTS
    batches.put(TextBatch(TEXTS[:1], PLAIN))
    assert take_batch(batches, release).texts == TEXTS[:1]
    assert released == [True]
