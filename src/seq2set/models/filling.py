"""Label sets that are too small for a request, filled up: the decoder goes on where it stopped.

Letters: B texts, S labels, L labels in all.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from seq2set.models.searching import Found
from seq2set.nn.decoder import DecoderPolicy
from seq2set.nn.decoding.rollout import Picked, Turn, counted, roll_out, without_hypotheses
from seq2set.nn.symbols import Symbols

_OPEN = -1


def filled(policy: DecoderPolicy, found: Found, least: int) -> Found:
    """Add to sequences of fewer than `least` labels those that the decoder likes best after them.

    An added label scores the probability of its step, unless the search gave it more.
    """
    least = min(least, policy.labels)
    if found.sequences is None or all(len(row) >= least for row in found.sequences):
        return found
    path = _path(found.sequences, least, Symbols(policy.labels)).to(policy.device)

    def go_on(turn: Turn) -> Picked:
        step = turn.emitted.sum(-1).clamp(max=path.shape[1] - 1)  # (B', 1)
        wanted = path.index_select(0, turn.documents).gather(1, step)
        likeliest = turn.log_probs[..., :-1].argmax(-1)
        return counted(turn, torch.where(wanted == _OPEN, likeliest, wanted))

    rollout = without_hypotheses(roll_out(policy, go_on))
    rows = zip(rollout.labels.cpu().numpy(), rollout.steps.exp().cpu().numpy(), strict=True)
    scores, sequences = found.scores.copy(), list(found.sequences)
    for text, (labels, chances) in enumerate(rows):
        new = slice(len(sequences[text]), max(least, len(sequences[text])))
        np.maximum.at(scores[text], labels[new], chances[new])
        sequences[text] = labels[: new.stop].astype(np.intp)
    return Found(scores, sequences)


def _path(sequences: list[npt.NDArray[np.intp]], least: int, symbols: Symbols) -> Tensor:
    """Return what is to be emitted (B, S + 1): given labels, then any until there are enough, then `eos`."""
    longest = max(least, *map(len, sequences))
    path = np.full((len(sequences), longest + 1), symbols.eos)
    path[:, :least] = _OPEN
    for row, labels in zip(path, sequences, strict=True):
        row[: len(labels)] = labels
    return torch.from_numpy(path)
