from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from seq2set.core.errors import InputError
from seq2set.core.processes import EndedProcessError
from seq2set.server.answers import LabelRequest
from seq2set.server.batching import DynamicBatcher
from seq2set.server.errors import ApiError
from seq2set.server.jobs import PASS_CHARS, PASS_COST, estimate_cost
from seq2set.server.metrics import ServerMetrics
from seq2set.server.model_process import TextBatch
from seq2set.server.settings import ServeSettings

PLAIN, FEW = LabelRequest(), LabelRequest(max_labels=1)


class Model:
    """A pool of one process: answers each text by itself, remembers the passes, and can be held up."""

    size, idle = 1, 0

    def __init__(self) -> None:
        self.passes: list[tuple[list[str], LabelRequest]] = []
        self.long: list[bool] = []
        self.free = threading.Event()
        self.free.set()
        self.alive = 1

    def start(self, metrics: ServerMetrics) -> None:
        self._idle: asyncio.Queue[int] = asyncio.Queue()
        self._idle.put_nowait(0)

    async def take(self) -> int:
        return await self._idle.get()

    def give_back(self, process: int) -> None:
        self._idle.put_nowait(process)

    async def answer(self, process: int, batch: TextBatch) -> list[bytes]:
        texts = batch.texts
        self.passes.append((list(texts), batch.request))
        self.long.append(batch.long)
        try:
            assert await asyncio.to_thread(self.free.wait, 120)
        finally:
            self.give_back(process)
        if "wrong" in texts:
            raise InputError("the text is wrong")
        if "poison" in texts:
            raise RuntimeError("broken")
        if "deadly" in texts:
            raise EndedProcessError("the model process ended before it had answered; try again")
        return [text.encode() for text in texts]

    def kill(self) -> None:
        self.alive = 0


def labels(answers: list[bytes]) -> list[str]:
    return [answer.decode() for answer in answers]


def batched(
    test: Callable[[DynamicBatcher, Model, ServerMetrics], Awaitable[Any]], **settings: Any
) -> tuple[Model, ServerMetrics]:
    """Run a test beside a batcher whose window is long, so that nothing depends on speed."""
    model, metrics = Model(), ServerMetrics()

    async def main() -> None:
        chosen = {"window_ms": 300.0, "max_batch": 8, "max_texts": 8, "queue_texts": 16} | settings
        batcher = DynamicBatcher(model, ServeSettings(**chosen), metrics)
        batcher.start()
        await test(batcher, model, metrics)
        model.free.set()
        await batcher.close()

    asyncio.run(main())
    return model, metrics


async def settled() -> None:
    """Let everything that is ready run, and the window pass."""
    await asyncio.sleep(0.05)


async def begun(model: Model) -> None:
    """Wait until the model is at work, which a busy machine may put off."""
    while not model.passes:
        await asyncio.sleep(0.01)


def test_requests_within_the_window_share_a_pass_and_get_their_own_answers() -> None:
    async def test(batcher: DynamicBatcher, model: Model, metrics: ServerMetrics) -> None:
        answers = await asyncio.gather(
            batcher.submit(["a"], PLAIN), batcher.submit(["b", "c"], PLAIN), batcher.submit(["d"], PLAIN)
        )
        assert [labels(one) for one in answers] == [["a"], ["b", "c"], ["d"]]

    model, metrics = batched(test)
    assert model.passes == [(["a", "b", "c", "d"], PLAIN)]
    assert metrics.registry.get_sample_value("seq2set_batch_texts_sum") == 4
    assert metrics.registry.get_sample_value("seq2set_queue_texts") == 0


def test_requests_that_ask_differently_have_passes_of_their_own() -> None:
    async def test(batcher: DynamicBatcher, model: Model, metrics: ServerMetrics) -> None:
        await asyncio.gather(
            batcher.submit(["a"], PLAIN), batcher.submit(["b"], FEW), batcher.submit(["c"], PLAIN)
        )

    model, _ = batched(test, window_ms=50)
    assert model.passes == [(["a", "c"], PLAIN), (["b"], FEW)]


def test_a_full_batch_does_not_wait_for_the_window() -> None:
    async def test(batcher: DynamicBatcher, model: Model, metrics: ServerMetrics) -> None:
        jobs = [batcher.submit([str(number)], PLAIN) for number in range(8)]
        await asyncio.wait_for(asyncio.gather(*jobs), 5)

    model, _ = batched(test, window_ms=60_000)
    assert [len(texts) for texts, _ in model.passes] == [8]


def test_a_batch_holds_no_more_texts_than_allowed() -> None:
    async def test(batcher: DynamicBatcher, model: Model, metrics: ServerMetrics) -> None:
        await asyncio.gather(*(batcher.submit([name, name], PLAIN) for name in "abc"))

    # Of three requests with two texts each, two fit into a batch of five, and the third follows.
    model, _ = batched(test, max_batch=5, window_ms=50)
    assert [texts for texts, _ in model.passes] == [["a", "a", "b", "b"], ["c", "c"]]


def test_what_arrives_during_a_pass_makes_up_the_next() -> None:
    async def test(batcher: DynamicBatcher, model: Model, metrics: ServerMetrics) -> None:
        model.free.clear()
        first = asyncio.create_task(batcher.submit(["first"], PLAIN))
        await begun(model)
        others = [asyncio.create_task(batcher.submit([name], PLAIN)) for name in "abc"]
        await settled()
        model.free.set()
        await asyncio.gather(first, *others)

    model, _ = batched(test, window_ms=1)
    assert [texts for texts, _ in model.passes] == [["first"], ["a", "b", "c"]]


def test_beyond_the_queue_a_request_is_refused_and_told_when_to_come_again() -> None:
    async def test(batcher: DynamicBatcher, model: Model, metrics: ServerMetrics) -> None:
        model.free.clear()
        first = asyncio.create_task(batcher.submit(["first"], PLAIN))
        await begun(model)
        waiting = [asyncio.create_task(batcher.submit(["x"] * 8, PLAIN)) for _ in range(2)]
        await settled()
        assert batcher.waiting == 16
        with pytest.raises(ApiError) as refusal:
            await batcher.submit(["one too many"], PLAIN)
        assert (refusal.value.status_code, refusal.value.headers) == (429, {"Retry-After": "1"})
        assert refusal.value.detail == "16 texts wait already; try again in 1 s"
        model.free.set()
        await asyncio.gather(first, *waiting)

    model, metrics = batched(test, window_ms=1)
    assert metrics.registry.get_sample_value("seq2set_refused_total") == 1
    assert ["one too many"] not in [texts for texts, _ in model.passes]


def test_whoever_is_patient_waits_for_room_instead() -> None:
    async def test(batcher: DynamicBatcher, model: Model, metrics: ServerMetrics) -> None:
        model.free.clear()
        first = asyncio.create_task(batcher.submit(["first"], PLAIN))
        await begun(model)
        waiting = [asyncio.create_task(batcher.submit(["x"] * 8, PLAIN)) for _ in range(2)]
        await settled()
        patient = asyncio.create_task(batcher.submit_patiently(["y"] * 8, PLAIN))
        await settled()
        assert (batcher.waiting, patient.done()) == (16, False)
        model.free.set()
        assert labels(await patient) == ["y"] * 8
        await asyncio.gather(first, *waiting)

    model, _ = batched(test, window_ms=1)
    assert [len(texts) for texts, _ in model.passes] == [1, 8, 8, 8]


def test_a_request_that_was_given_up_is_dropped_before_it_is_computed() -> None:
    async def test(batcher: DynamicBatcher, model: Model, metrics: ServerMetrics) -> None:
        model.free.clear()
        first = asyncio.create_task(batcher.submit(["first"], PLAIN))
        await begun(model)
        gone = asyncio.create_task(batcher.submit(["gone"] * 8, PLAIN))
        stays = asyncio.create_task(batcher.submit(["stays"], PLAIN))
        await settled()
        gone.cancel()
        await settled()
        assert batcher.waiting == 1
        model.free.set()
        await asyncio.gather(first, stays)

    model, metrics = batched(test, window_ms=1)
    assert [texts for texts, _ in model.passes] == [["first"], ["stays"]]
    assert metrics.registry.get_sample_value("seq2set_dropped_total") == 1


def test_one_that_is_given_up_in_the_very_moment_is_dropped_too() -> None:
    async def test(batcher: DynamicBatcher, model: Model, metrics: ServerMetrics) -> None:
        gone = asyncio.create_task(batcher.submit(["gone"], PLAIN))
        await asyncio.sleep(0)
        batcher._jobs[0].promise.cancel()  # what cancelling does before the task itself runs on
        assert batcher._take() == []
        await asyncio.gather(gone, return_exceptions=True)

    model, metrics = batched(test)
    assert model.passes == []
    assert metrics.registry.get_sample_value("seq2set_dropped_total") == 1


def test_one_that_is_given_up_during_its_pass_spoils_nothing() -> None:
    async def test(batcher: DynamicBatcher, model: Model, metrics: ServerMetrics) -> None:
        model.free.clear()
        gone, stays = (asyncio.create_task(batcher.submit([name], PLAIN)) for name in ("gone", "stays"))
        await begun(model)
        gone.cancel()
        model.free.set()
        assert labels(await stays) == ["stays"]

    batched(test, window_ms=20)


def test_a_text_that_breaks_the_model_spoils_only_its_own_request() -> None:
    async def test(batcher: DynamicBatcher, model: Model, metrics: ServerMetrics) -> None:
        names = ("a", "poison", "b")
        results = await asyncio.gather(
            *(batcher.submit([name], PLAIN) for name in names), return_exceptions=True
        )
        assert isinstance(results[1], RuntimeError)
        assert [labels(one) for one in (results[0], results[2])] == [["a"], ["b"]]

    model, _ = batched(test, window_ms=20)
    assert [texts for texts, _ in model.passes] == [["a", "poison", "b"], ["a"], ["poison"], ["b"]]


def test_what_is_asked_wrongly_is_refused_in_one_pass() -> None:
    async def test(batcher: DynamicBatcher, model: Model, metrics: ServerMetrics) -> None:
        jobs = (batcher.submit([name], PLAIN) for name in ("a", "wrong"))
        results = await asyncio.gather(*jobs, return_exceptions=True)
        assert [str(one) for one in results] == ["the text is wrong"] * 2

    model, _ = batched(test, window_ms=20)
    assert len(model.passes) == 1


def test_closing_finishes_what_was_accepted_and_takes_no_more() -> None:
    async def test(batcher: DynamicBatcher, model: Model, metrics: ServerMetrics) -> None:
        model.free.clear()
        accepted = [asyncio.create_task(batcher.submit([name] * 8, PLAIN)) for name in "ab"]
        await settled()
        closing = asyncio.create_task(batcher.close())
        await settled()
        assert not batcher.accepting
        with pytest.raises(ApiError, match="the server is stopping; try again in a moment") as refusal:
            await batcher.submit([], PLAIN)
        assert refusal.value.status_code == 503
        model.free.set()
        assert [labels(one)[0] for one in await asyncio.gather(*accepted)] == ["a", "b"]
        await closing

    model, _ = batched(test, window_ms=60_000)
    assert len(model.passes) == 2


def test_a_request_whose_process_ends_is_computed_once_more_and_then_refused() -> None:
    async def test(batcher: DynamicBatcher, model: Model, metrics: ServerMetrics) -> None:
        with pytest.raises(ApiError, match="the model process ended before it had answered") as refusal:
            await batcher.submit(["deadly"], PLAIN)
        assert refusal.value.status_code == 503
        jobs = (batcher.submit([name], PLAIN) for name in ("a", "deadly", "b"))
        results = await asyncio.gather(*jobs, return_exceptions=True)
        assert isinstance(results[1], ApiError)
        assert [labels(one) for one in (results[0], results[2])] == [["a"], ["b"]]  # type: ignore[arg-type]

    model, _ = batched(test, window_ms=20)
    assert [texts for texts, _ in model.passes[:2]] == [["deadly"], ["deadly"]]
    assert [texts for texts, _ in model.passes[2:]] == [["a", "deadly", "b"], ["a"], ["deadly"], ["b"]]


def test_without_a_process_nothing_is_accepted() -> None:
    async def test(batcher: DynamicBatcher, model: Model, metrics: ServerMetrics) -> None:
        model.alive = 0
        assert not batcher.accepting
        with pytest.raises(ApiError, match="no model process is running; try again in a moment"):
            await batcher.submit(["a"], PLAIN)

    batched(test)


LONG = "x" * (PASS_COST // 2)


def test_a_long_request_is_computed_in_parts_and_short_ones_come_in_between() -> None:
    async def test(batcher: DynamicBatcher, model: Model, metrics: ServerMetrics) -> None:
        model.free.clear()
        long = asyncio.create_task(batcher.submit([LONG + str(number) for number in range(4)], PLAIN))
        await begun(model)
        short = asyncio.create_task(batcher.submit(["short"], FEW))
        await settled()
        model.free.set()
        assert labels(await short) == ["short"]
        assert [text[-1] for text in labels(await long)] == ["0", "1", "2", "3"]

    model, _ = batched(test, window_ms=1)
    # Two texts of half a pass and a little more do not fit together.
    assert [texts[0][-1] for texts, _ in model.passes] == ["0", "t", "1", "2", "3"]
    assert model.long == [True, False, True, True, True]  # those do not hold up others


def test_a_pass_holds_no_more_characters_than_are_read_in_a_moment() -> None:
    async def test(batcher: DynamicBatcher, model: Model, metrics: ServerMetrics) -> None:
        most = PASS_CHARS
        sizes = [most // 2, most // 2, 1, most + 1, most, 0, 1]
        answers = await batcher.submit(["x" * size for size in sizes], PLAIN)
        assert [len(one) for one in answers] == sizes
        assert most * 4 < PASS_COST  # so that it is the characters that count

    model, _ = batched(test, window_ms=1)
    # A text that is longer by itself has a pass of its own.
    assert [len(texts) for texts, _ in model.passes] == [2, 1, 1, 2, 1]


class Pair(Model):
    """The same with two processes."""

    size = 2

    def start(self, metrics: ServerMetrics) -> None:
        super().start(metrics)
        self._idle.put_nowait(1)


def test_long_requests_never_have_all_processes() -> None:
    async def main(model: Pair) -> None:
        batcher = DynamicBatcher(model, ServeSettings(window_ms=1), ServerMetrics())
        batcher.start()
        model.free.clear()
        asking = [asyncio.create_task(batcher.submit([LONG + name] * 3, PLAIN)) for name in "ab"]
        await begun(model)
        await settled()
        asking.append(asyncio.create_task(batcher.submit(["short"], PLAIN)))
        while len(model.passes) < 2:
            await asyncio.sleep(0.01)
        assert model.passes[1][0] == ["short"]
        model.free.set()
        assert [len(answers) for answers in await asyncio.gather(*asking)] == [3, 3, 1]
        await batcher.close()

    asyncio.run(main(Pair()))


def test_the_rest_of_a_long_request_is_dropped_when_its_client_leaves() -> None:
    async def test(batcher: DynamicBatcher, model: Model, metrics: ServerMetrics) -> None:
        model.free.clear()
        long = asyncio.create_task(batcher.submit([LONG + str(number) for number in range(4)], PLAIN))
        await begun(model)
        long.cancel()
        await asyncio.gather(long, return_exceptions=True)
        assert batcher.waiting == 0
        model.free.set()
        assert labels(await batcher.submit(["next"], PLAIN)) == ["next"]

    model, _ = batched(test, window_ms=1)
    assert [texts[0][-1] for texts, _ in model.passes] == ["0", "t"]


def test_a_request_that_would_take_far_too_long_is_refused_and_a_short_one_is_not() -> None:
    async def test(batcher: DynamicBatcher, model: Model, metrics: ServerMetrics) -> None:
        batcher._seconds_per_cost = 0.001
        # A text costs 4,000 and its characters: 250,000 + 4,000 make 254 s; 4 x 30 s are allowed.
        with pytest.raises(ApiError, match=r"the answer would take about 254 s, and 30 s \(answer_seconds\)"):
            await batcher.submit([LONG], PLAIN)
        assert labels(await batcher.submit(["short"], PLAIN)) == ["short"]

    model, metrics = batched(test, window_ms=1)
    assert [texts for texts, _ in model.passes] == [["short"]]
    assert metrics.registry.get_sample_value("seq2set_refused_total") == 1


def test_a_wrong_estimate_does_not_close_an_idle_server_for_good() -> None:
    async def test(batcher: DynamicBatcher, model: Model, metrics: ServerMetrics) -> None:
        batcher._seconds_per_cost = 1.0  # a process that was held up, say
        # 4,005 s by estimate; halved five times it is still 126 s, the sixth time 63 s, and 120 are allowed.
        for _ in range(6):
            with pytest.raises(ApiError, match="the answer would take about"):
                await batcher.submit(["short"], PLAIN)
        assert labels(await batcher.submit(["short"], PLAIN)) == ["short"]

    batched(test, window_ms=1)


def test_explaining_costs_by_the_label() -> None:
    # 4,000 + 1,000, and 300 + 1,000/10 = 400 for each label that is explained.
    assert estimate_cost("x" * 1000, PLAIN, 100) == 5000
    assert estimate_cost("x" * 1000, LabelRequest(explain=True), 100) == 5000 + 8 * 400
    assert estimate_cost("x" * 1000, LabelRequest(explain=True, candidates=1000), 100) == 5000 + 100 * 400
    assert estimate_cost("x" * 1000, LabelRequest(explain=True, top_k=3), 100) == 5000 + 3 * 400


def test_what_is_dropped_is_refused() -> None:
    async def test(batcher: DynamicBatcher, model: Model, metrics: ServerMetrics) -> None:
        model.free.clear()
        computed = asyncio.create_task(batcher.submit(["a"], PLAIN))
        await begun(model)
        queued = asyncio.create_task(batcher.submit(["b"], PLAIN))
        await settled()
        batcher.drop()
        for one in await asyncio.gather(computed, queued, return_exceptions=True):
            assert isinstance(one, ApiError)
            assert one.detail == "the server is stopping; try again in a moment"
        assert model.alive == 0

    batched(test, window_ms=1)


def test_processes_that_are_idle_share_what_waits() -> None:
    async def test(batcher: DynamicBatcher, model: Model, metrics: ServerMetrics) -> None:
        model.idle = 2  # beside the one that is taken
        await asyncio.gather(*(batcher.submit([name], PLAIN) for name in "abcdefg"))

    model, _ = batched(test, window_ms=50)
    # A third of seven, rounded up, then of four, then one is left: 3, 2, 1 and 1.
    assert [len(texts) for texts, _ in model.passes] == [3, 2, 1, 1]


def test_one_request_never_has_all_processes() -> None:
    async def test(batcher: DynamicBatcher, model: Model, metrics: ServerMetrics) -> None:
        model.size = 2
        model.give_back(1)
        model.free.clear()
        long = asyncio.create_task(batcher.submit([LONG + str(number) for number in range(3)], PLAIN))
        await begun(model)
        await settled()
        assert len(model.passes) == 1
        short = asyncio.create_task(batcher.submit(["short"], FEW))
        while len(model.passes) < 2:
            await asyncio.sleep(0.01)
        model.free.set()
        assert labels(await short) == ["short"]
        assert [text[-1] for text in labels(await long)] == ["0", "1", "2"]

    model, _ = batched(test, window_ms=1)
    assert [texts[0][-1] for texts, _ in model.passes] == ["0", "t", "1", "2"]
