"""Settings: frozen, documented and validated; TOML in and out; every fault reported at once."""

from seq2set.config.loader import build_config, load_config, validate, write_toml
from seq2set.config.schema import Config, DataSettings

__all__ = ["Config", "DataSettings", "build_config", "load_config", "validate", "write_toml"]
