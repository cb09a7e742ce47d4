"""Searches over one step function: greedy, sampled, beam and set beam; and the scoring of given sequences."""

from seq2set.nn.decoding.beam import Hypotheses, beam_search, set_beam_search
from seq2set.nn.decoding.policy import Policy, State
from seq2set.nn.decoding.rollout import Rollout, label_masks
from seq2set.nn.decoding.searches import greedy, sample
from seq2set.nn.decoding.teaching import Scores, attention_along, order_free, score_sequences

__all__ = [
    "Hypotheses",
    "Policy",
    "Rollout",
    "Scores",
    "State",
    "attention_along",
    "beam_search",
    "greedy",
    "label_masks",
    "order_free",
    "sample",
    "score_sequences",
    "set_beam_search",
]
