from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ranked_corpora import by_knowledge, give, ranked_options

import publish_results
import seq2set
from publish_results import find_commit, main, publish
from results_page import build_page, describe_measurement
from seq2set.core.errors import InputError
from seq2set.experiments.run import run_experiment
from seq2set.experiments.studies.low_frequency import STUDY as LOW_FREQUENCY

cells = LOW_FREQUENCY.cells

RESULTS = Path(__file__).parents[2] / "results"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    options = ranked_options(tmp_path, ("br", "seq2set"), extra={"bands": "2"})
    give(cells(options), by_knowledge)
    run_experiment("low-frequency", options)
    return options.out


def test_the_numbers_are_copied_without_what_lies_on_this_machine(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish_results, "find_commit", lambda folder: "c0ffee")
    (path,) = publish(out, tmp_path / "results")
    assert path == tmp_path / "results" / "ranked-compact" / "low-frequency.json"
    text = path.read_text(encoding="utf-8")
    assert str(tmp_path) not in text
    assert "sha256" not in text
    values = json.loads(text)
    assert values["published"] == {"seq2set": seq2set.__version__, "commit": "c0ffee"}
    assert [(cell["config"]["seed"], cell["config"]["data"]["corpus"]) for cell in values["cells"]] == [
        (1, "ranked"), (1, "ranked"),
    ]  # fmt: skip
    shown = values["sections"][0]["tables"][0]["rows"][0]
    assert shown == {"models": "BR", "8 to 16": {"value": 1.0}, "2 to 4": {"value": 0.0}}


def test_cells_are_published_while_the_experiment_goes_on(out: Path, tmp_path: Path) -> None:
    shutil.rmtree(out / "low-frequency")  # nothing is written yet but the cells
    assert main([str(out), "--into", str(tmp_path / "results"), "--cells"]) == 0
    stored = sorted((tmp_path / "results" / "ranked-compact").rglob("*.json"))
    assert [path.name for path in stored] == ["br.json", "seq2set-seed1.json"]
    assert str(tmp_path) not in stored[0].read_text(encoding="utf-8")
    assert main([str(tmp_path / "results"), "--into", str(tmp_path / "results"), "--cells"]) == 2


def test_the_page_tells_the_numbers(out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publish_results, "find_commit", lambda folder: None)
    publish(out, tmp_path / "results")
    page = (tmp_path / "results" / "README.md").read_text(encoding="utf-8")
    assert page == build_page(tmp_path / "results")
    anchor = '<a id="ranked-compact-low-frequency"></a>'
    assert f"## ranked-compact\n\n{anchor}\n\n### Rare labels and frequent ones\n" in page
    # Two cells of a minute each are 0.03 hours.
    assert (
        "[low-frequency.json](ranked-compact/low-frequency.json). Corpus ranked, preset compact, seeds 1; "
        "2 trainings, 0.0 hours in all, on "
    ) in page
    assert f"Published by seq2set {seq2set.__version__}, commit unknown. With `--set threads=1`, " in page
    assert "`--option bands=2`." in page
    claim = "ll methods perform poorly on rare labels"
    evidence = "on the rarest labels (2 to 4 training documents) against the most frequent ones (8 to 16): "
    assert f"\n| A{claim} | ranked-compact | **is left open** | {evidence}" in page
    assert f"\n- The paper's claim that a{claim} is left open here: {evidence}" in page
    assert "\n![Micro-F1 on the labels of each band, " in page
    assert "](ranked-compact/low-frequency/f1-by-frequency.svg)\n" in page
    assert "\n| BR | **1.000** | 0.000 |\n" in page
    assert "Each training by itself" not in page


def test_plots_are_published_in_the_place_of_old_ones(out: Path, tmp_path: Path) -> None:
    (path,) = publish(out, tmp_path / "results")
    plots = path.with_suffix("")
    (plots / "old.svg").write_text("<svg/>", encoding="utf-8")
    publish(out, tmp_path / "results")
    assert [one.name for one in plots.iterdir()] == ["f1-by-frequency.svg"]
    drawn = out / "low-frequency" / "figures" / "f1-by-frequency.svg"
    assert (plots / "f1-by-frequency.svg").read_bytes() == drawn.read_bytes()


def test_settings_of_some_models_are_told(tmp_path: Path) -> None:
    settings = tmp_path / "tuned.toml"
    settings.write_text("[features]\nngrams = 1\nsublinear = true\n", encoding="utf-8")
    usual = tmp_path / "usual.toml"
    usual.write_text("[encoder]\nmax_words = 200\n", encoding="utf-8")
    files = {"br": settings, "cnn": settings, "seq2set": usual}
    options = replace(ranked_options(tmp_path, ("br", "seq2set"), extra={"bands": "2"}), files=files)
    give(cells(options), by_knowledge)
    run_experiment("low-frequency", options)
    publish(options.out, tmp_path / "results")
    page = (tmp_path / "results" / "README.md").read_text(encoding="utf-8")
    # The rest is as usual, and there is no cell of the CNN.
    assert "`--option bands=2`. BR with `features.ngrams=1`.\n" in page


def test_results_stand_in_the_order_of_the_experiments(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish_results, "find_commit", lambda folder: None)
    (path,) = publish(out, tmp_path / "results")
    for name in ("compare", "alone"):
        values = json.loads(path.read_text(encoding="utf-8")) | {"title": name}
        path.with_stem(name).write_text(json.dumps(values), encoding="utf-8")
    other = tmp_path / "results" / "another-compact" / "compare.json"
    other.parent.mkdir()
    shutil.copy(path, other)
    heads = [
        line for line in build_page(tmp_path / "results").splitlines() if line.startswith(("## ", "### "))
    ]
    assert heads == [
        "## The paper's claims",
        "## another-compact", "### Rare labels and frequent ones",
        "## ranked-compact", "### compare", "### Rare labels and frequent ones", "### alone",
    ]  # fmt: skip


def test_nothing_to_publish(out: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cells holds no finished experiment; name the --out of"):
        publish(out / "cells", tmp_path / "results")
    old = out / "low-frequency" / "results.json"
    old.write_text(json.dumps(json.loads(old.read_text(encoding="utf-8")) | {"asked": {}}), encoding="utf-8")
    with pytest.raises(InputError, match="results.json does not record its request; run the experiment"):
        publish(out, tmp_path / "results")


def test_the_command(out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    into = tmp_path / "results"
    assert main([str(out), "--into", str(into)]) == 0
    assert (into / "ranked-compact" / "low-frequency.json").is_file()
    (into / "README.md").unlink()
    assert main(["--into", str(into)]) == 0
    assert (into / "README.md").is_file()
    assert main([str(tmp_path / "nowhere"), "--into", str(into)]) == 2
    assert capsys.readouterr().err.endswith(
        "nowhere holds no finished experiment; name the --out of `seq2set experiment`\n"
    )


def test_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_commit(tmp_path) is None
    git = shutil.which("git")
    assert git is not None
    subprocess.run([git, "init", "-q", tmp_path], check=True)
    (tmp_path / "file").write_text("one", encoding="utf-8")
    me = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run([git, "-C", tmp_path, "add", "file"], check=True)
    subprocess.run([git, "-C", tmp_path, *me, "commit", "-q", "-m", "one"], check=True)
    clean = find_commit(tmp_path)
    assert clean is not None
    assert len(clean) == 12
    (tmp_path / "file").write_text("two", encoding="utf-8")
    assert find_commit(tmp_path) == f"{clean} with changes"
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert find_commit(tmp_path) is None


def test_nothing_published_yet(tmp_path: Path) -> None:
    assert build_page(tmp_path).endswith("\nNothing has been published yet.\n")


def test_the_results_page_of_this_repository_is_made_from_its_numbers() -> None:
    assert (RESULTS / "README.md").read_text(encoding="utf-8") == build_page(RESULTS)


def test_each_row_of_the_summary_leads_to_a_study_of_its_own() -> None:
    page = (RESULTS / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"^\| [\w-]+ \| \[[\w-]+\]\(#(.*?)\) \|", page, re.MULTILINE)
    assert len(links) == len(set(links)) >= 10
    assert [page.count(f'<a id="{link}"></a>\n\n### ') for link in links] == [1] * len(links)


def test_what_is_published_here_holds_no_paths_and_no_texts() -> None:
    for path in RESULTS.glob("*/*.json"):
        values = json.loads(path.read_text(encoding="utf-8"))
        assert all("/" not in cell["config"]["data"]["corpus"] for cell in values["cells"])
        assert "answers" not in values["cells"][0]


def test_what_is_published_here_has_its_plots() -> None:
    for path in RESULTS.glob("*/*.json"):
        values = json.loads(path.read_text(encoding="utf-8"))
        named = {f"{figure['name']}.svg" for section in values["sections"] for figure in section["figures"]}
        assert {one.name for one in path.with_suffix("").iterdir()} == named


def published(name: str) -> dict[str, Any]:
    path = Path(__file__).parents[2] / "results" / name
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def test_what_all_models_share_beside_todays_preset_is_told_once() -> None:
    facts = describe_measurement(published("reuters-compact/table-results.json"))
    assert (
        " Unlike today's preset with `linear.tolerance=0.1`, `search.samples=8`. CNN-RNN with "
        "`cnn.filters=127`, "
    ) in facts
    assert facts.count("linear.tolerance") == facts.count("search.samples") == 1
    assert "data.separator" not in facts  # how files are read, which the documents' fingerprint covers


def test_judging_again_adds_no_star_that_the_exact_test_refused() -> None:
    rows = published("medline-compact/table-results.json")["sections"][0]["tables"][0]["rows"]
    (chain,) = (row["p"] for row in rows if row["models"] == "CC")
    assert chain == {"value": pytest.approx(0.0659, abs=1e-4), "significant": False}
