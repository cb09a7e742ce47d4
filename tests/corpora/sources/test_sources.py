import subprocess
import sys

import pytest

from seq2set.core.errors import InputError, UnknownNameError
from seq2set.core.names import load_named
from seq2set.corpora.prepare import PrepareOptions
from seq2set.corpora.sources import NO_LIMIT, SOURCES, read_source
from seq2set.corpora.sources.debtags import UPDATE
from seq2set.corpora.sources.medline import FILE, PACKAGE

ASKED_NOTHING = PrepareOptions()


def test_the_known_names_are_sorted():
    assert list(SOURCES) == sorted(SOURCES)
    assert {"aapd", "arxiv2026", "debtags", "feedback", "medline", "rcv1", "reuters"} <= set(SOURCES)


@pytest.mark.parametrize("name", SOURCES)
def test_every_row_says_what_it_is_and_names_its_reader(name):
    source = SOURCES[name]
    assert source.title
    assert source.how_to_get
    assert source.licence
    assert callable(load_named(source.read))


def test_how_to_get_says_what_the_readers_look_for():
    assert FILE in SOURCES["medline"].how_to_get
    assert PACKAGE in SOURCES["medline"].how_to_get
    assert UPDATE in SOURCES["debtags"].how_to_get


def test_what_comes_with_a_package_or_the_system_needs_no_path():
    assert not SOURCES["debtags"].needs_path
    assert not SOURCES["medline"].needs_path
    assert SOURCES["reuters"].needs_path


@pytest.mark.parametrize("name", [name for name, row in SOURCES.items() if row.needs_path])
def test_a_source_that_is_not_bundled_names_the_command(name):
    match = f"corpus '{name}' is not bundled; pass --from PATH: seq2set data prepare {name} --from PATH"
    with pytest.raises(InputError, match=match):
        read_source(name, None, ASKED_NOTHING)


def test_feedback_and_reuters_have_no_word_limit_and_the_papers_aapd_has():
    assert (SOURCES["feedback"].max_words, SOURCES["reuters"].max_words) == (NO_LIMIT, NO_LIMIT)
    assert SOURCES["aapd"].max_words == 500


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(
        UnknownNameError, match="corpus 'medlin' is not known, did you mean 'medline'\\?; known are: aapd"
    ):
        read_source("medlin", None, ASKED_NOTHING)


def test_an_unknown_split_suggests_the_nearest(tmp_path):
    with pytest.raises(UnknownNameError, match="rcv1's split 'sgn' is not known, did you mean 'sgm'"):
        read_source("rcv1", tmp_path, PrepareOptions(split="sgn"))


def test_a_split_is_refused_where_there_is_only_one(tmp_path):
    with pytest.raises(InputError, match="split is 'sgm'; medline has one split only, so name none"):
        read_source("medline", tmp_path, PrepareOptions(split="sgm"))


def test_sources_are_imported_when_they_are_asked_for():
    code = (
        "import sys, seq2set.corpora.sources; heavy = ('seq2set.corpora.sources.rcv1', 'numpy', 'pyarrow'); "
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
