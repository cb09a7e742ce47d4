"""A process that computes blocks: it reads them as lines of JSON and writes the results as others.

The first line names the model and the request. The process ends when its standard input does, so that none
outlives the one that started it.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import IO, Any

from seq2set.core.errors import InputError, Seq2SetError, WorkError
from seq2set.core.hardware import limit_threads


def serve_blocks(source: IO[bytes], target: IO[bytes]) -> None:
    """Compute every block of `source`; what cannot be computed is answered by a sentence."""
    hello = json.loads(source.readline())
    try:
        from seq2set.inference.engines.blocks import predict_block, to_plain
        from seq2set.inference.predictor import Predictor
        from seq2set.models.predictions import Request

        limit_threads()
        predictor = Predictor.open(Path(hello["model"]), hello.get("runtime", "auto"))
        request = Request(**hello["request"])
        for line in source:
            _write(target, to_plain(predict_block(predictor, json.loads(line), request)))
    except Exception as error:
        _write(target, describe_error(error))


def describe_error(error: Exception) -> dict[str, Any]:
    """Return what a worker could not do; a fault of the program would come again with the same texts."""
    if isinstance(error, Seq2SetError):
        return {"error": str(error), "code": error.exit_code}
    return {"error": f"{type(error).__name__}: {error}", "code": WorkError.exit_code}


def raise_error(answer: dict[str, Any]) -> None:
    """Raise what a worker could not do, if its answer says so."""
    if "error" in answer:
        raise (InputError if answer["code"] == InputError.exit_code else WorkError)(answer["error"])


def _write(target: IO[bytes], answer: dict[str, Any]) -> None:
    target.write(json.dumps(answer).encode() + b"\n")
    target.flush()


def main() -> None:
    """Serve the process that started this one."""
    target = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not be taken for an answer
    serve_blocks(sys.stdin.buffer, target)


if __name__ == "__main__":
    main()
