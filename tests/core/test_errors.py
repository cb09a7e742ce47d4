from __future__ import annotations

import pytest

from seq2set.core.errors import (
    ConfigError,
    CorpusError,
    InputError,
    MissingExtraError,
    Seq2SetError,
    UnknownNameError,
    WorkError,
    explain_missing,
    import_extra,
    suggest,
)


def test_exit_codes_tell_wrong_input_from_failed_work() -> None:
    assert WorkError("x").exit_code == 1
    assert all(kind.exit_code == 2 for kind in (InputError, ConfigError, CorpusError, UnknownNameError))
    assert issubclass(InputError, Seq2SetError)


def test_a_corpus_error_names_the_place() -> None:
    assert str(CorpusError("it is empty", "a.csv")) == "a.csv: it is empty"
    assert str(CorpusError("not JSON", "a.jsonl", 7)) == "a.jsonl, line 7: not JSON"


def test_an_unknown_name_suggests_the_nearest() -> None:
    error = UnknownNameError("model", "seq2sett", ["br", "seq2set"])
    assert str(error) == "model 'seq2sett' is not known, did you mean 'seq2set'?; known are: br, seq2set"


def test_nothing_is_suggested_where_nothing_is_near() -> None:
    assert suggest("zzz", ["br"]) == ""
    assert suggest("BR", ["br"]) == ", did you mean 'br'?"


def test_a_missing_extra_says_how_to_install_it() -> None:
    with pytest.raises(
        MissingExtraError, match=r"needs the package 'nowhere_at_all': pip install 'seq2set\[demo\]'"
    ):
        import_extra("nowhere_at_all.part", "demo")
    assert import_extra("json", "demo").dumps([]) == "[]"


def test_a_library_of_training_that_is_missing_is_explained() -> None:
    told = explain_missing(ModuleNotFoundError("No module named 'scipy.sparse'", name="scipy.sparse"))
    assert str(told) == "this needs the package 'scipy': pip install 'seq2set[train]'"
    assert explain_missing(ModuleNotFoundError("No module named 'x'", name="x")) is None
