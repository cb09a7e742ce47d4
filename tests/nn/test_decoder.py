from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from seq2set.nn.attention import Source
from seq2set.nn.decoder import AttentionDecoder, DecoderPolicy
from seq2set.nn.decoding.rollout import roll_out_greedily
from seq2set.nn.decoding.teacher_forcing import score_sequences
from seq2set.nn.encoders.bilstm import BiLSTMEncoder

World = Callable[..., DecoderPolicy]
Array = NDArray[np.float64]


def array(tensor: Any) -> Array:
    return np.asarray(tensor.detach().double().numpy())


def sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def read(attention: Any, s: Array, h: Array) -> Array:
    """Eq. 1-3: the context of state s over values h."""
    W, U, v = array(attention.W_a.weight), array(attention.U_a.weight), array(attention.v_a)
    e = np.array([v @ np.tanh(W @ s + U @ value) for value in h])  # eq. 1
    alpha = np.exp(e) / np.exp(e).sum()  # eq. 2
    return np.asarray(sum(weight * value for weight, value in zip(alpha, h, strict=True)))  # eq. 3


def cell(unit: Any, x: Array, h: Array, c: Array) -> tuple[Array, Array]:
    gates = array(unit.weight_ih) @ x + array(unit.bias_ih) + array(unit.weight_hh) @ h + array(unit.bias_hh)
    i, f, g, o = np.split(gates, 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def written_out(
    decoder: AttentionDecoder, start: Array, sources: list[Array], labels: list[int]
) -> list[Array]:
    """The distributions over labels and eos at each step of one document, straight from the paper."""
    size = len(decoder.cells)
    first = [array(layer.weight) @ start + array(layer.bias) for layer in decoder.first]
    states = [np.tanh(vector[: len(vector) // 2]) for vector in first]
    cells = [vector[len(vector) // 2 :] for vector in first]
    hidden = len(states[0])
    W_d, V = array(decoder.readout.weight)[:, :hidden], array(decoder.readout.weight)[:, hidden:]
    contexts = [read(a, states[-1], h) for a, h in zip(decoder.attentions, sources, strict=True)]
    found, emitted = [], []
    for y in [decoder.symbols.bos, *labels]:
        below = np.concatenate([array(decoder.embedding.weight[y]), *contexts])  # eq. 4 and eq. 8
        for layer in range(size):
            states[layer], cells[layer] = cell(decoder.cells[layer], below, states[layer], cells[layer])
            below = states[layer]
        contexts = [read(a, below, h) for a, h in zip(decoder.attentions, sources, strict=True)]
        o = array(decoder.W_o.weight) @ np.tanh(W_d @ below + V @ np.concatenate(contexts))  # eq. 5
        mask = np.zeros_like(o)
        emitted += [y] if y < decoder.symbols.eos else []
        mask[emitted] = -np.inf  # eq. 7
        found.append(np.exp(o + mask) / np.exp(o + mask).sum())  # eq. 6
    return found


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("sources", [(3,), (3, 5)], ids=["D1", "D2"])
def test_the_decoders_are_those_of_the_equations(sources: tuple[int, ...], layers: int) -> None:
    torch.manual_seed(3)
    decoder = AttentionDecoder(4, 3, 6, sources=sources, start=4, layers=layers)
    start, lengths = torch.randn(2, 4), (5, 2)
    mask = torch.arange(5) < torch.tensor(lengths)[:, None]
    bound = [Source(torch.randn(2, 5, size), mask) for size in sources]
    labels = torch.tensor([[2, 0, 3], [1, 6, 6]])  # the second document has one label
    scores = score_sequences(decoder.bind(start, bound), labels)
    for row, sequence in enumerate([[2, 0, 3], [1]]):
        values = [array(source.values[row, : lengths[row]]) for source in bound]
        steps = written_out(decoder, array(start[row]), values, sequence)
        expected = [np.log(p[y]) for p, y in zip(steps, [*sequence, 4], strict=True)]
        np.testing.assert_allclose(array(scores.steps[row, : len(expected)]), expected, rtol=1e-5)
        np.testing.assert_allclose(array(scores.log_prob[row]), sum(expected), rtol=1e-5)
    assert scores.steps[1, 2:].tolist() == [0.0, 0.0]


def test_a_bias_is_added_to_the_logits(world: World) -> None:
    policy = world(labels=4, documents=2)
    bias = torch.randn(2, 5)
    state = policy.start()
    with_bias = DecoderPolicy(policy.decoder, policy.memories, policy.first, bias)
    difference = with_bias.logits(state.features) - policy.logits(state.features)
    torch.testing.assert_close(difference, bias[:, None], atol=1e-5, rtol=1e-5)
    second = with_bias.select(torch.tensor([1]))
    assert torch.equal(second.bias if second.bias is not None else torch.empty(0), bias[1:])


def test_a_decoder_may_have_no_source() -> None:
    torch.manual_seed(0)
    decoder = AttentionDecoder(3, 2, 4, sources=(), start=5)
    policy = decoder.bind(torch.randn(2, 5), [])
    rollout = roll_out_greedily(policy)
    assert policy.start().attention == ()
    assert torch.isfinite(rollout.log_prob).all()


def test_twenty_thousand_labels_work() -> None:
    torch.manual_seed(0)
    decoder = AttentionDecoder(20_000, 4, 8, sources=(3,), start=4)
    source = Source(torch.randn(2, 3, 3), torch.ones(2, 3, dtype=torch.bool))
    policy = decoder.bind(torch.randn(2, 4), [source])
    rollout = roll_out_greedily(policy, max_steps=3)
    assert rollout.masks(20_000).sum(-1).tolist() == rollout.lengths.tolist()
    torch.testing.assert_close(
        score_sequences(policy, rollout.labels, max_steps=3).log_prob, rollout.log_prob
    )


def test_dropout_acts_only_in_training() -> None:
    torch.manual_seed(0)
    decoder = AttentionDecoder(4, 3, 6, sources=(3,), start=4, layers=2, dropout=0.5)
    source, start = Source(torch.randn(1, 2, 3), torch.ones(1, 2, dtype=torch.bool)), torch.randn(1, 4)
    labels = torch.tensor([[2, 0]])
    trained = [score_sequences(decoder.bind(start, [source]), labels).log_prob.item() for _ in range(2)]
    decoder.eval()
    used = [score_sequences(decoder.bind(start, [source]), labels).log_prob.item() for _ in range(2)]
    assert trained[0] != trained[1]
    assert used[0] == used[1]


class Whole(torch.nn.Module):
    """The complete model as it is put together: encoder, D1 free-running, D2 over both."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.encoder = BiLSTMEncoder(words=9, embedding=4, hidden=3, layers=2)
        self.first = AttentionDecoder(4, 3, 5, sources=(6,), start=6, layers=2)
        self.second = AttentionDecoder(4, 3, 7, sources=(6, 5), start=6, layers=3)

    def losses(self, gold: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        ids, lengths = torch.tensor([[3, 8, 1], [5, 2, 0]]), torch.tensor([3, 2])
        encoded = self.encoder(ids, lengths)
        words = Source(encoded.states, encoded.mask)
        d1 = self.first.bind(encoded.summary, [words])
        with torch.no_grad():
            free = roll_out_greedily(d1, keep_states=True)
        d2 = self.second.bind(encoded.summary, [words, free.source])
        every = torch.tensor([[0], [1]])
        return score_sequences(d1, gold).log_prob, score_sequences(d2, every).log_prob


def test_gold_labels_do_not_reach_the_set_decoder() -> None:
    model = Whole()
    first, before = model.losses(torch.tensor([[0, 1], [2, 6]]))
    other, after = model.losses(torch.tensor([[3, 2], [0, 1]]))
    assert not torch.equal(first, other)
    assert torch.equal(before, after)


def test_the_set_decoder_trains_the_encoder_but_not_the_sequence_decoder() -> None:
    model = Whole()
    model.losses(torch.tensor([[0, 1], [2, 6]]))[1].sum().backward()
    assert all(weight.grad is None for weight in model.first.parameters())
    grads = [w.grad for w in (model.encoder.embedding.weight, model.second.attentions[1].U_a.weight)]
    assert all(grad is not None and grad.abs().sum() > 0 for grad in grads)


def test_dropout_lies_between_the_layers() -> None:
    torch.manual_seed(0)
    decoder = AttentionDecoder(4, 3, 6, sources=(3,), start=4, layers=2, dropout=1.0)
    source = Source(torch.randn(1, 2, 3), torch.ones(1, 2, dtype=torch.bool))
    policy = decoder.bind(torch.randn(1, 4), [source])
    below = decoder.cells[0].weight_hh

    def pull() -> float:
        output = policy.advance(policy.start(), torch.tensor([[5]])).output
        return torch.autograd.grad(output.sum(), below, retain_graph=True)[0].abs().sum().item()

    assert pull() == 0
    decoder.eval()
    assert pull() > 0


def test_a_tempered_policy_is_sharper_with_the_same_greedy_answer() -> None:
    from seq2set.nn.attention import Source
    from seq2set.nn.decoder import AttentionDecoder
    from seq2set.nn.decoding.rollout import roll_out_greedily

    torch.manual_seed(3)
    decoder = AttentionDecoder(4, 5, 6, sources=[8], start=8).eval()
    words = Source(torch.randn(2, 3, 8), torch.ones(2, 3, dtype=torch.bool))
    policy = decoder.bind(torch.randn(2, 8), [words], torch.randn(2, 5))
    sharp = policy.temper(0.5)
    features = torch.randn(2, 1, 14)
    assert torch.allclose(sharp.logits(features), 2 * policy.logits(features))
    assert torch.equal(roll_out_greedily(sharp).labels, roll_out_greedily(policy).labels)
    assert (roll_out_greedily(sharp).log_prob > roll_out_greedily(policy).log_prob).all()
    assert sharp.select(torch.tensor([1])).temperature == 0.5


def test_dropout_lies_before_the_output() -> None:
    torch.manual_seed(0)
    decoder = AttentionDecoder(4, 3, 6, sources=(3,), start=4, dropout=1.0)
    features = torch.randn(1, 2, 6 + 3)
    assert decoder.logits(features).abs().sum().item() == 0  # nothing of the readout is left
    decoder.eval()
    assert decoder.logits(features).abs().sum().item() > 0
