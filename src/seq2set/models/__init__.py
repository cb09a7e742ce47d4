"""One file per model of the paper, and what the models share."""
