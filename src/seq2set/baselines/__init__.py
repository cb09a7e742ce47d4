"""The linear baselines; nothing here imports torch."""
