from __future__ import annotations

import math

import numpy as np
import torch

from seq2set.nn.attention import AdditiveAttention, Source


def attention_and_source() -> tuple[AdditiveAttention, Source]:
    torch.manual_seed(1)
    mask = torch.tensor([[True, True, True, True], [True, True, False, False]])
    return AdditiveAttention(query=3, value=2, size=5), Source(torch.randn(2, 4, 2), mask)


def test_a_value_worked_by_hand() -> None:
    attention = AdditiveAttention(query=1, value=1, size=1)
    attention.W_a.weight.data.fill_(1.0)
    attention.U_a.weight.data.fill_(2.0)
    attention.v_a.data.fill_(3.0)
    memory = attention.prepare(Source(torch.tensor([[[0.5], [-0.25]]]), torch.ones(1, 2, dtype=torch.bool)))
    read = attention(torch.tensor([[[-0.5]]]), memory)
    # eq. 1: 3 tanh(-0.5 + 1.0) = 3 tanh(0.5), 3 tanh(-0.5 - 0.5) = 3 tanh(-1)
    first, second = math.exp(3 * math.tanh(0.5)), math.exp(3 * math.tanh(-1.0))
    alpha = first / (first + second)  # eq. 2
    torch.testing.assert_close(read.weights, torch.tensor([[[alpha, 1 - alpha]]]))
    context = 0.5 * alpha - 0.25 * (1 - alpha)  # eq. 3
    torch.testing.assert_close(read.context, torch.tensor([[[context]]]))


def test_attention_is_that_of_the_equations() -> None:
    attention, source = attention_and_source()
    query = torch.randn(2, 1, 3)
    read = attention(query, attention.prepare(source))
    W, U, v = (w.detach().numpy() for w in (attention.W_a.weight, attention.U_a.weight, attention.v_a))
    for row, length in ((0, 4), (1, 2)):
        h = source.values[row, :length].numpy()
        e = np.array([v @ np.tanh(W @ query[row, 0].numpy() + U @ word) for word in h])
        alpha = np.exp(e) / np.exp(e).sum()
        np.testing.assert_allclose(read.weights[row, 0, :length].detach(), alpha, rtol=1e-5)
        np.testing.assert_allclose(read.context[row, 0].detach(), alpha @ h, rtol=1e-5, atol=1e-7)


def test_places_that_do_not_exist_get_no_weight_and_no_gradient() -> None:
    attention, source = attention_and_source()
    values = source.values.requires_grad_()
    read = attention(torch.randn(2, 1, 3), attention.prepare(Source(values, source.mask)))
    assert read.weights[1, 0, 2:].tolist() == [0.0, 0.0]
    read.context.square().sum().backward()
    assert values.grad is not None
    assert torch.isfinite(values.grad).all()
    assert values.grad[1, 2:].abs().max() == 0
    assert values.grad[1, :2].abs().min() > 0


def test_hypotheses_of_a_document_read_as_if_alone() -> None:
    attention, source = attention_and_source()
    memory, query = attention.prepare(source), torch.randn(2, 3, 3)
    together = attention(query, memory)
    for number in range(3):
        alone = attention(query[:, number : number + 1], memory)
        torch.testing.assert_close(together.context[:, number], alone.context[:, 0])
        torch.testing.assert_close(together.weights[:, number], alone.weights[:, 0])


def test_selected_documents_keep_their_memory() -> None:
    attention, source = attention_and_source()
    memory, query = attention.prepare(source), torch.randn(2, 1, 3)
    second = attention(query[1:], memory.select(torch.tensor([1])))
    torch.testing.assert_close(second.context, attention(query, memory).context[1:])
