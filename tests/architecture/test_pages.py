"""Every command and code block of README.md and docs/*.md runs as it stands, in order, page by page.

Commands run in a folder with nothing in it but the documents; what needs hours, other machines or data that
is not there stands in `LEFT_OUT` with the reason.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

import httpx
import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from seq2set.cli.app import main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
OWN_TESTS = {
    "extending.md": "tests/architecture/test_extending_page.py runs each example through the command line",
    "python.md": "tests/estimator/test_python_page.py runs the blocks and compares what they say",
}
"""Pages whose blocks have a test of their own."""

LEFT_OUT = {
    "pip install": "changes the environment that the tests run in",
    "python3 -m venv": "sets up an environment of the reader's own",
    ". .venv": "enters that environment",
    "make ": "sets up an environment, trains for minutes or reads runs of hours; tests/cli runs the verbs",
    "seq2set tune --calibrate RUN": "a form to fill in; tests/cli/test_tune_confidence.py runs it",
    "seq2set tune --thresholds RUN --accept": "a form to fill in; tests/cli/test_tune_confidence.py runs it",
    "seq2set train --data corpora/mine --preset pretrained": "the user brings the corpus and the encoder",
    "seq2set experiment compare --data corpora/mine": "the user brings the corpus, and hours",
    "seq2set experiment compare --data runs/debtags": "trains for hours, on a corpus that is made by apt",
    "seq2set data prepare aapd": "the user brings the corpus",
    "seq2set experiment all --data corpora/aapd": "trains for days, on a corpus that the user brings",
    "seq2set train --data arxiv2026 --model seq2set-simp --preset paper-aapd": "trains for days",
    "seq2set train --out runs/paper-arxiv2026 --resume": "goes on with it",
    "ray start": "a cluster of several machines; the tests of the engines start one on this machine",
    "seq2set experiment compare --data medline --out /shared": "the same cluster, and hours",
    "seq2set tune --data medline --model br --out /shared": "the same cluster",
    "torchrun": "tests/training/test_torchrun.py runs two processes",
    "RAY_AUTH_TOKEN_PATH=": "another machine of that cluster",
    "seq2set predict runs/tickets --input 's3://": "a bucket and a cluster that are not there",
}
"""What commands begin with, and why they are not run."""

COMMANDS = ("seq2set", "pip", "make", "curl", "python", "python3", "ray", "torchrun")


class Block(NamedTuple):
    language: str
    text: str

    def commands(self) -> list[str]:
        """Return the commands of a block of shell; continued lines are one."""
        if self.language not in ("", "sh") or self.text.split(maxsplit=1)[0] not in COMMANDS:
            return []
        return self.text.replace("\\\n", " ").splitlines()


def read_blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [Block(*found) for found in re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)]


def is_left_out(command: str) -> bool:
    return any(command.startswith(start) for start in LEFT_OUT)


class Desk:
    """A folder to work in as a reader would, with the server that a page starts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
        self.monkeypatch, self.capsys = monkeypatch, capsys
        self.url = ""

    def run(self, command: str) -> str:
        """Run a command, and return what it prints."""
        words = shlex.split(command, comments=True)
        if words[0] == "curl":
            return self._request(words)
        assert words[0] == "seq2set", command
        self.monkeypatch.setattr(sys, "argv", words)
        self.capsys.readouterr()
        code: object = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code
        printed = self.capsys.readouterr()
        assert not code, f"{command}: {printed.err}"
        return printed.out

    @contextmanager
    def serve(self, command: str) -> Iterator[None]:
        """Start a server as the command says, but on a free port."""
        words = [*shlex.split(command)[1:], "--port", "0", "--no-access-log"]
        with subprocess.Popen(
            [sys.executable, "-m", "seq2set", *words], stdout=subprocess.PIPE, text=True
        ) as server:
            try:
                assert server.stdout is not None
                self.url = server.stdout.readline().strip()
                yield
            finally:
                server.terminate()

    def _request(self, words: list[str]) -> str:
        (address,) = (word for word in words if word.startswith("http://"))
        body = words[words.index("-d") + 1]
        answer = httpx.post(self.url + httpx.URL(address).path, json=json.loads(body), timeout=None)
        assert answer.is_success, answer.text
        return answer.text

    def correct(self) -> None:
        """Correct a label, as a reader does on the page before she makes a corpus of it."""
        for text in ("I was charged twice.", "The app crashes.", "Where is my parcel?"):
            sent = {"text": text, "accepted": ["billing"], "rejected": [], "added": []}
            answer = httpx.post(f"{self.url}/v1/feedback", json=sent, timeout=None)
            assert answer.is_success, answer.text


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all pages: later ones use the run that the README trains."""
    folder = tmp_path_factory.mktemp("reader")
    (folder / "docs").symlink_to(ROOT / "docs", target_is_directory=True)
    return folder


@pytest.fixture
def desk(shared: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], request) -> Desk:
    monkeypatch.chdir(shared)
    monkeypatch.setenv("COLUMNS", "80")
    found = Desk(monkeypatch, capsys)
    if not Path("runs/tickets").exists():
        found.run("seq2set train --data docs/examples/tickets.csv --model br --out runs/tickets")
    return found


def list_commands(page: Path) -> list[str]:
    """Return the commands that are run of a page; the desk has trained the model of the README already."""
    found = [command for block in read_blocks(page) for command in block.commands()]
    return [one for one in found if not is_left_out(one) and not one.endswith(" --out runs/tickets")]


WITH_COMMANDS = [page for page in PAGES if page.name not in OWN_TESTS and list_commands(page)]


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.name)
def test_commands_run(page: Path, desk: Desk) -> None:
    before, served = list_commands(page), list[str]()
    for place, command in enumerate(before):
        if command.startswith("seq2set serve"):
            before, served = before[:place], before[place:]
            break
    for command in before:
        desk.run(command)
    if not served:
        return
    first, *others = served
    with desk.serve(first):
        for command in others:
            if "data prepare feedback" in command:
                desk.correct()
            assert desk.run(command)


def test_the_readme_prints_what_it_says(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = read_blocks(ROOT / "README.md")
    seen = 0
    for block, below in pairwise(blocks):
        if block.language == "python":
            capsys.readouterr()
            exec(compile(block.text, "README.md", "exec"), {})
            assert_alike(capsys.readouterr().out, below.text)
            seen += 1
        elif any(one.startswith("seq2set evaluate") for one in block.commands()):
            printed = "".join(desk.run(one) for one in block.commands() if " train " not in one)
            assert_alike(printed, below.text)
            seen += 1
    assert seen == 2


def assert_alike(printed: str, shown: str) -> None:
    """Compare word by word; speeds differ, and figures in their last digits from machine to machine."""
    words, expected = printed.split(), shown.split()
    assert len(words) == len(expected), printed
    for place, (word, other) in enumerate(zip(words, expected, strict=True)):
        if expected[place + 1 : place + 4] == ["documents", "per", "second"] or word == other:
            continue
        assert float(word.strip("±")) == pytest.approx(float(other.strip("±")), abs=0.03), (word, other)


def test_the_readmes_python_is_type_checked() -> None:
    (code,) = (block.text for block in read_blocks(ROOT / "README.md") if block.language == "python")
    example = ROOT / "docs" / "examples" / "quickstart.py"
    assert code == example.read_text(encoding="utf-8")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "docs/examples/quickstart.py" in settings["tool"]["mypy"]["files"]


def test_the_readmes_figures_are_those_of_the_results() -> None:
    stored = json.loads((ROOT / "results" / "medline-compact" / "compare.json").read_text("utf-8"))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for model in ("br", "seq2set-simp", "seq2set"):
        cells = [cell for cell in stored["cells"] if cell["row"] == model]
        figures = [cell["metrics"]["micro_f1"] for cell in cells]
        score = f"{mean(figures):.3f}" + (f" ± {stdev(figures):.3f}" if len(figures) > 1 else "")
        minutes = mean(cell["seconds"]["training"] for cell in cells) / 60
        speed = mean(cell["documents_per_second"] for cell in cells)
        row = next(line for line in readme.splitlines() if f"`--model {model}`" in line)
        shown, took, per_second = row.split("|")[3].strip().split(", ")
        assert (shown, took) == (score, f"{minutes:.0f} minutes")
        assert float(per_second.replace(",", "")) == pytest.approx(speed, rel=0.02)
    assert "commit " + stored["published"]["commit"][:7] in readme


def test_every_block_is_run_or_left_out_for_a_reason() -> None:
    outputs = ("python", "toml", "bibtex")
    for page in PAGES:
        blocks = read_blocks(page)
        for number, block in enumerate(blocks):
            if page.name in OWN_TESTS or block.commands() or block.language in outputs:
                continue
            above = blocks[number - 1]
            # What is no command is what the block above prints, and that is compared in the README alone.
            assert page.name == "README.md", block.text
            assert above.language == "python" or above.commands()


def test_nothing_is_left_out_that_is_gone() -> None:
    commands = [one for page in PAGES for block in read_blocks(page) for one in block.commands()]
    assert [start for start in LEFT_OUT if not any(one.startswith(start) for one in commands)] == []
    assert {page.name for page in PAGES} >= OWN_TESTS.keys()


def test_install_page_names_every_extra() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    text = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) == set(
        settings["project"]["optional-dependencies"]
    )


def test_python_m_seq2set_is_seq2set() -> None:
    def ask(*start: str) -> str:
        done = subprocess.run([sys.executable, *start, "--help"], capture_output=True, text=True, check=True)
        return done.stdout

    assert ask("-m", "seq2set") == ask("-c", "from seq2set.cli.app import main; main()")
