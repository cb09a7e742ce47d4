"""The losses of a batch: what goes into them, and whom they teach."""

from __future__ import annotations

import pytest
import torch
from loops import encoded
from torch import Tensor

from seq2set.config import Config
from seq2set.core.errors import ConfigError
from seq2set.nn.decoding.rollout import roll_out_greedily, sample
from seq2set.nn.decoding.teacher_forcing import score_sequences
from seq2set.objectives.losses import compute_self_critical_loss
from seq2set.objectives.rewards import RunningF1, f1, sum_sets
from seq2set.training.examples import TrainingBatch
from seq2set.training.step import Losses, Phase, TrainingStep
from seq2set.training.train_network import plan_phases
from tiny_networks import tiny_config, tiny_examples, tiny_network


def batch_of(config: Config, documents: int = 6) -> TrainingBatch:
    return encoded(config, tiny_examples(documents)).batch(torch.arange(documents).numpy())


def losses_of(
    config: Config, phase: Phase, batch: TrainingBatch | None = None
) -> tuple[TrainingStep, Losses]:
    step = TrainingStep(tiny_network(config), config)
    return step, step(batch or batch_of(config), phase, torch.Generator().manual_seed(5))


def gradients(step: TrainingStep, loss: Tensor, part: str) -> float:
    step.zero_grad()
    loss.backward(retain_graph=True)
    weights = getattr(step.network, part).parameters()
    return sum(weight.grad.abs().sum().item() for weight in weights if weight.grad is not None)


def by_hand(step: TrainingStep, batch: TrainingBatch, samples: int = 1) -> tuple[Tensor, Tensor]:
    """L(phi) and L(theta), written down from the paper's equations."""
    policies = step.network(batch.ids, batch.lengths)
    likelihood = -score_sequences(policies.sequence, batch.sequences).log_prob.mean()
    drawn = sample(policies.final, samples=samples, generator=torch.Generator().manual_seed(5))
    reward = f1(drawn.masks(4), batch.gold[:, None])
    baseline = f1(roll_out_greedily(policies.final).masks(4), batch.gold)
    return likelihood, -((reward - baseline[:, None]) * drawn.log_prob).mean()


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.95, 1.0])
def test_the_total_is_the_papers(weight: float) -> None:
    config = tiny_config(f"objective.lambda={weight}", "objective.samples=3")
    batch = batch_of(config)
    step, losses = losses_of(config, "self-critical", batch)
    likelihood, policy = by_hand(step, batch, samples=3)
    assert likelihood.item() > 0.5
    assert abs(policy.item()) > 0.01
    expected = (1 - weight) * likelihood.item() + weight * policy.item()
    assert losses.total.item() == pytest.approx(expected, abs=1e-6)
    assert losses.reward is not None
    assert 0 < losses.reward.item() < 1


def test_a_share_of_likelihood_is_mixed_into_the_set_loss() -> None:
    config = tiny_config("objective.lambda=0.8", "objective.likelihood_share=0.25")
    batch = batch_of(config)
    step, losses = losses_of(config, "self-critical", batch)
    likelihood, policy = by_hand(step, batch)
    final = step.network(batch.ids, batch.lengths).final
    own = -score_sequences(final, batch.sequences).log_prob.mean().item()
    expected = 0.2 * likelihood.item() + 0.8 * (0.75 * policy.item() + 0.25 * own)
    assert losses.total.item() == pytest.approx(expected, abs=1e-6)


def test_the_simplified_variant_has_the_set_loss_alone() -> None:
    config = tiny_config("objective.lambda=0.3", model="seq2set-simp")
    batch = batch_of(config)
    step, losses = losses_of(config, "self-critical", batch)
    final = step.network(batch.ids, batch.lengths).final
    drawn = sample(final, generator=torch.Generator().manual_seed(5))
    advantage = f1(drawn.masks(4)[:, 0], batch.gold) - f1(roll_out_greedily(final).masks(4), batch.gold)
    assert losses.total.item() == pytest.approx(-(advantage * drawn.log_prob[:, 0]).mean().item(), abs=1e-6)


def test_samples_count_with_the_log_probabilities_that_they_were_drawn_with() -> None:
    config = tiny_config("objective.temperature=0.3", "objective.samples=3", model="seq2set-simp")
    batch = batch_of(config)
    step, losses = losses_of(config, "self-critical", batch)
    final = step.network(batch.ids, batch.lengths).final
    drawn = sample(final.temper(0.3), samples=3, generator=torch.Generator().manual_seed(5))
    advantage = (
        f1(drawn.masks(4), batch.gold[:, None]) - f1(roll_out_greedily(final).masks(4), batch.gold)[:, None]
    )
    untempered = score_sequences(final, drawn.labels).log_prob
    assert losses.total.item() == pytest.approx(-(advantage * drawn.log_prob).mean().item(), abs=1e-6)
    assert losses.total.item() != pytest.approx(-(advantage * untempered).mean().item(), abs=1e-3)


def test_the_warm_start_teaches_both_decoders_likelihood() -> None:
    config = tiny_config()
    batch = batch_of(config)
    step, losses = losses_of(config, "warm-start", batch)
    policies = step.network(batch.ids, batch.lengths)
    both = [
        -score_sequences(one, batch.sequences).log_prob.mean().item()
        for one in (policies.sequence, policies.final)
    ]
    assert losses.total.item() == pytest.approx(sum(both), abs=1e-5)
    assert losses.reward is None
    assert all(
        gradients(step, losses.total, part) > 0 for part in ("sequence_decoder", "set_decoder", "encoder")
    )


def test_likelihood_without_an_order_does_not_depend_on_it() -> None:
    config = tiny_config("warm_start.likelihood=order-free", model="seq2set-simp")
    batch = batch_of(config)
    flipped = batch._replace(sequences=reversed_sequences(batch.sequences))
    totals = [losses_of(config, "warm-start", one)[1].total.item() for one in (batch, flipped)]
    ordered = tiny_config(model="seq2set-simp")
    others = [losses_of(ordered, "warm-start", one)[1].total.item() for one in (batch, flipped)]
    assert totals[0] == totals[1]
    assert others[0] != pytest.approx(others[1], abs=1e-3)


def reversed_sequences(sequences: Tensor) -> Tensor:
    rows = [row[row < 4].flip(0) for row in sequences]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=6)


@pytest.mark.parametrize("baseline", ["greedy", "leave-one-out"])
def test_the_set_loss_teaches_the_sequence_decoder_only_where_asked_to(baseline: str) -> None:
    settings = [f"objective.baseline={baseline}", "objective.samples=4", "objective.lambda=1.0"]
    step, losses = losses_of(tiny_config(*settings), "self-critical")
    assert gradients(step, losses.total, "sequence_decoder") == 0
    assert gradients(step, losses.total, "set_decoder") > 0
    assert gradients(step, losses.total, "encoder") > 0
    asked = tiny_config(*settings, "set_decoder.train_sequence_decoder=true")
    step, losses = losses_of(asked, "self-critical")
    assert gradients(step, losses.total, "sequence_decoder") > 0


@pytest.mark.parametrize("phase", ["warm-start", "self-critical"])
def test_gold_labels_do_not_reach_the_set_decoder(phase: Phase) -> None:
    config = tiny_config("objective.samples=2")
    batch = batch_of(config)
    empty = batch.sequences.new_empty(len(batch.ids), 0)
    other = batch._replace(gold=torch.zeros_like(batch.gold), sequences=empty)
    losses, seen = [], []
    for one in (batch, other):
        step = TrainingStep(tiny_network(config), config)
        step.network.register_forward_hook(lambda network, inputs, policies: seen.append(policies.final))
        losses.append(step(one, phase, torch.Generator().manual_seed(1)).total.item())
    assert losses[0] != losses[1]
    assert len(seen) == 2
    assert seen[0].memories[1].values.shape[1] > 2  # D1 gave labels, so that there is something to hear
    for first, second in zip(*(policy.memories for policy in seen), strict=True):
        assert all(torch.equal(*parts) for parts in zip(first, second, strict=True))
    for first, second in zip(*map(roll_out_greedily, seen), strict=True):
        assert first is second is None or torch.equal(torch.as_tensor(first), torch.as_tensor(second))


def test_rewards_of_other_names_reach_the_loss() -> None:
    totals = {
        name: losses_of(tiny_config(f"objective.reward={name}"), "self-critical")[1].reward
        for name in ("f1", "jaccard", "hamming", "subset_accuracy")
    }
    values = [value.item() for value in totals.values() if value is not None]
    assert len({round(value, 6) for value in values}) == 4


def test_a_sample_that_equals_the_greedy_set_has_no_advantage(monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny_config("objective.reward=micro_f1", "objective.samples=2", model="seq2set-simp")
    batch = batch_of(config, 12)
    step = TrainingStep(tiny_network(config), config)
    seen: list[Tensor] = []

    def watched(log_prob: Tensor, reward: Tensor, baseline: Tensor) -> Tensor:
        seen.append(reward - baseline)
        return compute_self_critical_loss(log_prob, reward, baseline)

    monkeypatch.setattr("seq2set.training.step.compute_self_critical_loss", watched)
    losses = step(batch, "self-critical", torch.Generator().manual_seed(5), RunningF1(3, 7, 5, 4))
    final = step.network(batch.ids, batch.lengths).final
    drawn = sample(final, samples=2, generator=torch.Generator().manual_seed(5)).masks(4)
    same = (drawn == roll_out_greedily(final).masks(4)[:, None]).all(-1)  # (B, K)
    assert 0 < same.sum() < same.numel()
    assert (seen[0][same] == 0).all()
    # f = 6/12 and a mean size of 3: the advantage is (2 TP - P / 2) / 3 of the sample less that of greedy
    gold, worth = batch.gold[:, None], lambda sets: 2 * (sets & gold).sum(-1) - sets.sum(-1) / 2
    expected = (worth(drawn) - worth(roll_out_greedily(final).masks(4)[:, None])) / 3
    torch.testing.assert_close(seen[0], expected, atol=1e-6, rtol=0)
    assert losses.sums is not None
    assert losses.sums.tolist() == sum_sets(drawn, gold).tolist()


def test_one_sample_has_no_others_to_compare_with() -> None:
    with pytest.raises(ConfigError, match="objective.samples is 1; the baseline 'leave-one-out' needs >= 2"):
        plan_phases(tiny_config("objective.baseline=leave-one-out"))


def test_the_signal_is_the_share_of_documents_that_teach_something() -> None:
    config = tiny_config("objective.samples=3")
    batch = batch_of(config)
    step, losses = losses_of(config, "self-critical", batch)
    policies = step.network(batch.ids, batch.lengths)
    drawn = sample(policies.final, samples=3, generator=torch.Generator().manual_seed(5))
    gained = f1(drawn.masks(4), batch.gold[:, None])
    differs = (gained != f1(roll_out_greedily(policies.final).masks(4), batch.gold)[:, None]).any(1)
    assert losses.signal is not None
    assert 0 < losses.signal.item() == pytest.approx(differs.float().mean().item())


def test_samples_that_are_all_alike_teach_nothing() -> None:
    cold = ("objective.samples=3", "objective.baseline=leave-one-out", "objective.temperature=1e-6")
    _, losses = losses_of(tiny_config(*cold, model="seq2set-simp"), "self-critical")
    assert losses.signal is not None
    assert losses.signal.item() == 0
    assert losses.total.item() == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize("model", ["seq2set", "seq2set-simp"])
def test_the_greedy_baseline_is_that_of_test_time(model: str) -> None:
    dropout = ("encoder.dropout=0.5", "decoder.dropout=0.5")
    config = tiny_config(*dropout, "objective.lambda=1.0", "objective.samples=3", model=model)
    batch = batch_of(config, 12)
    step = TrainingStep(tiny_network(config), config)
    torch.manual_seed(11)
    loss = step(batch, "self-critical", torch.Generator().manual_seed(5)).total.item()
    assert step.training
    assert step.network.training
    torch.manual_seed(11)
    drawn = sample(
        step.network(batch.ids, batch.lengths).final,
        samples=3,
        generator=torch.Generator().manual_seed(5),
        max_steps=step.network.max_labels,
    )
    noisy = roll_out_greedily(step.network(batch.ids, batch.lengths).final).masks(4)
    step.eval()
    tested = roll_out_greedily(step.network(batch.ids, batch.lengths).final).masks(4)
    assert not torch.equal(noisy, tested)  # so that the two baselines can be told apart
    advantage = f1(drawn.masks(4), batch.gold[:, None]) - f1(tested, batch.gold)[:, None]
    assert loss == pytest.approx(-(advantage * drawn.log_prob).mean().item(), abs=1e-5)


@pytest.mark.parametrize(
    ("settings", "passes"),
    [
        (["encoder.dropout=0.3"], 2),
        (["decoder.dropout=0.3"], 2),
        ([], 1),
        (["encoder.dropout=0.3", "objective.baseline=leave-one-out", "objective.samples=2"], 1),
    ],
)
def test_documents_are_read_twice_only_for_a_baseline_without_dropout(
    settings: list[str], passes: int
) -> None:
    config = tiny_config(*settings)
    step, seen = TrainingStep(tiny_network(config), config), []
    step.network.encoder.register_forward_hook(lambda encoder, *_: seen.append(encoder.training))
    step(batch_of(config), "self-critical", torch.Generator().manual_seed(5)).total.backward()
    assert seen == [True, False][:passes]
