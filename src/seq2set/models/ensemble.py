"""Several networks as one: they differ by the seeds of their training, and their scores are averaged.

An average has no sequence of its own, so that searches which give a set by themselves cannot run on it.

Letters: B documents, S labels, L labels in all, T words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from seq2set.config import Config
from seq2set.config.catalog import SEARCHES
from seq2set.config.schema import SearchSettings
from seq2set.core.errors import ConfigError, InputError
from seq2set.core.text_utils import join_names
from seq2set.models.neural import RuntimeNetwork, RuntimeOutput
from seq2set.models.tagger import Tensors
from seq2set.nn.decoding.searches import SearchResult

Weights = Mapping[str, npt.NDArray[Any]]
Value = TypeVar("Value")


@dataclass(frozen=True)
class EnsembleNetwork:
    """Networks that were trained alike."""

    members: Sequence[RuntimeNetwork]

    @property
    def decodes(self) -> bool:
        """Whether they have decoders."""
        return self.members[0].decodes

    @property
    def max_labels(self) -> int | None:
        """How many labels their decoders may emit."""
        return self.members[0].max_labels

    def read(
        self,
        ids: npt.NDArray[np.int64],
        lengths: npt.NDArray[np.int64],
        margins: npt.NDArray[np.float32] | None = None,
    ) -> EnsembleOutput:
        """Read documents (B, T) of `lengths` (B,) words, with a prior's margins (B, L) where there is one."""
        return EnsembleOutput([member.read(ids, lengths, margins) for member in self.members], self.decodes)

    def tensors(self) -> Tensors:
        """Return the weights of all, each name behind the number of its network."""
        named = enumerate(member.tensors() for member in self.members)
        return {f"{number}/{name}": value for number, weights in named for name, value in weights.items()}


@dataclass(frozen=True)
class EnsembleOutput:
    """What the networks made of a batch of documents."""

    outputs: Sequence[RuntimeOutput]
    decodes: bool

    def search(self, name: str, settings: SearchSettings, least: int = 0) -> SearchResult:
        """Return the mean of the networks' scores (B, L)."""
        if self.decodes and SEARCHES[name].decides:
            raise InputError(
                f"search is '{name}', but this model is an ensemble of {len(self.outputs)} networks, whose "
                f"scores are averaged; it must be {_list_allowed()}"
            )
        found = [output.search(name, settings, least) for output in self.outputs]
        scores = np.mean([one.scores for one in found], axis=0)
        # As many sets as one network drew: of each network every second, third and so on.
        drawn = [one.drawn[:, at :: len(found)] for at, one in enumerate(found) if one.drawn is not None]
        return SearchResult(scores.astype(np.float32), None, np.concatenate(drawn, 1) if drawn else None)

    def attributions(self, sequences: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """Return the mean of what each word adds to each label of sequences (B, S): (B, S, T)."""
        added = [output.attributions(sequences) for output in self.outputs]
        return np.asarray(np.mean(added, axis=0), np.float32)


def name_members(one: Mapping[str, Value], count: int) -> dict[str, Value]:
    """Return under the names of all networks what holds of each; one alone has plain names."""
    if count == 1:
        return dict(one)
    return {f"{number}/{name}": value for number in range(count) for name, value in one.items()}


def join_networks(members: Sequence[RuntimeNetwork]) -> RuntimeNetwork:
    """Return one network for several; one alone stays as it is."""
    return members[0] if len(members) == 1 else EnsembleNetwork(members)


def restore_members(
    weights: Weights, count: int, restore: Callable[[Weights], RuntimeNetwork]
) -> RuntimeNetwork:
    """Put `count` networks together again from the weights of all."""
    if count == 1:
        return restore(weights)
    split = (
        {
            name.removeprefix(f"{number}/"): one
            for name, one in weights.items()
            if name.startswith(f"{number}/")
        }
        for number in range(count)
    )
    return EnsembleNetwork([restore(own) for own in split])


def refuse_misfit(config: Config) -> None:
    """Refuse an ensemble whose search gives a set by itself, before it is trained."""
    search = config.name_parts().get("search")  # a model without sequences to learn has none
    if config.ensemble > 1 and search and SEARCHES[search].decides:
        raise ConfigError(
            [
                f"search.name is '{search}' and ensemble is {config.ensemble}; the scores of several "
                f"networks are averaged, so that it must be {_list_allowed()}"
            ]
        )


def _list_allowed() -> str:
    return join_names([name for name, row in SEARCHES.items() if not row.decides])
