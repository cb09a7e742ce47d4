"""What the linear models have in common: br, cc, lp and the linear prior say what is their own."""
