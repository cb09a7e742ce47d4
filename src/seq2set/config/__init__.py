"""Settings: frozen, documented and validated; TOML in and out; every fault reported at once."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seq2set.config.loader import build_config, load_config, validate, write_toml
    from seq2set.config.schema import Config, DataSettings

__all__ = ["Config", "DataSettings", "build_config", "load_config", "validate", "write_toml"]


_SCHEMA = ("Config", "DataSettings")


def __getattr__(name: str) -> Any:
    """Load the settings when one of the names is asked for: who needs the catalog alone does without them."""
    if name not in __all__:
        raise AttributeError(f"module 'seq2set.config' has no attribute '{name}'")
    return getattr(import_module(f"seq2set.config.{'schema' if name in _SCHEMA else 'loader'}"), name)
