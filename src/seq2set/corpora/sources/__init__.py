"""One known source of documents a file."""
