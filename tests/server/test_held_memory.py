from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from seq2set.benchmarks.inputs import save_made_model
from seq2set.config.run_folder import RunFolder
from seq2set.core.hardware import KEPT_HEAP
from seq2set.server import served_model
from seq2set.server.answers import LabelRequest
from seq2set.server.model_pool import ModelPool
from seq2set.server.served_model import CHARS, SECONDS, SLACK, HeldMemory, make_largest_pass

MEASURE = """
import json, sys
from pathlib import Path
from seq2set.server.answers import Answerer, LabelRequest
from seq2set.server.served_model import HeldMemory, make_largest_pass, open_served

def read(name):
    lines = (line.split() for line in Path("/proc/self/status").read_text().splitlines())
    return next(int(line[1]) for line in lines if line[0] == name)

answer = Answerer(open_served(Path(sys.argv[1])).predictor.tagger)
memory = HeldMemory(lambda: make_largest_pass(answer, 64))
plain, explained = LabelRequest(), LabelRequest(explain=True, top_k=8)
grown = []
for request, texts in (
    (plain, ["w7 w9 " * 250] * 64), (plain, ["w7 w9 " * 2_750] * 6), (plain, ["a " * 750] * 64),
    (explained, ["a " * 49_500]),
):
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = read("VmRSS:")
    answer(texts, request)
    grown.append(read("VmHWM:") - before)
print(json.dumps(grown))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts kilobytes")
def test_no_request_needs_much_more_memory_than_the_largest_pass_had(tmp_path: Path) -> None:
    save_made_model(tmp_path / "model")
    command = [sys.executable, "-c", MEASURE, str(tmp_path / "model")]
    environment = {**os.environ, **KEPT_HEAP, "OMP_NUM_THREADS": "1"}
    grown = json.loads(subprocess.check_output(command, env=environment, text=True))
    # They took 78, 16, 11 and 8 MB. Now it is 0 to 1 MB, and some more where memory is cut unluckily.
    assert max(grown) < 6_000


class Answers:
    """What is asked of a model in the place of which this stands."""

    def __init__(self, seconds: float = 0.0):
        self.seen: list[list[str]] = []
        self.clock, self._seconds = 0.0, seconds

    def __call__(self, texts: Sequence[str], request: LabelRequest) -> list[Any]:
        self.seen.append(list(texts))
        self.clock += self._seconds * len(texts)
        return []


@pytest.mark.parametrize(
    ("seconds", "most", "counts"),
    [
        (0.0, 64, [1, 2, 4, 8, 16, 32, 64, 1, 64, 1]),
        (0.0, 6, [1, 2, 4, 1, 6, 1]),
        (SECONDS / 10, 64, [1, 2, 4, 8, 16, 32, 64, 1, 10, 1]),  # more than ten would take too long
        (2 * SECONDS, 64, [1, 2, 4, 8, 16, 32, 64, 1, 1, 1]),
    ],
)
def test_the_largest_pass_has_as_many_texts_as_there_is_time_for(
    monkeypatch: pytest.MonkeyPatch, seconds: float, most: int, counts: list[int]
) -> None:
    answers = Answers(seconds)
    monkeypatch.setattr(served_model, "time", SimpleNamespace(process_time=lambda: answers.clock))
    make_largest_pass(answers, most)  # type: ignore[arg-type]
    assert [len(texts) for texts in answers.seen] == counts
    assert {len(texts[0]) for texts in answers.seen[-2:]} == {CHARS // counts[-2], CHARS}


def test_what_goes_beyond_the_largest_pass_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int | None] = [1000, 1000 + SLACK, 1001 + SLACK, 900, 900 + SLACK]
    done: list[str] = []
    monkeypatch.setattr(served_model, "read_resident_memory", lambda: sizes.pop(0))
    monkeypatch.setattr(served_model, "release_memory", lambda: done.append("release"))
    memory = HeldMemory(lambda: done.append("pass"))
    memory.restore()  # 1000 + SLACK is not beyond it
    assert done == ["release", "pass"]
    memory.restore()
    assert done == ["release", "pass"] * 2
    memory.restore()  # 900 is what the second pass had
    assert (done, sizes) == (["release", "pass"] * 2, [])
    sizes += [None]
    memory.restore()  # a system that does not say how much there is
    assert done[4:] == ["release"]


@pytest.mark.skipif(sys.platform != "linux", reason="reads the environment of another process")
def test_model_processes_have_one_heap_unless_the_user_says_otherwise(
    br_run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "77")
    with ModelPool(br_run.path, 1) as pool:
        (process,) = pool._started
        known = Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
    assert b"MALLOC_ARENA_MAX=1" in known
    assert b"MALLOC_TRIM_THRESHOLD_=77" in known
