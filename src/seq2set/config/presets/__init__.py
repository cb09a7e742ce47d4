"""One TOML file per preset."""
