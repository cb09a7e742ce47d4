"""Model folders and what predicts with them."""
