from __future__ import annotations

from pathlib import Path

import pytest

from seq2set.core.errors import InputError
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.experiments.options import parse_extra


@pytest.fixture
def call(small_corpus: PreparedCorpus, tmp_path: Path) -> tuple[object, ...]:
    return ("--data", small_corpus.folder, "--out", tmp_path / "out", "--dry-run")


def test_an_option_reaches_its_experiment(seq2set, call) -> None:
    outcome = seq2set("experiment", "lambda", *call, "--option", "lambdas=0.25,0.75")
    assert outcome.code == 0, outcome.err
    assert "cells: 2, to be done: 2" in outcome.out
    assert "seq2set-lambda-0.25-seed1" in outcome.out


@pytest.mark.parametrize(
    ("name", "option", "sentence"),
    [
        ("lambda", "lambda=1", "option 'lambda' is not known, did you mean 'lambdas'?; known are: lambdas"),
        ("lambda", "lambdas", "--option is 'lambdas'; it must have the form NAME=VALUE"),
        ("lambda", "lambdas=", "--option is 'lambdas='; it must have the form NAME=VALUE"),
        ("lambda", "lambdas=2", "--option lambdas is '2'; it must be numbers with commas between"),
        ("compare", "lambdas=1", "--option is 'lambdas=1'; this experiment has no options of its own"),
    ],
)
def test_a_wrong_option_is_one_sentence(seq2set, call, name: str, option: str, sentence: str) -> None:
    outcome = seq2set("experiment", name, *call, "--option", option)
    assert outcome.code == 2
    assert outcome.err.startswith(f"seq2set: {sentence}")
    assert outcome.err.count("\n") == 1


def test_retrain_by_a_word_of_its_own(seq2set, call) -> None:
    arguments = ("remove-frequent", *call, "--models", "br", "--option", "steps=1")
    assert "cells: 1, " in seq2set("experiment", *arguments).out
    outcome = seq2set("experiment", *arguments, "--retrain")
    assert "cells: 2, " in outcome.out
    assert "br-without-1" in outcome.out
    refused = seq2set("experiment", "low-frequency", *call, "--retrain")
    assert refused.code == 2
    assert refused.err.startswith("seq2set: option 'retrain' is not known")


def test_the_last_word_counts() -> None:
    assert parse_extra([" a = 1 ", "a=2", "b=x=y"], {"a": "", "b": ""}) == {"a": "2", "b": "x=y"}
    with pytest.raises(InputError, match="--option is '=1'; it must have the form NAME=VALUE"):
        parse_extra(["=1"], {"a": ""})
