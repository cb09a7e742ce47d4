"""The searches of prediction as tests take them: a policy in, tensors out."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from seq2set.nn.decoder import DecoderPolicy
from seq2set.nn.decoding import beam, prefixes
from seq2set.nn.decoding.prefixes import StepDecoder
from seq2set.nn.decoding.rollout import label_masks
from seq2set.nn.decoding.torch_decoder import TorchDecoder


class Found(NamedTuple):
    labels: Tensor
    lengths: Tensor
    log_prob: Tensor
    set_log_prob: Tensor

    def masks(self, labels: int) -> Tensor:
        return label_masks(self.labels, labels)


def open_policy(policy: Any) -> StepDecoder:
    return TorchDecoder(policy) if isinstance(policy, DecoderPolicy) else policy.open()


def beam_search(policy: Any, **options: Any) -> Found:
    return _to_torch(beam.beam_search(open_policy(policy), **options), policy.labels)


def set_beam_search(policy: Any, **options: Any) -> Found:
    return _to_torch(beam.set_beam_search(open_policy(policy), **options), policy.labels)


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
