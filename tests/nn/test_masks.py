"""The symbols of a label sequence, and the mask of those that cannot come next."""

from __future__ import annotations

import torch

from seq2set.nn.decoder import Symbols, compute_log_probs, mark_emitted


def test_what_is_generated_comes_first() -> None:
    symbols = Symbols(5)
    assert (symbols.eos, symbols.bos, symbols.pad) == (5, 6, 7)
    assert symbols.outputs == 6  # 0..4 and eos
    assert symbols.inputs == 8


def test_emitted_labels_are_masked_and_eos_never_is() -> None:
    nothing = torch.zeros(1, 4, 4, dtype=torch.bool)  # 3 labels and eos
    emitted = mark_emitted(mark_emitted(nothing, torch.tensor([[0, 2, 3, 5]])), torch.tensor([[1, 2, 3, 4]]))
    assert emitted[0].int().tolist() == [[1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert not nothing.any()


def test_only_eos_is_left_after_all_labels() -> None:
    everything = torch.tensor([True, True, False])
    logits = torch.tensor([5.0, 1.0, -30.0], requires_grad=True)
    log_probs = compute_log_probs(logits, everything)
    assert log_probs.tolist() == [float("-inf"), float("-inf"), 0.0]
    log_probs[2].backward()
    assert logits.grad is not None
    assert logits.grad.tolist() == [0.0, 0.0, 0.0]


def test_half_precision_logits_give_full_precision_log_probs() -> None:
    logits = torch.tensor([0.5, -0.25], dtype=torch.bfloat16)
    found = compute_log_probs(logits, torch.zeros(2, dtype=torch.bool))
    torch.testing.assert_close(found, torch.log_softmax(torch.tensor([0.5, -0.25]), -1), rtol=1e-6, atol=1e-6)
