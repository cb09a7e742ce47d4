"""The global embedding of SGM: its gate by hand, and in a decoder that all searches go through."""

from __future__ import annotations

import copy

import pytest
import torch
from opened import decode_greedily, estimate_marginals, search_beam, search_set_beam
from torch import Tensor

from seq2set.nn.attention import Source
from seq2set.nn.decoder import AttentionDecoder, DecoderPolicy, GlobalEmbedding
from seq2set.nn.decoding.rollout import roll_out_greedily, sample
from seq2set.nn.decoding.teacher_forcing import score_sequences

BOS, EOS = 6, 5


def policy_of(documents: int = 4, *, bias: bool = False, seed: int = 2) -> DecoderPolicy:
    """Five labels; random weights that are large enough to make a difference."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        decoder = AttentionDecoder(5, 3, 6, sources=[4], start=2, layers=2, global_embedding=True)
        for weight in decoder.parameters():
            weight.data = torch.randn_like(weight) * 1.5 / weight.shape[-1] ** 0.5
        source = Source(torch.randn(documents, 3, 4), torch.ones(documents, 3, dtype=torch.bool))
        offsets = torch.randn(documents, 6) if bias else None
        return decoder.bind(torch.randn(documents, 2), [source], offsets)


def test_the_gate_by_hand() -> None:
    # e = 1 and a = 0.25: H = sigmoid(1 + 2 * 0.25) = 0.817574; g = 1 - H * 0.75 = 0.386819.
    mix = GlobalEmbedding(1)
    with torch.no_grad():
        mix.W_1.weight.fill_(1.0)
        mix.W_2.weight.fill_(2.0)
    found = mix(torch.ones(1, 1, 1), torch.full((1, 1, 1), 0.25))
    assert found.item() == pytest.approx(0.386819, abs=1e-6)


def plainly(policy: DecoderPolicy, vector: Tensor) -> DecoderPolicy:
    """The same decoder without the option, to which every symbol is this vector."""
    decoder = copy.deepcopy(policy.decoder)
    decoder.feedback = None
    decoder.embedding.weight.data = vector.expand_as(decoder.embedding.weight)
    return DecoderPolicy(decoder, policy.memories, policy.first, policy.bias)


@pytest.mark.parametrize("bias", [False, True])
@torch.no_grad()
def test_a_step_reads_the_mix_of_the_label_and_the_last_distribution(bias: bool) -> None:
    policy = policy_of(1, bias=bias)
    decoder, table = policy.decoder, policy.decoder.embedding.weight
    assert decoder.feedback is not None
    first = policy.advance(policy.start(), torch.tensor([[BOS]]))
    alone = plainly(policy, table[BOS]).advance(policy.start(), torch.tensor([[BOS]]))
    assert torch.equal(first.output, alone.output)  # no distribution comes before `bos`

    state, emitted = first, torch.zeros(6, dtype=torch.bool)
    for label in (3, 1):
        shares = torch.softmax(policy.logits(state.features)[0, 0].masked_fill(emitted, float("-inf")), 0)
        mean = sum(share * table[symbol] for symbol, share in enumerate(shares))
        gate = torch.sigmoid(decoder.feedback.W_1.weight @ table[label] + decoder.feedback.W_2.weight @ mean)
        mixed = (1 - gate) * table[label] + gate * mean
        expected = plainly(policy, mixed).advance(state, torch.tensor([[label]]))
        state, emitted[label] = policy.advance(state, torch.tensor([[label]])), True
        assert torch.allclose(state.output, expected.output, atol=1e-6, rtol=0)
        without = plainly(policy, table[label]).advance(state, torch.tensor([[label]]))
        assert (state.output - without.output).abs().max() > 0.01
    assert state.emitted[0][0, 0].tolist() == [False, True, False, True, False, False]


@torch.no_grad()
def test_all_searches_agree_with_teaching() -> None:
    """Whatever leaves, is reordered or repeated on the way, takes its own mask along."""
    policy = policy_of(9)
    rollout = roll_out_greedily(policy)
    assert len(set(rollout.lengths.tolist())) > 1  # rows end and leave at different steps
    taught = score_sequences(policy, rollout.labels)
    assert torch.allclose(rollout.steps, taught.steps, atol=1e-5, rtol=0)
    drawn = sample(policy, samples=7, generator=torch.Generator().manual_seed(1))
    taught = score_sequences(policy, drawn.labels)
    assert torch.allclose(drawn.log_prob, taught.log_prob, atol=1e-5, rtol=0)
    assert torch.equal(decode_greedily(policy).labels, rollout.labels)
    for search in (search_beam, search_set_beam):
        found = search(policy, width=4)
        real = ~found.log_prob.isneginf()
        taught = score_sequences(policy, found.labels)
        assert torch.allclose(found.log_prob[real], taught.log_prob[real], atol=1e-5, rtol=0)


@torch.no_grad()
def test_a_document_alone_is_as_in_any_batch() -> None:
    policy = policy_of(5)
    together = estimate_marginals(policy, 16)
    for number in range(5):
        alone = estimate_marginals(policy.select(torch.tensor([number])), 16)
        assert torch.allclose(alone[0], together[number], atol=1e-5, rtol=0)


def test_every_weight_has_a_gradient_even_where_no_document_has_a_label() -> None:
    policy = policy_of(3)
    score_sequences(policy, torch.empty(3, 0, dtype=torch.long)).log_prob.sum().backward()
    assert all(weight.grad is not None for weight in policy.decoder.parameters() if weight.requires_grad)


def test_without_the_option_there_is_no_gate() -> None:
    decoder = AttentionDecoder(5, 3, 6, sources=[], start=2)
    assert decoder.feedback is None
    assert not [name for name in decoder.state_dict() if name.startswith("feedback")]
    state = decoder.bind(torch.zeros(2, 2), []).advance(
        decoder.bind(torch.zeros(2, 2), []).start(), torch.zeros(2, 1).long()
    )
    assert state.emitted == ()
