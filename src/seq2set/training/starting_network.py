"""A network whose training begins with the weights of another one instead of random ones.

Words keep their numbers: the vocabulary is that of the other network. Labels are matched by name, wherever
they stand in either; what belongs to a label that the other network does not have begins at random.

Letters: L labels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from seq2set.config import Config
from seq2set.config.loader import list_changes
from seq2set.core.errors import ConfigError
from seq2set.labels.labels import Labels
from seq2set.models.ensemble import EnsembleNetwork
from seq2set.models.network import Network, build_network
from seq2set.models.neural import NeuralTagger
from seq2set.text.vocabulary import UNK
from seq2set.training.examples import EncodedExamples

SHAPING = ("model:", "ensemble:", "text.", "encoder.", "cnn.", "decoder.", "set_decoder.", "prior.enabled:")
"""The settings that a network's weights depend on, as `list_changes` writes them."""


class StartingNetwork(NamedTuple):
    """A trained network that another training begins from."""

    tagger: NeuralTagger
    name: str

    def refuse_other_texts(self, config: Config) -> None:
        """Refuse settings of another model, or of texts that are read in another way."""
        then = self.tagger.config
        if (then.model, then.text) != (config.model, config.text) or then.ensemble not in (
            1,
            config.ensemble,
        ):
            raise self._describe_misfit(config)

    def describe(self, labels: Labels, learn: EncodedExamples) -> str:
        """Say what of the network goes on, and how much of the texts it cannot read."""
        old, new = set(self.tagger.labels.names), set(labels.names)
        words = sum(map(len, learn.words))
        unknown = sum(int((one == UNK).sum()) for one in learn.words) / max(words, 1)
        return (
            f"the training begins from {self.name}: {len(old & new):,} of its {len(old):,} labels go on, "
            f"{len(old - new):,} without a document here are dropped, {len(new - old):,} are new; "
            f"{unknown:.1%} of the words are unknown to it"
        )

    @torch.no_grad()
    def lend_weights(
        self, network: Network, config: Config, words: int, labels: Labels, member: int = 0
    ) -> None:
        """Put the weights into a network that was built with these settings, words and labels.

        A `member` of an ensemble has those of the member with its number, or of the only network there is.
        """
        source = self.tagger.network
        if isinstance(source, EnsembleNetwork):
            source = source.members[member]
        lent, old = source.tensors(), self.tagger.labels
        own, axes = network.state_dict(), _find_label_axes(config, words, len(labels))
        if lent.keys() != own.keys():
            raise self._describe_misfit(config)
        kept = [number for number, name in enumerate(labels.names) if old.index(name) is not None]
        places = [old.index(labels.names[number]) for number in kept]
        for name, value in own.items():
            weight, axis = torch.from_numpy(np.asarray(lent[name])), axes[name]
            if _measure(weight, axis, len(old)) != _measure(value, axis, len(labels)):
                raise self._describe_misfit(config)
            if axis is None:
                value.copy_(weight)
                continue
            # Behind the labels stand the ends of a sequence, in the same order in every network.
            ends = value.shape[axis] - len(labels)
            to = torch.tensor([*kept, *range(len(labels), len(labels) + ends)], dtype=torch.long)
            at = torch.tensor([*places, *range(len(old), len(old) + ends)], dtype=torch.long)
            value.index_copy_(axis, to, weight.index_select(axis, at))

    def _describe_misfit(self, config: Config) -> ConfigError:
        changes = [one for one in list_changes(self.tagger.config, config) if one.startswith(SHAPING)]
        what = "; ".join(changes) or "its weights have other names or sizes"
        return ConfigError(
            [f"{self.name} cannot be trained further with these settings: {what}; leave them as they were"]
        )


def _find_label_axes(config: Config, words: int, labels: int) -> dict[str, int | None]:
    """Return the axis of each weight that grows with the labels; None where it does not."""
    with torch.device("meta"):  # shapes alone
        one, more = (build_network(config, words, size).state_dict() for size in (labels, labels + 1))
    return {
        name: next((axis for axis, size in enumerate(value.shape) if more[name].shape[axis] != size), None)
        for name, value in one.items()
    }


def _measure(weight: Tensor, axis: int | None, labels: int) -> list[int]:
    """Return the sizes of a weight, without its labels."""
    return [size - labels if place == axis else size for place, size in enumerate(weight.shape)]
