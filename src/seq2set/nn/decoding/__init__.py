"""Decoding: searches of prediction, which need no torch, and rollouts of training, with gradients."""
