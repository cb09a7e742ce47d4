"""What all networks share: the face that training and prediction see, and how one is built from settings.

Letters: B documents, T words, S labels, L labels in all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from seq2set.config import Config
from seq2set.config.catalog import ENCODERS, find_model
from seq2set.config.schema import SearchSettings
from seq2set.core.names import find_named, load_named
from seq2set.core.tensor_files import TensorForm
from seq2set.models.ensemble import Weights, name_members, restore_members
from seq2set.models.neural import RuntimeNetwork
from seq2set.nn.decoder import AttentionDecoder, DecoderPolicy
from seq2set.nn.decoding.searches import SearchResult, run_search
from seq2set.nn.decoding.teacher_forcing import find_contributions_along, score_sequences
from seq2set.nn.decoding.torch_decoder import TorchDecoder
from seq2set.nn.encoders import Encoder
from seq2set.objectives.losses import compute_likelihood_loss

_KINDS = {torch.float32: "F32", torch.int64: "I64", torch.bool: "BOOL"}


class NetworkOutput(Protocol):
    """What a network made of a batch of documents."""

    def likelihood(self, sequences: Tensor, gold: Tensor) -> Tensor:
        """Return the loss of the right labels: in the order to learn (B, S), padded, and as sets (B, L)."""

    def search(self, name: str, settings: SearchSettings, least: int = 0) -> SearchResult:
        """Search the label sets by the search of this name, each of at least `least` labels."""

    def attributions(self, sequences: Tensor) -> Tensor:
        """Return what each word adds to the logit of each label of sequences (B, S): (B, S, T)."""


class Network(nn.Module):
    """Turns `ids` (B, T), `lengths` (B,) and a prior's margins, if any, into a `NetworkOutput`."""

    decodes: ClassVar[bool] = True
    """Whether there is a decoder to search; without one, scores are all there is."""
    encoder: Encoder
    """What reads the words"""
    max_labels: int | None
    """How many labels a decoder may emit"""

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return next(self.parameters()).device

    @torch.inference_mode()
    def read(
        self, ids: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64], margins: Any = None
    ) -> TorchOutput:
        """Read documents for prediction, without dropout and gradients."""
        self.eval()
        inputs = (None if part is None else torch.from_numpy(part) for part in (ids, lengths, margins))
        moved = [None if part is None else part.to(self.device) for part in inputs]
        return TorchOutput(self(*moved), self.device)

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Return its weights."""
        return {name: value.numpy(force=True) for name, value in self.state_dict().items()}


@dataclass(frozen=True)
class TorchOutput:
    """A network's output for prediction: arrays in, arrays out."""

    output: NetworkOutput
    device: torch.device

    @torch.inference_mode()
    def search(self, name: str, settings: SearchSettings, least: int = 0) -> SearchResult:
        """Search the label sets by the search of this name, each of at least `least` labels."""
        return self.output.search(name, settings, least)

    @torch.inference_mode()
    def attributions(self, sequences: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """Return what each word adds to the logit of each label of sequences (B, S): (B, S, T)."""
        added = self.output.attributions(torch.from_numpy(sequences).to(self.device))
        found: npt.NDArray[np.float32] = added.float().numpy(force=True)
        return found


@dataclass(frozen=True)
class DecoderOutput:
    """The output of a network that answers by a decoder."""

    final: DecoderPolicy
    """The decoder whose labels are the model's answer"""
    most: int | None
    """How many labels it may emit"""

    def likelihood(self, sequences: Tensor, gold: Tensor) -> Tensor:  # noqa: ARG002 (an order has the sets)
        """Return the likelihood loss of the right labels (B, S) in their order."""
        return compute_ordered_likelihood(self.final, sequences)

    def search(self, name: str, settings: SearchSettings, least: int = 0) -> SearchResult:
        """Search the decoder, which goes on where a set is too small."""
        return run_search(name, TorchDecoder(self.final), settings, self.most, least)

    def attributions(self, sequences: Tensor) -> Tensor:
        """Return what the words that the decoder read add to each label (B, S)."""
        return find_contributions_along(self.final, sequences)


def compute_ordered_likelihood(policy: DecoderPolicy, sequences: Tensor) -> Tensor:
    """Return L(phi): the likelihood loss of a decoder for the right labels (B, S) in the order to learn."""
    return compute_likelihood_loss(score_sequences(policy, sequences).steps)


def build_network(config: Config, words: int, labels: int, max_labels: int | None = None) -> Network:
    """Build the network that the settings describe, with random weights; it emits up to `max_labels`."""
    network: Network = load_named(find_model(config.model).network)(config, words, labels, max_labels)
    return network


class _WithoutValues(TorchFunctionMode):
    """Draws no first weights for tensors that have no memory: torch would load its compiler for that."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        first = next(iter((*args, *(kwargs or {}).values())), None)
        in_place = func.__name__.endswith("_") and not func.__name__.startswith("_")
        if in_place and isinstance(first, Tensor) and first.is_meta:
            return first
        return func(*args, **(kwargs or {}))


def list_network_forms(
    config: Config, words: int, labels: int, max_labels: int | None
) -> dict[str, TensorForm]:
    """Return the forms of the networks' weights; none are made, so that no size is too large to ask for."""
    with torch.device("meta"), _WithoutValues():
        network = build_network(config, words, labels, max_labels)
    tensors = network.state_dict().items()
    forms = {name: TensorForm(_KINDS[one.dtype], tuple(one.shape)) for name, one in tensors}
    return name_members(forms, config.ensemble)


def restore_networks(
    config: Config, words: int, labels: int, max_labels: int | None, weights: dict[str, npt.NDArray[Any]]
) -> RuntimeNetwork:
    """Build the networks that the settings describe, with saved weights; several are an ensemble."""

    def restore(own: Weights) -> Network:
        network = build_network(config, words, labels, max_labels)
        try:
            network.load_state_dict({name: torch.from_numpy(value) for name, value in own.items()})
        except RuntimeError as error:  # names or shapes
            raise ValueError(f"the weights are not those of the settings: {error}") from error
        return network.requires_grad_(False)  # what cannot change is prepared for steps once

    return restore_members(weights, config.ensemble, restore)


def build_encoder(config: Config, words: int) -> Encoder:
    """Build the encoder that the settings name, for a vocabulary of so many words."""
    row = find_named("encoder", config.encoder.kind, ENCODERS)
    encoder: Encoder = load_named(row.build)(config, count_vectors(config, words))
    return encoder


def count_vectors(config: Config, words: int) -> int:
    """Return how many words of a vocabulary have a vector, padding and the unknown word among them."""
    return min(words, config.encoder.words + 2)


def build_decoder(config: Config, labels: int, sources: Sequence[int], start: int) -> AttentionDecoder:
    """Build a decoder that attends to sources of these sizes, and begins with `start` numbers."""
    sizes = config.decoder.model_dump() | {"attention": config.decoder.attention or config.decoder.hidden}
    return AttentionDecoder(labels, sources=sources, start=start, **sizes)
