"""A Ray cluster: one that runs already, or one of this machine for as long as a command takes.

Nothing is reported to the makers of Ray. A cluster of our own listens on the loopback interface only, and
asks for a token that nobody else knows.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from seq2set.core.errors import InputError, WorkError, import_extra

CONNECT_SECONDS = 10.0
"""How long a cluster may take to accept a connection."""

_DEFAULTS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_NUM_REDIS_GET_RETRIES": "1",  # each attempt to reach a cluster takes 40 seconds
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # what it will be, without a warning about it
}

_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Whatever its name says: with it Ray listens on the loopback interface only, on every system."""


@contextmanager
def open_cluster(address: str | None, cpus: int) -> Iterator[Any]:
    """Give the package `ray`, connected to a cluster; without an address one of this many CPUs is started."""
    for name, value in (_DEFAULTS | (_LOOPBACK if address is None else {})).items():
        os.environ.setdefault(name, value)
    ray = import_extra("ray", "ray")
    if ray.is_initialized():  # by whoever calls this from Python
        yield ray
        return
    _connect(ray, address, cpus)
    try:
        yield ray
    finally:
        ray.shutdown()


def _connect(ray: Any, address: str | None, cpus: int) -> None:
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    if address is None:
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        ray.init("local", num_cpus=cpus, include_dashboard=False, **quiet)
        return
    _knock(address)
    try:
        ray.init(address, **quiet)
    except Exception as error:  # Ray raises many kinds of them
        reason = str(error).strip().partition("\n")[0]
        raise WorkError(f"the Ray cluster at {address} does not answer: {reason}") from error


def _knock(address: str) -> None:
    """Refuse an address at which nobody listens, which Ray would try for minutes."""
    host, colon, port = address.rpartition("//")[2].rpartition(":")
    if address == "auto":
        return
    if not colon or not port.isdigit():
        raise InputError(f"address is '{address}'; it must be HOST:PORT, such as 10.0.0.5:6379, or auto")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise WorkError(
            f"the Ray cluster at {address} does not answer within {CONNECT_SECONDS:.0f} s ({error}); is it "
            "started, by `ray start --head`?"
        ) from error
