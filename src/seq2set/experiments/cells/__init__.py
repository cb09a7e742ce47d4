"""Cells: one training and its predictions each; planned, run, resumed."""
