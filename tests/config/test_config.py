from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2set.config import Config, build_config, load_config, validate, write_toml
from seq2set.config.catalog import MODELS, PRESETS, SEARCHES, list_tunable
from seq2set.config.loader import list_changes, merge_settings, nest_setting, parse_assignment, read_preset
from seq2set.config.schema import Settings
from seq2set.core.errors import ConfigError, InputError, UnknownNameError


def faults(values: dict[str, object]) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        validate(values)
    return list(caught.value.faults)


def test_every_fault_is_reported_at_once() -> None:
    found = faults({"seed": -1, "text": {"vocabulary_size": 0}, "decision": {"metric": "x"}})
    *others, last = (f"'{name}'" for name in list_tunable())
    assert found == [
        "seed is -1; it must be >= 0",
        "text.vocabulary_size is 0; it must be >= 1",
        f"decision.metric is 'x'; it must be {', '.join(others)} or {last}",
    ]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"threads": 0}, "threads is 0; it must be >= 1 or be 'auto'"),
        (
            {"decision": {"threshold": 3}},
            "decision.threshold is 3; it must be <= 1 or be 'tuned' or 'boundary'",
        ),
        ({"text": {"lowercas": True}}, "text.lowercas is not a setting, did you mean 'text.lowercase'?"),
        ({"txt": {}}, "txt is not a setting, did you mean 'text'?"),
        ({"features": 3}, "features is 3; it must be a section of settings"),
        ({"linear": {"c": []}}, "linear.c is []; it must hold at least 1 value(s)"),
        ({"linear": {"c": [float("inf")]}}, "linear.c.0 is inf; it must be finite"),
        ({"linear": {"c": [0]}}, "linear.c.0 is 0; it must be > 0"),
        ({"text": {"lowercase": "perhaps"}}, "text.lowercase is 'perhaps'; it must be true or false"),
        ({"seed": "one"}, "seed is 'one'; it must be a whole number"),
        ({"data": {"separator": ""}}, "data.separator is ''; it must hold at least 1 character(s)"),
        ({"data": {"text": 5}}, "data.text is 5; it must be a text"),
        ({"features": {"ngrams": 9}}, "features.ngrams is 9; it must be <= 5"),
    ],
)
def test_a_fault_names_the_setting_the_value_and_what_is_allowed(
    values: dict[str, object], sentence: str
) -> None:
    assert faults(values) == [sentence]


def test_a_long_value_is_shown_short() -> None:
    (fault,) = faults({"seed": "x" * 500})
    assert len(fault) < 120
    assert "..." in fault


def test_settings_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Config().seed = 2  # type: ignore[misc]


def test_every_setting_is_documented() -> None:
    root = Path(__file__).parents[2]
    described = runpy.run_path(str(root / "tools/settings_page.py"))["read_descriptions"]()
    sections = [Config, *(field.annotation for field in Config.model_fields.values())]
    for section in sections:
        for name, field in getattr(section, "model_fields", {}).items():
            is_section = hasattr(field.annotation, "model_fields")
            told = field.annotation.__doc__ if is_section else described[section.__name__].get(name)
            assert told, f"{section}.{name} has no description"


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_builds_and_names_itself(preset: str) -> None:
    assert read_preset(preset)["preset"] == preset
    assert build_config(preset=preset).preset == preset


def test_the_papers_vocabularies() -> None:
    assert build_config(preset="paper-rcv1").text.vocabulary_size == 50_000
    assert build_config(preset="paper-aapd").text.vocabulary_size == 30_000


@pytest.mark.parametrize(
    ("setting", "most"),
    [
        ("training.batch_size", 65_536),
        ("training.accumulate", 65_536),
        ("objective.samples", 10_000),
        ("prior.folds", 1_000),
        ("encoder.max_words", 1_000_000),
        ("features.vector_words", 1_000_000),
        ("text.vocabulary_size", 100_000_000),
        ("encoder.words", 100_000_000),
        ("features.max_terms", 100_000_000),
        ("powerset.max_combinations", 100_000_000),
        ("powerset.max_features", 100_000_000),
        ("prior.labels", 100_000_000),
    ],
)
def test_what_takes_memory_has_a_bound(setting: str, most: int) -> None:
    build_config(assignments=[f"{setting}={most}"])
    with pytest.raises(ConfigError) as refused:
        build_config(assignments=[f"{setting}=1e11"])
    assert str(refused.value) == f"{setting} is 100000000000.0; it must be <= {most}"


def test_later_layers_win(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('preset = "paper-aapd"\nseed = 5\n[text]\nlowercase = false\n', encoding="utf-8")
    config = build_config(file=file, assignments=["seed=7", "decision.threshold=0.5"])
    assert (config.preset, config.text.vocabulary_size) == ("paper-aapd", 30_000)
    assert (config.seed, config.text.lowercase, config.decision.threshold) == (7, False, 0.5)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a = " + "[" * 100_000, "is not valid TOML: it is nested too deeply"),
        ("seed = " + "9" * 5000, "is not valid TOML: Exceeds the limit"),
        ("#" * 10_000_001, "has more than 10,000,000 characters"),
    ],
)
def test_settings_files_that_are_made_to_hurt(text: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "odd.toml").write_text(text)
    with pytest.raises(InputError, match=sentence):
        build_config(file=tmp_path / "odd.toml")


@pytest.mark.parametrize("value", ["[" * 100_000, "9" * 5000])
def test_assigned_values_that_are_made_to_hurt(value: str) -> None:
    with pytest.raises(ConfigError, match="seed is"):
        build_config(assignments=[f"seed={value}"])


def test_toml_goes_out_and_in(tmp_path: Path) -> None:
    config = build_config(preset="paper-rcv1", assignments=["linear.c=[1, 10]", "threads=3"])
    write_toml(config, tmp_path / "config.toml")
    assert load_config(tmp_path / "config.toml") == config


@given(st.integers(0, 2**31 - 1), st.text(), st.floats(0, 1))
def test_any_config_survives_its_own_toml(seed: int, corpus: str, threshold: float) -> None:
    import tempfile

    values = {"seed": seed, "data": {"corpus": corpus}, "decision": {"threshold": threshold}}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.toml"
        write_toml(validate(values), path)
        assert load_config(path) == validate(values)


def test_assignments() -> None:
    assert parse_assignment("a.b=1") == ("a.b", 1)
    assert parse_assignment('a.b="1"') == ("a.b", "1")
    assert parse_assignment("a = plain words") == ("a", "plain words")
    assert parse_assignment("a=x=y") == ("a", "x=y")
    assert nest_setting("a.b", 1) == {"a": {"b": 1}}
    assert merge_settings({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}}) == {"a": {"b": 3, "c": 2}}


@pytest.mark.parametrize("text", ["seed", "=1", "a..b=1", "."])
def test_a_malformed_assignment(text: str) -> None:
    with pytest.raises(ConfigError, match="it must have the form section.name=value"):
        parse_assignment(text)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="preset 'compat' is not known, did you mean 'compact'"):
        build_config(preset="compat")
    with pytest.raises(UnknownNameError, match="model 'brr' is not known, did you mean 'br'"):
        build_config(model="brr")


def test_a_settings_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        build_config(file=tmp_path / "none.toml")
    with pytest.raises(InputError, match="cannot be read"):
        build_config(file=tmp_path)
    (tmp_path / "bad.toml").write_text("seed = = 1", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"bad.toml is not valid TOML: .*line 1"):
        build_config(file=tmp_path / "bad.toml")


def test_a_fault_in_a_file_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("seed = -4", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"mine.toml: seed is -4; it must be >= 0"):
        build_config(file=file)


def test_what_a_model_never_reads_is_no_change() -> None:
    for model, same, other in (
        ("br", "encoder.hidden=9", "linear.tolerance=0.5"),
        ("seq2set", "cnn.filters=9", "objective.lambda=0.5"),
        ("seq2seq", "objective.lambda=0.5", "likelihood.epochs=9"),
        ("cnn", "decoder.hidden=9", "cnn.filters=9"),
    ):
        plain = build_config(model=model)
        assert list_changes(plain, build_config(model=model, assignments=[same])) == []
        assert len(list_changes(plain, build_config(model=model, assignments=[other]))) == 1


def test_every_section_is_read_by_a_model() -> None:
    sections = {name for name, field in Config.model_fields.items() if isinstance(field.default, Settings)}
    read = frozenset().union(*(row.sections for row in MODELS.values()))
    assert read == sections - {"data", "text", "decision"}


def test_changes_name_what_differs() -> None:
    other = build_config(assignments=["seed=2", "text.lowercase=false"])
    assert list_changes(build_config(), other) == ["seed: 1 -> 2", "text.lowercase: True -> False"]


def test_the_page_of_settings_is_current() -> None:
    root = Path(__file__).parents[2]
    made = runpy.run_path(str(root / "tools/settings_page.py"))["settings_page"]()
    assert (root / "docs/settings.md").read_text(encoding="utf-8") == made, "run: make docs"
    assert f"One of {', '.join(f'`{name}`' for name in SEARCHES)}." in made
    assert "One of `ordered`, `order-free`." in made
