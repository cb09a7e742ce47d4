"""Documents: readers by format, known sources, splits, statistics and checks."""
