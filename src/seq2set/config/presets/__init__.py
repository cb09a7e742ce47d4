"""One TOML file a preset."""
