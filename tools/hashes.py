"""Compare what pip has installed with the files that were tested, or write down the hashes of those.

    python -I tools/hashes.py check REPORT        what `pip install --report REPORT` took
    python tools/hashes.py write                  hashes.txt anew, for the versions of constraints.txt

pip has a mode of its own that requires hashes, but for all packages or none, and for every Python and machine
at once. Two things here have none: this package itself, which is installed from its folder, and torch, whose
builds without CUDA come from other places under the same version. So `make setup` lets pip resolve and
install, and then compares the hash of each file before anything of it is run. A version that is listed must
come as one of the files that are listed; what is not listed is named. This needs the standard library only.
"""

from __future__ import annotations

import json
import re
import sys
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CONSTRAINTS, HASHES = ROOT / "constraints.txt", ROOT / "hashes.txt"
UNLISTED = ("torch",)
"""Packages whose builds differ from place to place."""
_LINK = re.compile(r'href="(?:[^"]*/)?([^"/#]+)#sha256=([0-9a-f]{64})"')
_HEAD = "# SHA-256 of every file of the versions in constraints.txt, but torch; written by `make hashes`.\n"

Hashes = dict[str, set[str]]


def normalize(name: str) -> str:
    """Return the name of a package as indexes have it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_pins(text: str) -> list[str]:
    """Return `name==version` of each line."""
    rows = [line.partition("#")[0].partition(";")[0].strip() for line in text.splitlines()]
    split = [row.split("==") for row in rows if "==" in row]
    return [f"{normalize(name.strip())}=={version.strip()}" for name, version in split]


def read_hashes(text: str) -> Hashes:
    """Return the hashes of each pinned version."""
    rows = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return {pin: set(digests) for pin, *digests in rows}


def check(report: dict[str, Any], known: Hashes) -> tuple[list[str], list[str]]:
    """Return the faults, and what could not be compared."""
    faults, unlisted = [], []
    names = {pin.partition("==")[0] for pin in known}
    for one in report["install"]:
        name = normalize(one["metadata"]["name"])
        pin = f"{name}=={one['metadata']['version'].partition('+')[0]}"
        source = one["download_info"]
        if "dir_info" in source or name not in names:
            unlisted.append(pin)
            continue
        digest = source.get("archive_info", {}).get("hashes", {}).get("sha256", "")
        if digest not in known.get(pin, set()):
            faults.append(f"{pin}: {source['url'].rpartition('/')[2]} has the SHA-256 {digest or 'unknown'}")
    return faults, unlisted


def check_report(path: Path) -> int:
    """Print what is wrong with an installation; exit code 1 if anything is."""
    faults, unlisted = check(json.loads(path.read_text("utf-8")), read_hashes(HASHES.read_text("utf-8")))
    if unlisted:
        print(f"not compared with hashes.txt: {', '.join(sorted(unlisted))}")
    for fault in faults:
        print(f"{fault}, which is not in hashes.txt; it may have been tampered with", file=sys.stderr)
    return 1 if faults else 0


def write() -> int:
    """Write the hashes that the package index has now."""
    from pip._internal.models.index import PyPI  # the default of pip, whatever it is

    known, rows = read_hashes(HASHES.read_text("utf-8")) if HASHES.is_file() else {}, []
    for pin in read_pins(CONSTRAINTS.read_text("utf-8")):
        name, _, version = pin.partition("==")
        if name not in UNLISTED:
            rows.append(
                " ".join([pin, *sorted(known.get(pin) or fetch(f"{PyPI.simple_url}/{name}/", name, version))])
            )
    HASHES.write_text(_HEAD + "\n".join(rows) + "\n", "utf-8")
    return 0


def fetch(address: str, name: str, version: str) -> set[str]:
    """Return the hashes of all files of a version."""
    with urllib.request.urlopen(address, timeout=180) as answer:  # noqa: S310 (pip's own index)
        page = answer.read().decode()
    found = {digest for file, digest in _LINK.findall(page) if is_of_version(file, name, version)}
    if not found:
        sys.exit(f"no files of {name} {version} have hashes at {address}")
    return found


def is_of_version(file: str, name: str, version: str) -> bool:
    """Say whether a file is a wheel or a source archive of a version."""
    start = re.compile(
        re.sub("-", "[-_.]+", re.escape(name).replace(r"\-", "-")) + "-" + re.escape(version), re.I
    )
    found = start.match(file)
    return found is not None and file[found.end() :].startswith(("-", ".tar.gz", ".zip"))


if __name__ == "__main__":
    sys.exit(write() if sys.argv[1] == "write" else check_report(Path(sys.argv[2])))
