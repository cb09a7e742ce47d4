from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import seq2set as package
from seq2set.core.files import compute_sha256
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.inference import manifest

HEAVY = ("torch", "sklearn", "pyarrow", "matplotlib", "numpy", "scipy", "tokenizers", "rich")


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"], ["data", "prepare", "--help"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys, json\n"
        f"sys.argv = ['seq2set', *{arguments!r}]\n"
        "from seq2set.cli.app import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    loaded = set(json.loads(python(code).stdout.splitlines()[-1]))
    assert not loaded & set(HEAVY)


def test_a_linear_model_is_trained_without_torch(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    arguments = ["train", "--model", "br", "--data", str(small_corpus.folder), "--out", str(tmp_path / "run")]
    code = (
        "import sys\n"
        f"sys.argv = ['seq2set', *{arguments!r}]\n"
        "from seq2set.cli.app import main\n"
        "try: main()\n"
        "except SystemExit as stop: assert not stop.code\n"
        "print('torch' in sys.modules)"
    )
    assert python(code).stdout.splitlines()[-1] == "False"


def measure_cpu(*arguments: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_help_takes_less_than_half_a_second_of_cpu() -> None:
    """Half a second, or what it takes a bare Python twenty times: neighbours slow both down alike."""
    bare, helped = float("inf"), float("inf")
    for _ in range(7):
        bare = min(bare, measure_cpu("-c", "pass"))
        helped = min(helped, measure_cpu("-m", "seq2set", "--help"))
    assert helped < max(0.5, 20 * bare)


def test_what_is_left_at_the_end_is_not_searched_for_cycles() -> None:
    code = (
        "import atexit, gc, sys\n"
        "from seq2set.cli.app import run_process\n"
        "sys.argv = ['seq2set', '--version']\n"
        "atexit.register(lambda: print(gc.get_freeze_count() > 1000))\n"  # runs last: it came first
        "run_process()"
    )
    assert python(code).stdout.splitlines()[-1] == "True"


def test_each_file_of_a_model_is_checked_once(seq2set, br_run, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []

    def compute(path: Path) -> str:
        checked.append(path.name)
        return compute_sha256(path)

    monkeypatch.setattr(manifest, "compute_sha256", compute)
    assert seq2set("predict", br_run.path, "wheat harvest").code == 0
    listed = manifest.read_manifest(br_run.path / "model")["files"]
    assert sorted(checked) == sorted(listed)


def test_version(seq2set) -> None:
    assert seq2set("--version").out == f"seq2set {package.__version__}\n"


def test_completion_is_offered(seq2set) -> None:
    assert "--install-completion" in seq2set("--help").out


def test_an_unknown_verb_is_a_wrong_call(seq2set) -> None:
    outcome = seq2set("trian")
    assert outcome.code == 2
    assert "trian" in outcome.err


@pytest.mark.parametrize("verb", [["predict", "run"], ["train", "--model", "br", "--out", "run", "--data"]])
def test_an_argument_that_the_locale_cannot_read_is_refused(verb: list[str], tmp_path: Path) -> None:
    """As a text it would hold no known word, as a path it could not be written into the run."""
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "seq2set", *verb, "clé".encode()]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ | locale, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (
        2,
        "seq2set: the argument 'cl\\udcc3\\udca9' cannot be read in the encoding of the locale, ascii; "
        "set PYTHONUTF8=1 or a locale with UTF-8\n",
    )


def test_errors_are_sentences_without_traceback(seq2set, tmp_path: Path) -> None:
    outcome = seq2set("predict", tmp_path / "nowhere", "text")
    assert outcome.code == 2
    assert outcome.err == f"seq2set: {tmp_path}/nowhere does not exist; it must be a run or a model folder\n"


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "seq2set", "--debug", "predict", str(tmp_path / "nowhere"), "text"]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 1
    assert "Traceback" in outcome.stderr
    assert "ModelFolderError" in outcome.stderr


def test_a_reader_that_goes_away_is_no_error(br_run, tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("wheat\n" * 20_000, encoding="utf-8")
    command = f"{sys.executable} -m seq2set predict {br_run.path} --json < {texts} | head -1"
    outcome = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env=dict(os.environ), check=False
    )
    assert outcome.stderr == "reading texts from standard input, one per line\n"
    assert json.loads(outcome.stdout)["id"] == "1"
