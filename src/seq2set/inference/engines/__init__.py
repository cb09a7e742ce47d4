"""Where predictions are computed: one row per engine.

An engine takes blocks of texts and returns the predictions of each block, in the order of the blocks. A block
is computed by one process with one thread, so that its predictions do not depend on the engine, nor on how
many processes there are.
"""

from __future__ import annotations

from typing import NamedTuple


class EngineKind(NamedTuple):
    """An engine; `open` is loaded when it is used."""

    summary: str
    open: str
    """Takes `EngineSettings`, and returns an `Engine`"""


ENGINES = {
    "local": EngineKind("processes on this machine", "seq2set.inference.engines.local:open_local"),
    "ray": EngineKind("actors on a Ray cluster", "seq2set.inference.engines.ray_actors:RayEngine"),
}
"""The engines, by name."""
