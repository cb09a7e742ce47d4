"""Errors, files, processes, progress, drawing: nothing here knows of texts."""
