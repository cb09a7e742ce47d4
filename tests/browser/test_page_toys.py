"""The rows that `tests/architecture/toys.py` adds are on the page, as the package's own are."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from seq2set.corpora.prepared import PreparedCorpus

TOYS = Path(__file__).parents[1] / "architecture"
START = ("-c", "import toys; from seq2set.cli.app import main; main()")
SMALL = ["encoder.embedding=4", "encoder.hidden=4", "decoder.embedding=4", "decoder.hidden=4"]
SMALL += ["decoder.attention=4", "warm_start.epochs=1", "self_critical.epochs=1", "prior.enabled=false"]
CHOSEN = ["objective.reward=toy-recall", "search.name=toy-first", "encoder.kind=toy-bag"]


def know_toys() -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(TOYS), os.environ.get("PYTHONPATH"))))}


def train(corpus: PreparedCorpus, out: Path, model: str, *settings: str) -> Path:
    named = [word for one in settings for word in ("--set", one)]
    command = [sys.executable, *START, "train", "--data", corpus.folder, "--model", model, "--out", out]
    subprocess.run([*map(str, command), *named], env=os.environ | know_toys(), check=True)
    return out


@pytest.fixture(scope="module")
def toy_pages(browser, small_corpus: PreparedCorpus, tmp_path_factory) -> Iterator[dict[str, Page]]:
    from conftest import READY, serving, watched_page

    folder = tmp_path_factory.mktemp("toys")
    runs = {
        "model": train(small_corpus, folder / "frequency", "toy-frequency"),
        "network": train(small_corpus, folder / "network", "seq2set-simp", *SMALL, *CHOSEN),
    }
    pages = {}
    with (
        serving(runs["model"], start=START, **know_toys()) as model,
        serving(runs["network"], start=START, **know_toys()) as network,
    ):
        for name, url in {"model": model, "network": network}.items():
            watched = watched_page(browser)
            watched.page.goto(f"{url}/#model")
            watched.page.wait_for_selector(READY)
            pages[name] = watched.page
        yield pages
        for page in pages.values():
            page.context.close()


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
