"""The help of each verb lists what can be named, from the tables."""

from __future__ import annotations

import dataclasses
import re
from typing import get_type_hints

import pytest

from seq2set.benchmarks import BENCHMARKS, Benchmark
from seq2set.config import Config, catalog
from seq2set.corpora.readers import FORMATS
from seq2set.corpora.sources import SOURCES
from seq2set.experiments import ALL, EXPERIMENTS
from seq2set.labels.best_rule import KINDS
from seq2set.server.settings import ServeSettings


def listed(text: str, title: str) -> dict[str, str]:
    """Return the names of a table in a help text, each with its line or lines."""
    block = re.split(r"\n\n|\Z", text.split(f"\n{title}:\n")[1])[0]
    rows: dict[str, str] = {}
    for line in block.splitlines():
        if line.startswith("   "):
            rows[next(reversed(rows))] += " " + line.strip()
        else:
            name, _, summary = line.strip().partition("  ")
            rows[name] = summary.strip()
    return rows


@pytest.mark.parametrize(
    ("verb", "title", "table"),
    [
        ("train", "Models", catalog.MODELS),
        ("train", "Presets", catalog.PRESETS),
        ("tune", "Models", catalog.MODELS),
        ("tune", "Metrics", catalog.list_tunable()),
        ("predict", "Searches", catalog.SEARCHES),
        ("evaluate", "Searches", catalog.SEARCHES),
        ("bench", "Benchmarks", BENCHMARKS | {"all": Benchmark("all ratios, as one page with plots", "")}),
    ],
)
def test_names_are_listed_with_their_summaries(seq2set, verb: str, title: str, table) -> None:
    expected = {name: row.summary for name, row in table.items()}
    assert listed(seq2set(verb, "--help").out, title) == expected


@pytest.mark.parametrize("verb", ["prepare", "stats", "check"])
def test_known_corpora_and_formats_are_listed(seq2set, verb: str) -> None:
    text = seq2set("data", verb, "--help").out
    assert listed(text, "Known corpora") == {name: source.title for name, source in SOURCES.items()}
    formats = listed(text, "Formats")
    assert set(formats) == {row.title for row in FORMATS.values()}
    assert formats["JSON"] == ".jsonl, .ndjson, .json: one object per line, or one list of objects"


def test_no_summary_of_a_verb_is_cut_off(seq2set) -> None:
    verbs = listed(seq2set("--help").out, "Commands")
    assert verbs["predict"] == "Assign labels to texts."
    of_data = listed(seq2set("data", "--help").out, "Commands")
    assert {"list", "clean", "prepare", "stats", "check"} <= of_data.keys()
    for summaries in (verbs, of_data):
        assert [one for one in summaries.values() if not one.endswith(".") or "..." in one] == []


def test_arguments_are_called_by_their_plain_names(seq2set) -> None:
    assert "[TEXT]..." in seq2set("predict", "--help").out
    for verb in ("predict", "evaluate"):
        text = seq2set(verb, "--help").out
        assert "[[" not in text
        assert "RUN..." not in text


def test_a_row_that_is_added_is_listed(seq2set, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(catalog.PRESETS, "toy", catalog.Preset("a preset of the test"))
    assert listed(seq2set("train", "--help").out, "Presets")["toy"] == "a preset of the test"


def test_experiments_and_their_options_are_listed_one_per_line(seq2set) -> None:
    text = seq2set("experiment", "--help").out
    assert set(listed(text, "Experiments")) == {*EXPERIMENTS, ALL}
    options = listed(text, "Options of experiments (--option NAME=VALUE)")
    assert options == {
        f"{name}: {option}": declared.help
        for name, row in EXPERIMENTS.items()
        for option, declared in row.options.items()
    }


def test_every_kind_of_rule_is_listed(seq2set) -> None:
    assert set(listed(seq2set("tune", "--help").out, "Kinds of rules")) == set(KINDS)


def test_the_defaults_that_help_names_are_those_of_the_settings(seq2set) -> None:
    text = " ".join(seq2set("train", "--help").out.split())
    default = Config()
    assert f"One of the models below. [default: {default.model}]" in text
    assert f"One of the presets below. [default: {default.preset}]" in text
    for option in ("text", "labels", "id", "separator"):
        value = re.escape(getattr(default.data, option))
        assert re.search(rf"--{option} <str> [^\[]*\[default: {value}\]", text), option


def test_every_setting_of_the_server_but_the_key_is_an_option(seq2set) -> None:
    text = " ".join(seq2set("serve", "--help").out.split())
    hints = get_type_hints(ServeSettings, include_extras=True)
    for field in dataclasses.fields(ServeSettings):
        option = "queue" if field.name == "queue_texts" else field.name.replace("_", "-")
        if field.name == "key":
            assert "--key" not in text
        else:
            (meaning,) = hints[field.name].__metadata__
            shown = "" if field.default is None else f" [default: {field.default}]"
            assert re.search(rf"--{option} <\w+> {re.escape(meaning + shown)}", text), option
