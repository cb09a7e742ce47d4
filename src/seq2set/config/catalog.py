"""Which sections of the settings a model reads: what it does not read cannot change its run."""

from __future__ import annotations

_LINEAR = {"features", "linear"}
_NETWORK = {"encoder", "training", "search"}
_DECODER = _NETWORK | {"decoder", "label_order"}
_SET = _DECODER | _LINEAR | {"set_decoder", "prior", "objective", "warm_start", "self_critical"}

OF_ITS_OWN = {
    "br": _LINEAR,
    "cc": _LINEAR | {"chain"},
    "lp": _LINEAR | {"powerset"},
    "cnn": _NETWORK | {"cnn", "likelihood"},
    "cnn-rnn": _DECODER | {"cnn", "likelihood"},
    "seq2seq": _DECODER | {"likelihood"},
    "seq2set-simp": _SET,
    "seq2set": _SET,
}
"""The sections that not every model reads, by model."""

_SHARED = frozenset[str]().union(*OF_ITS_OWN.values())


def reads(model: str, setting: str) -> bool:
    """Say whether a model reads a setting, such as `cnn.filters`."""
    section = setting.partition(".")[0]
    return section not in _SHARED or section in OF_ITS_OWN[model]
