"""How sure a model is: calibrated scores, and the labels that may be accepted without a look."""
