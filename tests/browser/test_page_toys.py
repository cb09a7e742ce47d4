"""The rows that `tests/architecture/toys.py` adds are on the page, as the package's own are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from seq2set.corpora.prepared import PreparedCorpus

TOYS = Path(__file__).parents[1] / "architecture"
SMALL = ["encoder.embedding=4", "encoder.hidden=4", "decoder.embedding=4", "decoder.hidden=4"]
SMALL += ["decoder.attention=4", "warm_start.epochs=1", "self_critical.epochs=1", "prior.enabled=false"]
CHOSEN = ["objective.reward=toy-recall", "search.name=toy-first", "encoder.kind=toy-bag"]


def know_toys(folder: Path) -> dict[str, str]:
    """Return the environment in which every process has the toys, also those that the server starts."""
    (folder / "sitecustomize.py").write_text("import toys\n", encoding="utf-8")
    places = (str(folder), str(TOYS), os.environ.get("PYTHONPATH"))
    return {"PYTHONPATH": os.pathsep.join(filter(None, places))}


def train(corpus: PreparedCorpus, out: Path, model: str, *settings: str) -> Path:
    named = [word for one in settings for word in ("--set", one)]
    command = [
        sys.executable,
        "-m",
        "seq2set",
        "train",
        "--data",
        corpus.folder,
        "--model",
        model,
        "--out",
        out,
    ]
    subprocess.run([*map(str, command), *named], env=os.environ | know_toys(out.parent), check=True)
    return out


@pytest.fixture(scope="module")
def toy_pages(serve_page, small_corpus: PreparedCorpus, tmp_path_factory) -> dict[str, Page]:
    folder = tmp_path_factory.mktemp("toys")
    runs = {
        "model": train(small_corpus, folder / "frequency", "toy-frequency"),
        "network": train(small_corpus, folder / "network", "seq2set-simp", *SMALL, *CHOSEN),
    }
    return {name: serve_page(run, **know_toys(folder)) for name, run in runs.items()}


def test_the_model_and_the_metric_are_on_the_page(toy_pages: dict[str, Page]) -> None:
    page = toy_pages["model"]
    expect(page.locator("#which")).to_have_text("toy-frequency on small · 4 labels")
    tile = page.locator("#metrics .tile", has_text="toy labels per document")
    # The most frequent label is given to every document, and no other.
    expect(tile).to_contain_text("1.00")
    expect(page.locator("#card")).to_contain_text("Toy: gives the most frequent label to every text")


def test_the_search_the_reward_and_the_encoder_are_on_the_page(toy_pages: dict[str, Page]) -> None:
    page = toy_pages["network"]
    searches = page.locator("#searches li")
    expect(searches.filter(has_text="toy-first")).to_have_text(
        "toy-first: the first label of the greedy search"
    )
    card = page.locator("#card")
    expect(card.locator("tr", has_text="encoder").locator("td")).to_have_text(
        "toy-bag: word vectors and their mean, a toy"
    )
    expect(card.locator("tr", has_text="reward").locator("td")).to_have_text(
        "toy-recall: the recall of the set"
    )


def test_the_toy_model_answers_on_the_page(toy_pages: dict[str, Page]) -> None:
    page = toy_pages["model"]
    page.click("#tab-suggest")
    page.fill("#text", "wheat and corn")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#suggested .chip")).to_have_count(1)
