"""Settings: frozen, documented and validated; TOML in and out; every fault reported at once."""

from seq2set.config.catalog import MODELS, PRESETS
from seq2set.config.loading import (
    build_config,
    changes,
    differ_only_in,
    load_config,
    merged,
    nested,
    parse_assignment,
    preset_values,
    validated,
    write_toml,
)
from seq2set.config.schema import Config, DataSettings

__all__ = [
    "MODELS",
    "PRESETS",
    "Config",
    "DataSettings",
    "build_config",
    "changes",
    "differ_only_in",
    "load_config",
    "merged",
    "nested",
    "parse_assignment",
    "preset_values",
    "validated",
    "write_toml",
]
