"""Rows of prediction's searches: shared beginnings, the noise, a decoder opened for them, and no torch."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from opened import open_policy

from seq2set.nn.decoder import DecoderPolicy
from seq2set.nn.decoding.prefixes import begin, decode_greedily, draw_noise, estimate_marginals
from seq2set.nn.decoding.rescoring import log_sum

World = Callable[..., DecoderPolicy]


def test_hypotheses_that_begin_alike_share_a_row(table: Any) -> None:
    prefixes = begin(table(2, {(): (0.3, 0.5, 0.2), (1,): (0.3, 0.6, 0.1)}, documents=2).open(), 0.5)
    # At a temperature of 1/2 chances are squared: 0.09, 0.25 and 0.04 of 0.38.
    np.testing.assert_allclose(np.exp(prefixes.log_probs[1]), np.array([0.09, 0.25, 0.04]) / 0.38, rtol=1e-5)
    grown, at = prefixes.grow(np.array([1, 0, 1, 1]), np.array([1, 0, 0, 1]))
    assert at.tolist() == [2, 0, 1, 2]
    assert grown.documents.tolist() == [0, 1, 1]
    assert grown.emitted.tolist() == [[True, False, False], [True, False, False], [False, True, False]]
    # After 1, which cannot come again: 0.09 and 0.01 of 0.1.
    np.testing.assert_allclose(np.exp(grown.log_probs[2]), [0.9, 0, 0.1], rtol=1e-5)


def test_as_few_rows_are_computed_as_there_are_beginnings(table: Any) -> None:
    policy, rows = table(2, {(): (0.5, 0.5, 0.0)}, documents=3), []
    decoder = policy.open()
    step = decoder.step
    decoder.step = lambda *parts: rows.append(len(parts[1])) or step(*parts)
    found = estimate_marginals(decoder, 500)
    assert rows == [3, 6]  # each document alone, then after 0 and after 1, though there are 1,500 samples
    np.testing.assert_allclose(found, 0.5, atol=0)  # the expected sum is exact after one step


def test_the_noise_has_the_numbers_of_torch() -> None:
    generator = torch.Generator().manual_seed(7)
    for _, noise in zip(range(3), draw_noise(4, 9, seed=7), strict=False):
        uniform = torch.rand(4, 9, generator=generator).clamp(1e-20, 1 - 1e-7)
        np.testing.assert_allclose(noise, -torch.log(-torch.log(uniform)), rtol=1e-5, atol=1e-6)


def test_the_log_of_a_sum_of_nothing() -> None:
    with np.errstate(divide="ignore"):
        found = log_sum(np.log(np.array([[0.25, 0.5], [0.0, 0.0]])))
    np.testing.assert_allclose(found, [np.log(0.75), -np.inf])


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("sources", [(), (3,), (3, 2)])
@torch.no_grad()
def test_a_decoder_opened_makes_the_steps_of_the_decoder_itself(
    world: World, layers: int, sources: tuple[int, ...]
) -> None:
    policy = world(labels=5, documents=4, layers=layers, sources=sources)
    decoder = open_policy(policy)
    state, expected = decoder.start(), policy.start()
    for symbols in ([6, 6, 6, 6], [1, 0, 4, 2], [3, 2, 1, 0]):
        state, logits = decoder.step(state, np.arange(4), np.arange(4), np.array(symbols))
        expected = policy.advance(expected, torch.tensor(symbols)[:, None])
        np.testing.assert_allclose(logits, policy.logits(expected.features)[:, 0], atol=1e-5)
        np.testing.assert_allclose(decoder.outputs(state), expected.output[:, 0], atol=1e-6)
    # Rows can be dropped, repeated and crowded into one document.
    again, logits = decoder.step(state, np.array([2, 2]), np.array([2, 2]), np.array([0, 3]))
    for row, symbol in enumerate((0, 3)):
        following = policy.advance(expected, torch.full((4, 1), symbol))
        np.testing.assert_allclose(logits[row], policy.logits(following.features)[2, 0], atol=1e-5)
        np.testing.assert_allclose(decoder.outputs(again)[row], following.output[2, 0], atol=1e-6)


@torch.no_grad()
def test_large_sums_of_query_and_key_stay_right(world: World) -> None:
    policy = world(labels=3, documents=5)
    attention = policy.decoder.attentions[0]
    attention.W_a.weight.mul_(5)
    state = policy.advance(policy.start(), torch.full((5, 1), 4))
    assert 5 < attention.W_a(state.output).abs().max() < 20
    decoder = open_policy(policy)
    _, logits = decoder.step(decoder.start(), np.arange(5), np.arange(5), np.full(5, 4))
    np.testing.assert_allclose(logits, policy.logits(state.features)[:, 0], atol=1e-5)
    attention.W_a.weight.mul_(1e6)  # beyond what can be told apart: finite all the same
    decoder = open_policy(policy)
    _, logits = decoder.step(decoder.start(), np.arange(5), np.arange(5), np.full(5, 4))
    assert np.isfinite(logits).all()


def test_states_that_emitted_can_be_attended_to(world: World) -> None:
    policy = world(labels=5, documents=7)
    found = decode_greedily(open_policy(policy), keep_outputs=True)
    assert found.outputs is not None
    assert found.outputs.shape == (7, found.labels.shape[1] + 1, 6)
    assert found.mask.sum(1).tolist() == (found.lengths + 1).tolist()
    assert np.abs(found.outputs[~found.mask]).max() == 0
    assert np.abs(found.outputs[found.mask]).max(1).min() > 0


def test_searches_need_no_torch() -> None:
    names = "searches, beam, rescoring, prefixes"
    code = f"import sys; sys.modules['torch'] = None; from seq2set.nn.decoding import {names}"
    subprocess.run([sys.executable, "-c", code], check=True)
