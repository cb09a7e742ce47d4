"""Each label's probability of being in the set, whatever its place: its marginal over sampled sequences.

A label is emitted at most once, so that its marginal is the expected sum, over the steps, of its probability
given the labels before. That sum is averaged over samples: the same mean as counting in how many samples the
label occurs, but with far less noise, and different for labels that no sample happened to draw.

All documents use the same random numbers, drawn from a seed, so that a document's marginals depend neither
on its batch nor on the run.

Letters: B documents, K samples a document, L labels.
"""

from __future__ import annotations

import torch
from torch import Tensor

from seq2set.nn.decoding.policy import Policy, S
from seq2set.nn.decoding.rollout import Picked, Turn, counted, gumbel_noise, roll_out


@torch.no_grad()
def marginals(policy: Policy[S], samples: int, *, seed: int = 1, max_steps: int | None = None) -> Tensor:
    """Estimate each label's marginal (B, L) from `samples` sequences a document."""
    generator = torch.Generator().manual_seed(seed)
    sums = torch.zeros(policy.documents, samples, policy.labels, device=policy.device)

    def draw(turn: Turn) -> Picked:
        chances = turn.log_probs[..., :-1].exp().masked_fill(turn.finished[..., None], 0.0)
        sums.index_put_((turn.documents[:, None], turn.hypotheses), chances, accumulate=True)
        noise = gumbel_noise(samples, policy.labels + 1, generator).to(policy.device)
        # The likeliest after Gumbel noise is a draw from the distribution itself.
        return counted(turn, (turn.log_probs + noise[turn.hypotheses]).argmax(-1))

    roll_out(policy, draw, hypotheses=samples, max_steps=max_steps)
    return sums.mean(1).clamp(0, 1)
