"""Training: the one loop, its batches, its losses, its checkpoints."""
