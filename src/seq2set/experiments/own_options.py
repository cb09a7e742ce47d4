"""How experiments read their own options: texts that `--option` was given, with the faults named."""

from __future__ import annotations

from collections.abc import Collection

from seq2set.errors import InputError, UnknownNameError
from seq2set.experiments.options import Options


def own_share(options: Options, name: str, default: float) -> float:
    """Read a number from 0 to 1."""
    text = options.extra.get(name)
    return default if text is None else _share(text, f"--option {name} is '{text}'; it must be a number")


def own_shares(options: Options, name: str, default: tuple[float, ...]) -> tuple[float, ...]:
    """Read numbers from 0 to 1 with commas between, and put them in ascending order."""
    if (text := options.extra.get(name)) is None:
        return default
    fault = f"--option {name} is '{text}'; it must be numbers with commas between, each"
    return tuple(sorted({_share(part, fault) for part in text.split(",")}))


def own_names(options: Options, name: str, known: Collection[str]) -> tuple[str, ...]:
    """Read names with commas between; all that are known where none are named."""
    if (text := options.extra.get(name)) is None:
        return tuple(known)
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    for one in names:
        if one not in known:
            raise UnknownNameError(f"--option {name}:", one, known)
    return names


def refuse_other_models(options: Options, allowed: Collection[str], why: str) -> None:
    """Refuse models that an experiment says nothing about."""
    if wrong := [model for model in options.models if model not in allowed]:
        raise InputError(f"--models has {', '.join(wrong)}; it must be among {', '.join(allowed)}: {why}")


def refuse_without_self_critical_phase(options: Options, setting: str) -> None:
    """Refuse to vary a setting that no phase of the training would read."""
    for model in options.models:
        if not options.config(model, 1).self_critical.epochs:
            raise InputError(
                f"self_critical.epochs is 0; it must be >= 1, for {setting} is read in that phase only"
            )


def _share(text: str, fault: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise InputError(f"{fault} from 0 to 1")
    return value
