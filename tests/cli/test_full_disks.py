"""Commands on a file system that is really full: a sentence, exit code 2, and nothing left behind.

A file system of a megabyte in memory is mounted in a namespace of its own, which ends with the command.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from seq2set.config.run_folder import RunFolder
from seq2set.corpora.prepared import PreparedCorpus

SCRIPT = """
set -e
mount -t tmpfs -o size=$1k,mode=777 none "$2"
shift
cd "$1"
shift
"$@" 2> "$OUT/stderr" > "$OUT/stdout" && code=0 || code=$?
find . -mindepth 1 | sort > "$OUT/left"
exit $code
"""
Full = Callable[..., "tuple[int, str, list[str]]"]


@pytest.fixture
def full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Full:
    """Run seq2set where so many KiB are free; return its exit code, what it said and what it left."""
    place, out = tmp_path / "full", tmp_path / "out"
    place.mkdir()
    out.mkdir()
    monkeypatch.setenv("OUT", str(out))
    if not shutil.which("unshare"):
        pytest.skip("there is no unshare on this system, so no file system can be mounted")
    begin = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    tried = subprocess.run([*begin, 'mount -t tmpfs none "$0"', str(place)], capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"no file system can be mounted here: {tried.stderr.strip()}")

    def run(kilobytes: int, *arguments: str) -> tuple[int, str, list[str]]:
        command = [sys.executable, "-m", "seq2set", *arguments]
        done = subprocess.run([*begin, SCRIPT, "sh", str(kilobytes), str(place), *command], check=False)
        return done.returncode, (out / "stderr").read_text(), (out / "left").read_text().split()

    return run


def test_a_model_that_does_not_fit(full: Full, small_corpus: PreparedCorpus) -> None:
    options = ["--data", str(small_corpus.folder), "--out", "run", "--set", "linear.c=[1]"]
    code, said, left = full(12, "train", "--model", "br", *options)
    assert code == 2
    assert "cannot write to" in said
    assert said.rstrip().endswith("the disk is full")
    assert "Traceback" not in said
    assert not [one for one in left if "model" in one]
    assert not [one for one in left if "/." in one[2:]]


@pytest.mark.parametrize("kilobytes", [12, 28, 44])
def test_a_student_that_does_not_fit(
    full: Full, br_run: RunFolder, small_corpus: PreparedCorpus, kilobytes: int
) -> None:
    options = ["--data", str(small_corpus.folder), "--out", "run", "--folds", "2", "--set", "linear.c=[1]"]
    code, said, left = full(kilobytes, "distill", str(br_run.path), "--model", "br", *options)
    assert code == 2
    assert said.rstrip().endswith("the disk is full")
    assert "Traceback" not in said
    assert not [one for one in left if one.startswith("./run/model")]
    assert not [one for one in left if "/." in one[2:]]


def test_a_corpus_that_does_not_fit(full: Full, small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    lines = ["text,labels", *(f"{number} {'wheat ' * 60},a" for number in range(3000))]
    (tmp_path / "own.csv").write_text("\n".join(lines))
    code, said, left = full(
        100, "data", "prepare", "own", "--from", str(tmp_path / "own.csv"), "--out", "prepared"
    )
    assert code == 2
    assert said.rstrip().endswith("cannot write to prepared: the disk is full")
    assert left == []


def test_predictions_that_do_not_fit(full: Full, br_run: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("wheat harvest\n" * 2000)
    texts = str(tmp_path / "texts.txt")
    code, said, left = full(12, "predict", str(br_run.path), "--input", texts, "--output", "found.csv")
    assert code == 2
    assert said.rstrip().endswith("cannot write to found.csv: the disk is full")
    assert left == []
