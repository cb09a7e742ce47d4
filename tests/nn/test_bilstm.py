from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from seq2set.core.errors import InputError
from seq2set.nn.encoders import Encoded, bilstm_prediction
from seq2set.nn.encoders.bilstm import LEAVING, BiLSTM, BiLSTMEncoder, Route, choose_route, cut_segments

LENGTHS = [1, 63, 64, 131, 65, 5]


def batch(width: int | None = None, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(seed)
    return torch.randn(len(LENGTHS), width or max(LENGTHS), 4), torch.tensor(LENGTHS)


def lstm(dropout: float = 0.0, layers: int = 2) -> BiLSTM:
    torch.manual_seed(7)
    return BiLSTM(4, 3, layers, dropout)


def sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(1 / (1 + np.exp(-x)))


def one_way(module: torch.nn.LSTM, words: NDArray[np.float64], suffix: str) -> NDArray[np.float64]:
    """The LSTM's equations, word by word, in the order in which the words are given."""
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    W, U, b, d = (getattr(module, f"{name}_{suffix}").detach().double().numpy() for name in names)
    h = c = np.zeros(module.hidden_size)
    states = []
    for word in words:
        i, f, g, o = np.split(W @ word + U @ h + b + d, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        states.append(h)
    return np.array(states)


def reference(
    module: torch.nn.LSTM, words: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    for layer in range(module.num_layers):
        ahead = one_way(module, words, f"l{layer}")
        back = one_way(module, words[::-1], f"l{layer}_reverse")[::-1]
        summary = np.concatenate([ahead[-1], back[0]])
        words = np.concatenate([ahead, back], -1)
    return words, summary


@pytest.mark.parametrize("route", ["flipped", "packed", "whole"])
def test_states_are_those_of_the_equations(route: Route) -> None:
    (vectors, lengths), module = batch(width=max(LENGTHS) + 66), lstm()
    encoded = module(vectors, lengths, route)
    for row, length in enumerate(LENGTHS):
        states, summary = reference(module.lstm, vectors[row, :length].double().numpy())
        np.testing.assert_allclose(encoded.states[row, :length].detach(), states, atol=2e-6)
        np.testing.assert_allclose(encoded.summary[row].detach(), summary, atol=2e-6)
        assert encoded.mask[row].sum() == length
        assert encoded.mask[row, :length].all()
        assert encoded.states[row, length:].abs().sum() == 0


def gradients(route: Route, training: bool) -> list[torch.Tensor]:
    (vectors, lengths), module = batch(), lstm().train(training)
    vectors.requires_grad_()
    encoded: Encoded = module(vectors, lengths, route)
    pull = torch.linspace(-1, 1, encoded.states.numel()).view_as(encoded.states)
    ((encoded.states * pull).sum() / 10 + encoded.summary.square().sum()).backward()
    return [part.grad for part in (vectors, *module.parameters()) if part.grad is not None]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("route", ["flipped", "whole"])
def test_gradients_equal_those_of_the_packed_route(route: Route, training: bool) -> None:
    found, packed = gradients(route, training), gradients("packed", training)
    assert len(found) == 17  # the vectors, and 4 weights in 2 directions of 2 layers
    for ours, theirs in zip(found, packed, strict=True):
        assert theirs.abs().max() > 0
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


def test_a_document_encodes_alone_as_in_a_batch() -> None:
    (vectors, lengths), module = batch(), lstm()
    together = module(vectors, lengths)
    for row, length in enumerate(LENGTHS):
        alone = module(vectors[row : row + 1, :length], lengths[row : row + 1])
        torch.testing.assert_close(alone.states[0], together.states[row, :length], atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(alone.summary[0], together.summary[row], atol=1e-6, rtol=1e-5)


def test_what_stands_at_padding_does_not_matter() -> None:
    (vectors, lengths), module = batch(), lstm()
    spoilt = vectors.clone()
    spoilt[5, LENGTHS[5] :] = 1e3
    torch.testing.assert_close(module(spoilt, lengths).states, module(vectors, lengths).states)


def test_dropout_lies_between_the_layers_and_only_in_training() -> None:
    vectors, lengths = batch()
    plain = lstm()(vectors, lengths)
    assert torch.equal(lstm(dropout=0.5).eval()(vectors, lengths).states, plain.states)
    dropped = lstm(dropout=0.5)(vectors, lengths)
    assert not torch.equal(dropped.summary, plain.summary)
    assert torch.equal(
        lstm(0.5, layers=1)(vectors, lengths).states, lstm(0.0, layers=1)(vectors, lengths).states
    )


def test_words_are_looked_up_and_dropped_out() -> None:
    torch.manual_seed(0)
    encoder = BiLSTMEncoder(words=9, embedding=4, hidden=3, layers=2, dropout=0.5).eval()
    ids, lengths = torch.tensor([[3, 8, 1], [5, 0, 0]]), torch.tensor([3, 1])
    expected = encoder.bilstm(encoder.embedding(ids), lengths)
    assert torch.equal(encoder(ids, lengths).states, expected.states)
    assert encoder.embedding.weight[0].abs().sum() == 0
    assert not torch.equal(encoder.train()(ids, lengths).summary, expected.summary)


@pytest.mark.parametrize("words", [1, 90, bilstm_prediction.WORDS_AT_A_TIME])
@pytest.mark.parametrize("layers", [1, 2])
def test_prediction_reads_some_words_at_a_time_and_finds_the_same(
    monkeypatch: pytest.MonkeyPatch, words: int, layers: int
) -> None:
    monkeypatch.setattr(bilstm_prediction, "WORDS_AT_A_TIME", words)
    torch.manual_seed(0)
    encoder = BiLSTMEncoder(words=9, embedding=4, hidden=3, layers=layers).eval()
    lengths = torch.tensor(LENGTHS)
    mask = torch.arange(max(LENGTHS) + 2) < lengths[:, None]
    ids = torch.randint(1, 9, mask.shape).masked_fill(~mask, 0)
    expected = encoder.bilstm(encoder.embedding(ids), lengths)
    with torch.no_grad():
        found = encoder(ids, lengths)
    assert torch.equal(found.mask, mask)
    assert found.states[~mask].abs().sum() == 0
    torch.testing.assert_close(found.states, expected.states.detach(), atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(found.summary, expected.summary.detach(), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize(
    ("lengths", "width", "segments"),
    [
        ([4], 4, [(4, 1)]),
        ([4], 9, [(9, 1)]),
        ([5, 3, 1], 5, [(1, 3), (2, 2), (2, 1)]),  # each one is at least an eighth of those that still read
        ([7, 7, 2, 2], 8, [(2, 4), (6, 2)]),
        ([9] * 8 + [6], 9, [(9, 9)]),  # one of nine is too few to leave,
        ([9] * 8 + [7, 6], 9, [(7, 10), (2, 8)]),  # two of ten are enough, when the second of them ends
    ],
)
def test_documents_leave_when_an_eighth_has_ended(
    lengths: list[int], width: int, segments: list[tuple[int, int]]
) -> None:
    assert cut_segments(lengths, width) == segments


@given(st.lists(st.integers(1, 300), min_size=1, max_size=70), st.integers(0, 5))
def test_segments_read_every_word_and_little_padding(lengths: list[int], room: int) -> None:
    ordered = sorted(lengths, reverse=True)
    segments = cut_segments(ordered, ordered[0] + room)
    assert sum(segment.words for segment in segments) == ordered[0] + room
    start = 0
    for words, live in segments:
        assert words > 0
        # Everyone who has a word from here on is there, and nobody else is.
        assert sum(length > start for length in ordered) == live
        ended = sum(length <= start + words - 1 for length in ordered[:live])
        assert LEAVING * ended < live or (words, live) == segments[-1]
        start += words


@pytest.mark.parametrize(
    ("lengths", "text"),
    [
        ([3, 0], r"^documents have 0 to 3 words; this batch takes 1 to 4$"),
        ([1, 5], r"have 1 to 5 words; this"),
    ],
)
def test_impossible_lengths_are_refused(lengths: list[int], text: str) -> None:
    with pytest.raises(InputError, match=text):
        lstm()(torch.zeros(2, 4, 4), torch.tensor(lengths))


def test_each_device_has_its_route() -> None:
    assert [choose_route(torch.device(name)) for name in ("cpu", "cuda", "mps")] == [
        "flipped",
        "packed",
        "whole",
    ]
