"""Searches over one step function: greedy, sampled, beam and set beam; and the scoring of given sequences."""
