"""Convolution with max over time: worked by hand, without any say of the padding, and looked back upon."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from seq2set.nn.encoders.convolution import ConvolutionalEncoder


def by_hand() -> ConvolutionalEncoder:
    """Words 1, 2, 3 are the numbers 1, -2, 3; one filter -x + 0.5 and one 2x + y - 1."""
    encoder = ConvolutionalEncoder(4, 1, [1, 2], 1)
    with torch.no_grad():
        encoder.embedding.weight.copy_(torch.tensor([[0.0], [1.0], [-2.0], [3.0]]))
        encoder.kernels[0].weight.copy_(torch.tensor([[[-1.0]]]))
        encoder.kernels[0].bias.fill_(0.5)
        encoder.kernels[1].weight.copy_(torch.tensor([[[2.0, 1.0]]]))
        encoder.kernels[1].bias.fill_(-1.0)
    return encoder


def batch(*rows: list[int]) -> tuple[Tensor, Tensor]:
    ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
    return ids, torch.tensor([len(row) for row in rows])


def test_the_largest_response_counts() -> None:
    # 3 1 -2: -x + 0.5 is -2.5, -0.5, 2.5; 2x + y - 1 is 6, -1.
    # -2 3 1: 2.5, -2.5, -0.5; -2, 6.     1 -2 3: -0.5, 2.5, -2.5; -1, -2, of which relu leaves nothing.
    found = by_hand().read_windows(*batch([3, 1, 2], [2, 3, 1], [1, 2, 3]))
    assert found.summary.tolist() == [[2.5, 6.0], [2.5, 6.0], [2.5, 0.0]]
    assert found.places.tolist() == [[2, 0], [0, 1], [1, 0]]


def test_padding_never_wins_and_short_texts_are_read() -> None:
    # 3 alone: -x + 0.5 is -2.5, where a padded place would give 0.5; 2x - 1 is 5, with nothing after it.
    # 1: -0.5; 1. In a batch with a text of four words, and without.
    assert by_hand().read_windows(*batch([3])).summary.tolist() == [[0.0, 5.0]]
    found = by_hand().read_windows(*batch([3], [1], [1, 1, 1, 1]))
    assert found.summary.tolist() == [[0.0, 5.0], [0.0, 1.0], [0.0, 2.0]]
    assert found.places[:2].tolist() == [[0, 0], [0, 0]]


def brute(encoder: ConvolutionalEncoder, row: list[int]) -> list[float]:
    """All filters on all windows of one text, one after another."""
    vectors, found = encoder.embedding.weight.detach().numpy(), []
    for kernel in encoder.kernels:
        weight, bias = kernel.weight.detach().numpy(), kernel.bias.detach().numpy()
        width = weight.shape[2]
        words = [vectors[word] for word in row] + [np.zeros(vectors.shape[1])] * max(0, width - len(row))
        windows = [np.stack(words[start : start + width], 1) for start in range(len(words) - width + 1)]
        found += [
            max(0.0, *((w * one).sum() + b for one in windows)) for w, b in zip(weight, bias, strict=True)
        ]
    return found


ROWS = st.lists(st.lists(st.integers(1, 8), min_size=1, max_size=9), min_size=1, max_size=4)


@settings(max_examples=40, deadline=None)
@given(ROWS)
def test_any_batch_is_its_texts_one_by_one(rows: list[list[int]]) -> None:
    torch.manual_seed(0)
    encoder = ConvolutionalEncoder(9, 3, [2, 3, 5], 4)
    found = encoder(*batch(*rows)).summary.detach().numpy()
    assert np.allclose(found, [brute(encoder, row) for row in rows], atol=1e-5, rtol=0)


def test_what_words_add_by_hand() -> None:
    # 3 1 -2: the first filter's 2.5 is 2 of the word -2 and the bias; the second's 6 is 6 of 3, 1 of 1, and
    # the bias. With slopes 2 and 1 the words add 6, 1 and 4; with 0 and -1 they add -6, -1 and 0.
    ids, lengths = batch([3, 1, 2])
    encoder = by_hand()
    added = encoder.read_windows(ids, lengths).contributions(torch.tensor([[[2.0, 1.0], [0.0, -1.0]]]))
    assert added.tolist() == [[[6.0, 1.0, 4.0], [-6.0, -1.0, 0.0]]]


def test_a_filter_that_is_silent_adds_nothing() -> None:
    ids, lengths = batch([1, 2, 3])
    encoder = by_hand()
    added = encoder.read_windows(ids, lengths).contributions(torch.tensor([[[0.0, 1.0]]]))
    assert added.tolist() == [[[0.0, 0.0, 0.0]]]


def test_what_words_add_is_all_but_the_biases() -> None:
    torch.manual_seed(1)
    encoder = ConvolutionalEncoder(9, 3, [1, 2, 4], 5)
    ids, lengths = batch([1, 2, 3, 4, 5, 6, 7, 8], [4, 4], [7])
    windows, slopes = encoder.read_windows(ids, lengths), torch.randn(3, 2, 15)
    added = windows.contributions(slopes)
    biases = torch.cat([kernel.bias for kernel in encoder.kernels]) * (windows.summary > 0)
    scores = (slopes * (windows.summary - biases)[:, None]).sum(-1)
    assert scores.abs().min().item() > 0.01
    assert torch.allclose(added.sum(-1), scores, atol=1e-5, rtol=0)
    assert (added[1, :, 2:] == 0).all()
    assert (added[2, :, 1:] == 0).all()


def test_the_gradient_reaches_words_of_winning_windows_alone() -> None:
    encoder = by_hand()
    encoder(*batch([3, 1, 2])).summary[0, 1].backward()  # 2x + y - 1 on 3 1
    assert encoder.embedding.weight.grad is not None
    assert encoder.embedding.weight.grad.flatten().tolist() == pytest.approx([0.0, 1.0, 0.0, 2.0])


def test_dropout_leaves_numbers_of_word_vectors_out_in_training_only() -> None:
    torch.manual_seed(0)
    encoder = ConvolutionalEncoder(9, 6, [2], 4, dropout=0.5)
    ids, lengths = batch([1, 2, 3, 4])
    assert not torch.equal(encoder(ids, lengths).summary, encoder(ids, lengths).summary)
    encoder.eval()
    assert torch.equal(encoder(ids, lengths).summary, encoder(ids, lengths).summary)


def test_a_words_state_has_the_responses_to_the_windows_that_begin_with_it() -> None:
    # 3 1 -2: -x + 0.5 is -2.5, -0.5, 2.5; 2x + y - 1 is 6 at the first word and -1 at the second. Alone, the
    # word 1 gives -0.5 and, with nothing after it, 1. relu leaves what is positive.
    encoded = by_hand()(*batch([3, 1, 2], [1]))
    assert encoded.mask.tolist() == [[True, True, True], [True, False, False]]
    assert encoded.states[0].tolist() == [[0.0, 6.0], [0.0, 0.0], [2.5, 0.0]]
    assert encoded.states[1].tolist() == [[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]]
    assert encoded.summary.tolist() == [[2.5, 6.0], [0.0, 1.0]]


@settings(max_examples=40, deadline=None)
@given(ROWS)
def test_the_summary_has_the_largest_of_the_states(rows: list[list[int]]) -> None:
    torch.manual_seed(0)
    encoder = ConvolutionalEncoder(9, 3, [2, 3, 5], 4)
    encoded, windows = encoder(*batch(*rows)), encoder.read_windows(*batch(*rows))
    assert encoded.states.shape[-1] == encoder.size
    assert torch.equal(encoded.states.max(1).values, encoded.summary)
    assert torch.equal(encoded.summary, windows.summary)
