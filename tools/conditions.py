"""The conditions that the tests must stand: each changes the environment or what pytest is started by."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

NOBODY = 65534
"""The user without rights; he exists on every Linux and owns nothing."""

PYTHONS = ("3.10", "3.11", "3.12", "3.13")
THIS = f"{sys.version_info.major}.{sys.version_info.minor}"


class CannotBeHadError(Exception):
    """The machine cannot make the condition; the message says why."""


@dataclass(frozen=True)
class Place:
    """Where a row runs: a copy of the project and a folder for all that its tests write."""

    tree: Path
    scratch: Path


Wrap = Callable[[Place], Sequence[str]]


def _nothing(place: Place) -> Sequence[str]:  # noqa: ARG001
    return ()


@dataclass(frozen=True)
class Condition:
    """One row of the table."""

    name: str
    what: str
    environment: dict[str, str] = field(default_factory=dict)
    before: Wrap = _nothing
    busy: int = 0
    python: str = ""


def _without_network(place: Place) -> Sequence[str]:  # noqa: ARG001
    _needs_root("a network of its own")
    _needs("unshare", "ip")
    return ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]


def _without_rights(place: Place) -> Sequence[str]:
    """Run as another user who owns the copy; the interpreter may lie in a folder that only root may enter."""
    if os.geteuid() != 0:
        return ()  # whoever starts this is not root already
    _needs("setpriv", "unshare", "mount")
    for path in (place.tree, place.scratch):
        _give_away(path)
    drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all"]
    folders = [one for one in _interpreter_folders() if _closed_folder(one)]
    if not folders:
        return drop
    script = f'{_open_folders(folders, place.scratch / "interpreter")} && exec "$@"'
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", *drop]


def _interpreter_folders() -> list[Path]:
    """Return the folders that this Python and its packages lie in, without those inside of another."""
    every = {Path(one) for one in (sys.base_prefix, sys.prefix, *sys.path) if one and Path(one).is_dir()}
    return sorted(one for one in every if not every & set(one.parents))


def _open_folders(folders: Sequence[Path], kept: Path) -> str:
    """Return commands for a view of the file system in which closed folders are open and hold these alone."""
    before, after = [], []
    for number, folder in enumerate(folders):
        aside, inside = kept / str(number), shlex.quote(str(folder))
        aside.mkdir(parents=True)
        before.append(f"mount --bind {inside} '{aside}'")
        after.append(f"mkdir -p {inside} && mount --bind '{aside}' {inside}")
    closed = sorted({str(_closed_folder(one)) for one in folders})
    over = [f"mount -t tmpfs -o mode=755 none {shlex.quote(one)}" for one in closed]
    return " && ".join([*before, *over, *after])


def _give_away(path: Path) -> None:
    for one in (path, *path.rglob("*")):
        os.chown(one, NOBODY, NOBODY, follow_symlinks=False)


def _closed_folder(path: Path) -> Path | None:
    """Return the outermost folder on the way that other users may not enter."""
    ways = [path, *path.parents][::-1]
    return next((one for one in ways if not one.stat().st_mode & stat.S_IXOTH), None)


def _needs_root(what: str) -> None:
    if os.geteuid() != 0:
        raise CannotBeHadError(f"{what} needs root")


def _needs(*commands: str) -> None:
    for command in commands:
        if shutil.which(command) is None:
            raise CannotBeHadError(f"the command {command} is missing")


def combine(name: str, what: str, *parts: Condition) -> Condition:
    """Return the condition under which all parts hold; each is started by the one before it."""
    environment = {key: value for one in parts for key, value in one.environment.items()}

    def before(place: Place) -> Sequence[str]:
        return [word for one in parts for word in one.before(place)]

    return Condition(name, what, environment, before, busy=sum(one.busy for one in parts))


PLAIN = Condition("plain", f"nothing special, Python {THIS}")
BUSY = Condition("busy", "8 busy processes beside the tests", busy=8)
OTHER_MACHINES = (
    Condition("avx2", "a processor without AVX-512", {"ONEDNN_MAX_CPU_ISA": "AVX2"}),
    Condition("default-kernels", "a processor without AVX", {"ATEN_CPU_CAPABILITY": "default"}),
    # Rights go last: whoever has none cannot leave the network.
    Condition("no-network", "no network but the machine itself", before=_without_network),
    Condition("not-root", "a user without rights", before=_without_rights),
    # LC_ALL=C alone turns Python's UTF-8 mode on, as PYTHONUTF8=0 prevents.
    Condition(
        "ascii", "LC_ALL=C and no UTF-8 mode", {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ),
    Condition("kathmandu", "a time zone of 5:45 hours", {"TZ": "Asia/Kathmandu"}),
)
CONDITIONS = (
    PLAIN,
    combine("all-at-once", "the six rows below at the same time", *OTHER_MACHINES),
    *OTHER_MACHINES,
    BUSY,
    *(Condition(f"python{one}", f"Python {one}", python=one) for one in PYTHONS if one != THIS),
)
