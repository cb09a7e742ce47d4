"""Choices made on the validation split: decision rules, and studies of settings."""
