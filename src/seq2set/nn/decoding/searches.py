"""Greedy and sampled decoding.

Letters: B documents, K samples a document.
"""

from __future__ import annotations

import torch

from seq2set.errors import InputError
from seq2set.nn.decoding.policy import Policy, S
from seq2set.nn.decoding.rollout import Picked, Rollout, Turn, counted, roll_out, without_hypotheses


def greedy(
    policy: Policy[S],
    *,
    max_steps: int | None = None,
    keep_states: bool = False,
    keep_attention: bool = False,
) -> Rollout:
    """Emit the likeliest symbol at each step."""
    rollout = roll_out(
        policy, _likeliest, max_steps=max_steps, keep_states=keep_states, keep_attention=keep_attention
    )
    return without_hypotheses(rollout)


def sample(
    policy: Policy[S],
    *,
    samples: int = 1,
    temperature: float = 1.0,
    generator: torch.Generator | None = None,
    max_steps: int | None = None,
    keep_attention: bool = False,
) -> Rollout:
    """Draw `samples` sequences a document; a temperature below 1 sharpens the draw, but not `log_prob`."""
    if samples < 1:
        raise InputError(f"samples is {samples}; it must be >= 1")
    if not 0 < temperature < float("inf"):
        raise InputError(f"temperature is {temperature}; it must be > 0 and finite")

    def draw(turn: Turn) -> Picked:
        weights = torch.softmax(turn.log_probs.detach() / temperature, -1).flatten(0, 1)
        symbols = torch.multinomial(weights, 1, generator=generator).view(turn.log_probs.shape[:2])
        return counted(turn, symbols)

    return roll_out(policy, draw, hypotheses=samples, max_steps=max_steps, keep_attention=keep_attention)


def _likeliest(turn: Turn) -> Picked:
    return counted(turn, turn.log_probs.argmax(-1))
