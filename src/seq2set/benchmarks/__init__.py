"""Speed as a ratio: both sides measured in the same run, one benchmark a file."""
