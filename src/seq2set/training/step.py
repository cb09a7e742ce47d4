"""What one batch adds to the loss in each phase: the objectives put together with the network.

Letters: B documents, K samples per document, L labels.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from seq2set.config import Config
from seq2set.config.catalog import REWARDS
from seq2set.models.network import Network, NetworkOutput, compute_ordered_likelihood
from seq2set.models.seq2set import Policies
from seq2set.nn.decoder import DecoderPolicy
from seq2set.nn.decoding.rollout import Rollout, roll_out_greedily, sample
from seq2set.nn.decoding.teacher_forcing import score_sets
from seq2set.nn.noise import use_keys
from seq2set.objectives.losses import (
    compute_likelihood_loss,
    compute_self_critical_loss,
    leave_one_out,
    mix_policy_loss,
    mix_total_loss,
)
from seq2set.objectives.rewards import Reward, RunningF1, get_reward, sum_sets
from seq2set.training.examples import TrainingBatch

SAME_REWARD = 1e-6
"""Rewards that lie nearer together differ by rounding alone."""

Phase = Literal["likelihood", "warm-start", "self-critical"]


class Losses(NamedTuple):
    """A batch's loss, and what is worth watching beside it."""

    total: Tensor
    reward: Tensor | None = None
    """The mean reward of the samples, where there were any"""
    signal: Tensor | None = None
    """The share of documents that the policy gradient can learn from: one of their samples was better or
    worse than its baseline"""
    sums: Tensor | None = None
    """What the samples add to the micro-F1 of the run (4,), where the reward asks for it"""


class TrainingStep(nn.Module):
    """The network with its losses as its forward pass, so that data-parallel wrappers see one module."""

    def __init__(self, network: Network, config: Config):
        super().__init__()
        self.network, self.objective = network, config.objective
        self.free_order = config.warm_start.likelihood == "order-free"
        self.has_dropout = config.encoder.dropout > 0 or config.decoder.dropout > 0

    def forward(
        self,
        batch: TrainingBatch,
        phase: Phase,
        generator: torch.Generator,
        so_far: RunningF1 | None = None,
        keys: Tensor | None = None,
    ) -> Losses:
        """Return the loss of a batch; `so_far` is how the run did before it.

        With `keys` (B,) of its documents, what is dropped and sampled depends on them alone.
        """
        with use_keys(keys):
            policies: NetworkOutput = self.network(batch.ids, batch.lengths, batch.margins)
            if phase == "likelihood":
                return Losses(policies.likelihood(batch.sequences, batch.gold))
            assert isinstance(policies, Policies), "only the set models have other phases"
            if phase == "warm-start":
                loss = self._compute_likelihood(policies.final, batch)
                return Losses(loss + _compute_sequence_loss(policies, batch))
            reward = get_reward(self.objective.reward, so_far)
            rewarded = self._compute_self_critical(policies.final, batch, generator, reward)
            loss, share = rewarded.total, self.objective.likelihood_share
            if share:
                loss = mix_policy_loss(loss, self._compute_likelihood(policies.final, batch), share)
            if policies.sequence is not None:
                loss = mix_total_loss(_compute_sequence_loss(policies, batch), loss, self.objective.lambda_)
            return rewarded._replace(total=loss)

    def _compute_likelihood(self, policy: DecoderPolicy, batch: TrainingBatch) -> Tensor:
        """Return the set decoder's likelihood, with an order or without."""
        if self.free_order:
            return compute_likelihood_loss(score_sets(policy, batch.gold).steps)
        return compute_ordered_likelihood(policy, batch.sequences)

    def _compute_self_critical(
        self, policy: DecoderPolicy, batch: TrainingBatch, generator: torch.Generator, reward: Reward
    ) -> Losses:
        """Sample, compare with the baseline, and push up what was better: eq. 9-11."""
        most = self.network.max_labels
        sharp = policy.temper(self.objective.temperature)
        drawn = sample(sharp, samples=self.objective.samples, generator=generator, max_steps=most)
        sets, gold = drawn.masks(policy.labels), batch.gold[:, None]  # (B, K, L) and (B, 1, L)
        gained = reward(sets, gold)  # (B, K)
        if self.objective.baseline == "leave-one-out":
            baseline = leave_one_out(gained)
        else:
            baseline = reward(self.decode_greedily(policy, batch).masks(policy.labels), batch.gold)[:, None]
        differ = ((gained - baseline).abs() > SAME_REWARD).any(-1)  # (B,)
        sums = sum_sets(sets, gold) if REWARDS[self.objective.reward].needs_run else None
        loss = compute_self_critical_loss(drawn.log_prob, gained, baseline)
        return Losses(loss, gained.mean(), differ.float().mean(), sums)

    @torch.no_grad()
    def decode_greedily(self, policy: DecoderPolicy, batch: TrainingBatch) -> Rollout:
        """Decode as prediction does, without dropout: the baseline of eq. 10 is what the model does in use.

        Only where there is dropout do the documents have to be read a second time for that. Reading them
        without it draws no random numbers, so that those of the update stay the same.
        """
        if not (self.network.training and self.has_dropout):
            return roll_out_greedily(policy, max_steps=self.network.max_labels)
        self.network.eval()
        try:
            tested: Policies = self.network(batch.ids, batch.lengths, batch.margins)
            return roll_out_greedily(tested.final, max_steps=self.network.max_labels)
        finally:
            self.network.train()


def _compute_sequence_loss(policies: Policies, batch: TrainingBatch) -> Tensor:
    """Return L(phi), D1's likelihood of the right labels in order, or 0 where there is no D1."""
    if policies.sequence is None:
        return torch.zeros((), device=batch.ids.device)
    return compute_ordered_likelihood(policies.sequence, batch.sequences)
