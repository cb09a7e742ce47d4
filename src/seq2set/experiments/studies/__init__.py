"""The tables and figures of the paper, one file per study."""
