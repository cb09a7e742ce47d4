"""Evaluations for people: a page with tables and plots."""
