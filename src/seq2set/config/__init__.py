"""Settings: frozen, documented and validated; TOML in and out; every fault reported at once."""

from seq2set.config.catalog import MODELS, PRESETS
from seq2set.config.loader import (
    build_config,
    differ_only_in,
    list_changes,
    load_config,
    merge_settings,
    nest_setting,
    parse_assignment,
    read_preset,
    validate,
    write_toml,
)
from seq2set.config.schema import Config, DataSettings

__all__ = [
    "MODELS",
    "PRESETS",
    "Config",
    "DataSettings",
    "build_config",
    "differ_only_in",
    "list_changes",
    "load_config",
    "merge_settings",
    "nest_setting",
    "parse_assignment",
    "read_preset",
    "validate",
    "write_toml",
]
