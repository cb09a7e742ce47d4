"""The HTTP API of `seq2set serve`, and the page that it serves."""
