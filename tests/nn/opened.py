"""The searches of prediction as tests take them: a policy in, tensors out."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from seq2set.nn.decoder import DecoderPolicy
from seq2set.nn.decoding import beam, prefixes
from seq2set.nn.decoding.prefixes import StepDecoder
from seq2set.nn.decoding.rollout import mark_labels
from seq2set.nn.decoding.torch_decoder import TorchDecoder


class Found(NamedTuple):
    labels: Tensor
    lengths: Tensor
    log_prob: Tensor
    set_log_prob: Tensor

    def masks(self, labels: int) -> Tensor:
        return mark_labels(self.labels, labels)


def open_policy(policy: Any) -> StepDecoder:
    return TorchDecoder(policy) if isinstance(policy, DecoderPolicy) else policy.open()


def search_beam(policy: Any, **options: Any) -> Found:
    return _to_torch(beam.search_beam(open_policy(policy), **options), policy.labels)


def search_set_beam(policy: Any, **options: Any) -> Found:
    return _to_torch(beam.search_set_beam(open_policy(policy), **options), policy.labels)


def _to_torch(found: beam.Hypotheses, labels: int) -> Found:
    tensors = Found(*map(torch.from_numpy, found))
    assert torch.equal(tensors.masks(labels), torch.from_numpy(found.masks(labels)))
    return tensors


def decode_greedily(policy: Any, **options: Any) -> Found:
    found = prefixes.decode_greedily(open_policy(policy), **options)
    log_prob = torch.from_numpy(found.steps).sum(1)
    return Found(torch.from_numpy(found.labels), torch.from_numpy(found.lengths), log_prob, log_prob)


def estimate_marginals(policy: Any, samples: int, **options: Any) -> Tensor:
    return torch.from_numpy(prefixes.estimate_marginals(open_policy(policy), samples, **options))
