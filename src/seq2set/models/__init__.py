"""One file a model of the paper, and the registry that finds them by name."""
