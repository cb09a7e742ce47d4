import subprocess
import sys

import pytest

from seq2set.core.errors import UnknownNameError
from seq2set.corpora.sources import SOURCES, find_source


def test_the_known_names_are_sorted():
    assert SOURCES == ("aapd", "arxiv2026", "debtags", "feedback", "medline", "rcv1", "reuters")


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_is_found_and_says_what_it_is(name):
    source = find_source(name)
    assert source.name == name
    assert source.title
    assert source.obtained
    assert source.licence


def test_only_medline_and_debtags_need_no_path():
    assert [name for name in SOURCES if not find_source(name).needs_path] == ["debtags", "medline"]


def test_only_feedback_and_reuters_have_no_word_limit():
    assert [name for name in SOURCES if find_source(name).max_words is None] == ["feedback", "reuters"]


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(
        UnknownNameError, match="corpus 'medlin' is not known, did you mean 'medline'\\?; known are: aapd"
    ):
        find_source("medlin")


def test_sources_are_imported_when_they_are_asked_for():
    code = "import sys, seq2set.corpora.sources; print('seq2set.corpora.sources.rcv1' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
