"""Settings: frozen, documented and validated; TOML in and out; every fault reported at once."""

from seq2set.config.assembling import (
    build_config,
    changes,
    differ_only_in,
    load_config,
    merged,
    nested,
    parse_assignment,
    preset_values,
    write_toml,
)
from seq2set.config.faults import validated
from seq2set.config.settings import MODELS, PRESETS, Config, Metric
from seq2set.config.texts import DataSettings

__all__ = [
    "MODELS",
    "PRESETS",
    "Config",
    "DataSettings",
    "Metric",
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
