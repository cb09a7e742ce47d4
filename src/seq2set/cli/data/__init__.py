"""The verbs of `seq2set data`."""
