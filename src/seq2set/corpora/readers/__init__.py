"""One reader a file format."""
