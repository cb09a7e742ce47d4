"""What would spoil a training run, found before it starts.

`checking.check_corpus` reads a corpus and gives findings. A finding is

- an **error** where training on the corpus, or a figure measured on it, would be wrong: an empty training
  split, no label at all in it, more than 5 % of its documents without text (the wrong column was probably
  read), or more than 1 % of the test documents standing word for word in train or valid;
- a **warning** where results will be worse than they need be, or should be read with care. This holds for
  fewer duplicates too (well-known corpora have some, and their splits are fixed), for duplicates in valid,
  and for near-duplicates, which may be texts of one pattern with different facts;
- a **note** where something is worth knowing and may well be meant.
"""
