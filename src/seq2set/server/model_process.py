"""A model in a process of its own: it opens the model, describes it, and answers one batch after the other.

The front writes batches to its standard input and reads answers from its standard output, both as messages
of JSON and bytes. When its input ends, because the front has closed it or was killed, the process ends at
once, whatever it computes. So it does when the model breaks in a way that leaves it in doubt, such as a panic
in the tokenizer: the front starts another.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Any, NamedTuple

from seq2set.core.errors import InputError, Seq2SetError
from seq2set.server.answers import INTERNAL, Answer, LabelRequest

_log = logging.getLogger(__name__)
_LENGTH = 4  # bytes before each head

LONG_PRIORITY = 10
"""By how much long requests are nicer than others; they get a tenth of a core that others want, too."""

IDLE_SECONDS = 1.0
"""How long nothing is asked of a model process before it gives memory back."""


class Message(NamedTuple):
    """Named values, and parts that are passed on as they are."""

    head: dict[str, Any]
    parts: list[bytes]


def write_message(stream: IO[bytes], head: Mapping[str, Any], parts: Sequence[bytes] = ()) -> None:
    """Write a message, which the other end reads whole."""
    first = json.dumps({**head, "sizes": [len(part) for part in parts]}).encode()
    stream.write(b"".join((len(first).to_bytes(_LENGTH, "big"), first, *parts)))
    stream.flush()


def read_message(stream: IO[bytes]) -> Message:
    """Read the next message; raise EOFError where the other end is gone."""
    head = json.loads(_read(stream, int.from_bytes(_read(stream, _LENGTH), "big")))
    return Message(head, [_read(stream, size) for size in head.pop("sizes")])


def _read(stream: IO[bytes], size: int) -> bytes:
    found = stream.read(size)
    if len(found) < size:
        raise EOFError
    return found


class TextBatch(NamedTuple):
    """Texts that are asked the same."""

    texts: Sequence[str]
    request: LabelRequest
    long: bool = False
    """Whether it is a part of a long request, which others should not feel"""

    def write(self, stream: IO[bytes]) -> None:
        """Send it to a model process."""
        head = {"request": asdict(self.request), "long": self.long}
        write_message(stream, head, [text.encode("utf-8", "surrogatepass") for text in self.texts])

    @classmethod
    def from_message(cls, message: Message) -> TextBatch:
        """Read it back."""
        texts = [part.decode("utf-8", "surrogatepass") for part in message.parts]
        return cls(texts, LabelRequest(**message.head["request"]), message.head["long"])


def read_answers(message: Message) -> list[bytes]:
    """Return each text's answer as JSON, or raise what went wrong."""
    if "refused" in message.head:
        raise InputError(message.head["refused"])
    if "failed" in message.head:
        raise RuntimeError(message.head["failed"])
    return message.parts


Work = Callable[[Sequence[str], LabelRequest], list[Answer]]


def answer_batch(work: Work, batch: TextBatch, stream: IO[bytes]) -> None:
    """Compute a batch and write its answers, or why there are none."""
    try:
        answers = work(batch.texts, batch.request)
    except InputError as error:
        write_message(stream, {"refused": str(error)})
    except Exception:
        _log.exception("a batch failed")
        write_message(stream, {"failed": INTERNAL})
    else:
        lines = (
            json.dumps(one.to_dict(batch.request), ensure_ascii=False, separators=(",", ":"))
            for one in answers
        )
        write_message(stream, {}, [line.encode("utf-8", "replace") for line in lines])


def serve_batches(model: Path, runtime: str, most: int, source: IO[bytes], target: IO[bytes]) -> None:
    """Open the model, describe it, and answer batches of up to `most` texts until the process ends."""
    batches: SimpleQueue[TextBatch] = SimpleQueue()
    threading.Thread(target=_receive, args=(source, batches), daemon=True).start()
    try:
        from seq2set.server.answers import Answerer
        from seq2set.server.served_model import HeldMemory, make_largest_pass, open_served

        predictor, served = open_served(model, runtime)
        answerer = Answerer(predictor.tagger)
        memory = HeldMemory(lambda: make_largest_pass(answerer, most))
    except Seq2SetError as error:
        write_message(target, {"error": str(error), "code": error.exit_code})
        return
    write_message(target, served.to_dict())
    # A thread that has lowered its priority may not raise it again, so there is another for long requests.
    with ThreadPoolExecutor(1, initializer=lower_priority) as background:
        while True:
            batch = take_batch(batches, memory.restore)
            if batch.long:
                background.submit(answer_batch, answerer, batch, target).result()
            else:
                answer_batch(answerer, batch, target)


def lower_priority() -> None:
    """Let other threads and processes go first, where each thread has a priority of its own (Linux)."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), min(19, os.nice(0) + LONG_PRIORITY))


def take_batch(
    batches: SimpleQueue[TextBatch], release: Callable[[], object], seconds: float = IDLE_SECONDS
) -> TextBatch:
    """Wait for a batch; where none comes for a while, the memory of those before is given back once."""
    try:
        return batches.get(timeout=seconds)
    except Empty:
        release()
        return batches.get()


def _receive(source: IO[bytes], batches: SimpleQueue[TextBatch]) -> None:
    try:
        while True:
            batches.put(TextBatch.from_message(read_message(source)))
    finally:
        os._exit(0)  # whatever is being computed: nobody waits for it


def main() -> None:
    """Serve the model that the command names."""
    target = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not be taken for an answer
    try:
        model, runtime, most = sys.argv[1:]
        serve_batches(Path(model), runtime, int(most), sys.stdin.buffer, target)
    except BaseException:  # such as a panic of the tokenizer, which is no Exception
        _log.critical("the model broke", exc_info=True)
    finally:
        os._exit(1)  # at once: the thread that reads would be waited for


if __name__ == "__main__":
    main()
