"""What the predictions of cells say: statistics, comparisons, claims."""
