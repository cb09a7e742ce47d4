"""The page's files, without a browser."""

from __future__ import annotations

import re

import pytest

from seq2set.server.app import PAGE

FILES = sorted(path for path in PAGE.rglob("*") if path.is_file())
SCRIPTS = [path for path in FILES if path.suffix == ".js"]
INDEX = (PAGE / "index.html").read_text(encoding="utf-8")


def test_every_script_is_loaded_at_once() -> None:
    named = re.findall(r'(?:src|href)="([\w/]+\.js)"', INDEX)
    assert sorted(named) == [path.relative_to(PAGE).as_posix() for path in SCRIPTS]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_nothing_comes_from_other_hosts_or_stands_inline(path) -> None:
    content = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://|\beval\(|innerHTML|<style|\sstyle=|\son\w+=\"", content)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_what_the_scripts_look_for_is_there(path) -> None:
    wanted = set(re.findall(r'\bfind\("([\w-]+)"\)', path.read_text(encoding="utf-8")))
    assert wanted <= set(re.findall(r'\bid="([\w-]+)"', INDEX))
