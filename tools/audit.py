"""Compare what is installed with constraints.txt, and its files with the hashes that they came with.

It says what differs and exits with 1: another version than the one that was tested, a file that was changed
or removed after it was installed. It needs no network, so it knows nothing of holes that were found since;
where there is one, `pip-audit --requirement constraints.txt` asks for those.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

from hashes import CONSTRAINTS, normalize, read_pins

_OWN = ("pip", "seq2set", "setuptools")
"""What no pin is for: the package itself, and what makes environments."""


def list_versions(pins: list[str]) -> Iterator[str]:
    """Say which packages have another version than the pinned one, or no pin."""
    pinned = dict(pin.split("==") for pin in pins)
    for one in distributions():
        name, version = normalize(one.metadata["Name"]), one.version.partition("+")[0]
        if name not in _OWN and pinned.get(name) != version:
            yield f"{name} {version} is installed, and {pinned.get(name, 'nothing')} was tested"


def list_changes(one: Distribution) -> Iterator[str]:
    """Say which files of a package are not as they came."""
    # Not by `one.files`, which leaves out files that are missing, from Python 3.12 on.
    for name, digest, *_ in csv.reader((one.read_text("RECORD") or "").splitlines()):
        if not digest or ".." in Path(name).parts:  # commands of the environment are written where they are
            continue
        mode, _, expected = digest.partition("=")
        try:
            content = hashlib.new(mode, Path(str(one.locate_file(name))).read_bytes()).digest()
        except OSError as error:
            yield f"{name}: {error.strerror}"
            continue
        if base64.urlsafe_b64encode(content).decode().rstrip("=") != expected:
            yield f"{name} was changed after it was installed"


def main() -> int:
    """Print all faults."""
    found = list(list_versions(read_pins(CONSTRAINTS.read_text("utf-8"))))
    found += [fault for one in distributions() for fault in list_changes(one)]
    print("\n".join(found) or "everything is as it was tested, and as it came")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
