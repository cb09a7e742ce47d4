"""One TOML file per model: the settings that a study of it varies unless told otherwise."""
