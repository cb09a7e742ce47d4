"""One TOML file a model: the settings that a study of it varies unless told otherwise."""
