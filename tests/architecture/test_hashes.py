"""What pip installs is compared with hashes.txt."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import PathDistribution
from pathlib import Path
from typing import Any

import pytest

import audit
import hashes

GOOD, BAD = "a" * 64, "b" * 64
KNOWN = hashes.read_hashes(f"# a comment\na-b==1.0 {GOOD}\n")


def install(name: str, version: str, **source: Any) -> dict[str, Any]:
    info = {"url": f"https://index.example/{name}-{version}.whl", **source}
    return {"metadata": {"name": name, "version": version}, "download_info": info}


def archive(digest: str) -> dict[str, Any]:
    return {"archive_info": {"hashes": {"sha256": digest}}}


def test_every_pinned_version_but_torch_has_hashes() -> None:
    pins = set(hashes.read_pins(hashes.CONSTRAINTS.read_text("utf-8")))
    known = hashes.read_hashes(hashes.HASHES.read_text("utf-8"))
    assert {pin for pin in pins - set(known) if not pin.startswith("torch==")} == set(), "run `make hashes`"
    assert all(len(digest) == 64 for digests in known.values() for digest in digests)
    assert min(map(len, known.values())) >= 1


@pytest.mark.parametrize(
    ("taken", "faults", "unlisted"),
    [
        (install("A_b", "1.0", **archive(GOOD)), 0, []),
        (install("a.b", "1.0", **archive(BAD)), 1, []),
        (install("a-b", "1.1", **archive(GOOD)), 1, []),  # its version is not pinned, so nobody tested it
        (install("a-b", "1.0", archive_info={}), 1, []),
        (install("torch", "2.13.0+cpu", **archive(BAD)), 0, ["torch==2.13.0"]),
        (install("seq2set", "0.1.0", dir_info={"editable": True}), 0, ["seq2set==0.1.0"]),
    ],
)
def test_files_are_compared(taken: dict[str, Any], faults: int, unlisted: list[str]) -> None:
    found = hashes.check({"install": [taken]}, KNOWN)
    assert (len(found[0]), found[1]) == (faults, unlisted)


def test_another_file_stops_the_setup(tmp_path: Path) -> None:
    pin, digests = next(iter(hashes.read_hashes(hashes.HASHES.read_text("utf-8")).items()))
    report = tmp_path / "report.json"
    for digest, code in ((min(digests), 0), (BAD, 1)):
        report.write_text(json.dumps({"install": [install(*pin.split("=="), **archive(digest))]}), "utf-8")
        command = [sys.executable, "-I", "tools/hashes.py", "check", str(report)]
        done = subprocess.run(command, cwd=hashes.ROOT, capture_output=True, text=True)
        assert done.returncode == code
        assert ("which is not in hashes.txt; it may have been tampered with" in done.stderr) is (code == 1)


@pytest.mark.parametrize(
    ("file", "is_one"),
    [
        ("a_b-1.0-py3-none-any.whl", True),
        ("A.b-1.0.tar.gz", True),
        ("a_b-1.0.1-py3-none-any.whl", False),
        ("a_b-1.0.post1.tar.gz", False),
        ("a_b_c-1.0.tar.gz", False),
    ],
)
def test_files_of_a_version_are_known_by_their_names(file: str, is_one: bool) -> None:
    assert hashes.is_of_version(file, "a-b", "1.0") is is_one


def test_a_changed_file_of_a_package_is_noticed(tmp_path: Path) -> None:
    info = tmp_path / "a-1.dist-info"
    info.mkdir()
    (tmp_path / "a.py").write_text("1", "utf-8")
    # base64 of SHA-256 of "1", which is 6b86b273...
    (info / "RECORD").write_text("a.py,sha256=a4ayc_80_OGda4BO_1o_V0etpOqiLx1JwB5S3beHW0s,1\n", "utf-8")
    one = PathDistribution(info)
    assert list(audit.list_changes(one)) == []
    (tmp_path / "a.py").write_text("2", "utf-8")
    assert list(audit.list_changes(one)) == ["a.py was changed after it was installed"]
    (tmp_path / "a.py").unlink()
    assert list(audit.list_changes(one)) == ["a.py: No such file or directory"]
