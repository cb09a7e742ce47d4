"""A decoder on ONNX Runtime: the rows of a search go through the graph of one step, in blocks.

Letters: B documents, R rows, T places to attend to, V numbers per value, A attention units, H hidden units,
L labels, S labels of a sequence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from seq2set.core.errors import ModelFolderError, import_extra
from seq2set.nn.decoding.contributions import OutputLayer, StepReading, find_contributions
from seq2set.nn.decoding.prefixes import StepOutput, Symbols, log_softmax

Array = npt.NDArray[Any]

BLOCK = 1 << 19
"""How many sums of query and key a block of rows may have: 2 MiB of them stay in a CPU's cache."""


class Sessions:
    """The graphs of a model folder, opened; with one thread each unless told otherwise."""

    def __init__(self, folder: Path, files: Mapping[str, str], threads: int = 1):
        runtime = import_extra("onnxruntime", "onnx")
        options = runtime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = 3  # errors, which are raised as well
        # Shapes differ from batch to batch: what is kept for the last one would only take memory.
        options.enable_mem_pattern = options.enable_cpu_mem_arena = False
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._sessions, self._outputs = {}, {}
        for name, file in files.items():
            try:
                session = runtime.InferenceSession(str(folder / file), options, ["CPUExecutionProvider"])
            except Exception as error:  # the library raises nothing narrower
                raise ModelFolderError(f"{folder / file} is no graph that can be opened: {error}") from error
            self._sessions[name] = session
            self._outputs[name] = [one.name for one in session.get_outputs()]

    def __contains__(self, name: str) -> bool:
        return name in self._sessions

    def run(self, name: str, inputs: Mapping[str, Array], *wanted: str) -> dict[str, Array]:
        """Run a graph and return its outputs by name, all or those that are wanted."""
        names = wanted or self._outputs[name]
        return dict(zip(names, self._sessions[name].run(list(names), dict(inputs)), strict=True))

    def inputs(self, name: str) -> set[str]:
        """Return the names of a graph's inputs."""
        return {one.name for one in self._sessions[name].get_inputs()}

    def outputs(self, name: str) -> list[str]:
        """Return the names of a graph's outputs."""
        return self._outputs[name]


class AttendedSource(NamedTuple):
    """Something to attend to."""

    values: Array
    """(B, T, V)"""
    missing: Array
    """(B, T) 0 at the places that exist, else -inf"""

    @classmethod
    def of(cls, values: Array, there: Array) -> AttendedSource:
        """Make one of values and a mask (B, T), true at the places that exist."""
        return cls(values, np.where(there, np.float32(0), np.float32(-np.inf)))


class OnnxState(NamedTuple):
    """Where a decoder stands; all arrays have one row per row of the search."""

    inputs: dict[str, Array]
    """What the next step reads of it: layers side by side, contexts side by side"""
    output: Array
    """(R, H) s_t"""
    emitted: Array
    """(R, L + 1) the mask of eq. 7, or without a global embedding nothing (R, 0)"""

    def take(self, rows: Array) -> OnnxState:
        """Take some rows, each any number of times."""
        inputs = {name: part[rows] for name, part in self.inputs.items()}
        return OnnxState(inputs, self.output, self.emitted[rows])


class OnnxDecoder:
    """A `StepDecoder` bound to a batch of documents."""

    def __init__(
        self,
        sessions: Sessions,
        name: str,
        start: Array,
        sources: Sequence[AttendedSource],
        labels: int,
        bias: Array | None = None,
    ):
        self.labels, self.documents, self.bias = labels, len(start), bias
        self._sessions, self._step = sessions, f"{name}-step"
        self._feedback = "likely" in sessions.inputs(self._step)
        self._memory: dict[str, Array] = {}
        for number, source in enumerate(sources):
            self._memory |= {f"values{number}": source.values, f"missing{number}": source.missing}
        made = sessions.run(f"{name}-start", {"start": start, **self._memory})
        keys = {key: value for key, value in made.items() if key.startswith("keys")}
        self._memory |= keys
        self._room = max(1, BLOCK // max(1, sum(part[0].size for part in keys.values())))
        self._first = self._begin(made)

    def start(self) -> OnnxState:
        """Return s_0, one row per document."""
        return self._first

    def outputs(self, state: OnnxState) -> Array:
        """Return s_t of each row (R, H)."""
        return state.output

    def step(self, state: OnnxState, rows: Array, documents: Array, previous: Array) -> StepOutput:
        """Read symbols (R,) at rows (R,) of a state, and score the labels and `eos`."""
        taken = state.take(rows)
        made = self._run(taken, documents, previous)
        return StepOutput(self._follow(taken, made, documents, previous), made["logits"])

    def contributions_along(self, sequences: Array, layer: OutputLayer) -> Array:
        """Return what the words of the first source add to each label of sequences (B, S): (B, S, T)."""
        every, state = np.arange(self.documents), self._first
        emitted = np.zeros((self.documents, self.labels + 1), bool)
        previous, values = np.full(self.documents, Symbols(self.labels).bos), self._memory["values0"]
        steps = []
        for labels in sequences.T:
            made = self._run(state, every, previous, "attention")
            logits = made["logits"] if self.bias is None else made["logits"] + self.bias
            likely = np.exp(log_softmax(np.where(emitted, -np.inf, logits)))
            features = np.concatenate([made["output"], made["next_contexts"]], 1)
            reading = StepReading(features, made["attention"], values, likely)
            steps.append(find_contributions(reading, labels, layer))
            live = np.flatnonzero(labels < self.labels)
            emitted[live, labels[live]] = True
            state, previous = self._follow(state, made, every, previous), labels
        return np.stack(steps, 1) if steps else np.zeros((self.documents, 0, values.shape[1]), np.float32)

    def _run(self, state: OnnxState, documents: Array, previous: Array, *also: str) -> dict[str, Array]:
        """Run the graph of a step, in blocks of rows whose results stay in the cache."""
        wanted = [one for one in self._sessions.outputs(self._step) if one != "attention" or one in also]
        inputs = {"previous": previous.astype(np.int64), **state.inputs}
        blocks = [slice(at, at + self._room) for at in range(0, len(previous), self._room)]
        parts = [self._run_block(inputs, documents, block, wanted) for block in blocks]
        if len(parts) == 1:
            return parts[0]
        return {name: np.concatenate([part[name] for part in parts]) for name in wanted}

    def _run_block(
        self, inputs: dict[str, Array], documents: Array, block: slice, wanted: list[str]
    ) -> dict[str, Array]:
        feeds, of = {name: part[block] for name, part in inputs.items()}, documents[block]
        if self.documents > 1:  # a single document's memory is shared without copies
            memory = {name: part[of] for name, part in self._memory.items()}
        else:
            memory = self._memory
        return self._sessions.run(self._step, feeds | memory, *wanted)

    def _begin(self, made: Mapping[str, Array]) -> OnnxState:
        inputs = _carry(made)
        emitted = np.zeros((self.documents, self.labels + 1 if self._feedback else 0), bool)
        if self._feedback:  # no state emitted `bos`: it is mixed with itself
            inputs["likely"] = np.zeros((self.documents, Symbols(self.labels).inputs), np.float32)
            inputs["likely"][:, Symbols(self.labels).bos] = 1
        return OnnxState(inputs, np.zeros((self.documents, 0), np.float32), emitted)

    def _follow(
        self, before: OnnxState, made: Mapping[str, Array], documents: Array, previous: Array
    ) -> OnnxState:
        inputs, emitted = _carry(made), before.emitted
        if self._feedback:
            emitted = emitted.copy()
            labels = np.flatnonzero(previous < self.labels)
            emitted[labels, previous[labels]] = True
            logits = made["logits"] if self.bias is None else made["logits"] + self.bias[documents]
            likely = np.exp(log_softmax(np.where(emitted, -np.inf, logits)))
            inputs["likely"] = np.pad(likely, ((0, 0), (0, 2))).astype(np.float32)
        return OnnxState(inputs, made["output"], emitted)


def _carry(made: Mapping[str, Array]) -> dict[str, Array]:
    return {name.removeprefix("next_"): part for name, part in made.items() if name.startswith("next_")}
