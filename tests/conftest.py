"""A small corpus and a model trained on it, made once for all tests that only read them."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from seq2set.config import build_config
from seq2set.config.run_folder import RunFolder
from seq2set.corpora.documents import Document
from seq2set.corpora.prepare import prepare
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.splits import SplitPlan
from seq2set.workflows.train import train

# Numbers depend on how many threads add them up, and tests compare them to the last bit; it is the tests that
# run side by side. This must be said before torch is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# How long an example takes says more about what else the machine does than about the code.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

SIGNS = {
    "grain": ("wheat", "harvest", "bushels"),
    "oil": ("crude", "barrels", "refinery"),
    "trade": ("tariff", "exports", "surplus"),
    "money": ("bank", "rates", "currency"),
}
FILLER = ("the", "said", "a", "of", "market", "year", "in", "report", "to", "on")


def small_documents(count: int = 160, seed: int = 3) -> list[Document]:
    """Texts in which each label shows by words of its own; every tenth document has no label."""
    draw = random.Random(seed)
    documents = []
    for number in range(count):
        labels = () if number % 10 == 0 else tuple(draw.sample(sorted(SIGNS), draw.choice((1, 1, 2))))
        words = draw.choices(FILLER, k=12) + [draw.choice(SIGNS[label]) for label in labels for _ in range(3)]
        draw.shuffle(words)
        documents.append(Document(f"d{number}", " ".join(words), labels))
    return documents


@pytest.fixture(autouse=True, scope="session")
def private_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep tests, and what they share, out of the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEQ2SET_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        yield


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Tiny tensors are slower on many threads; a test without torch does without."""
    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch else 0
    if torch:
        torch.set_num_threads(1)
    yield
    if torch:
        torch.set_num_threads(before)


@pytest.fixture(scope="session")
def small_corpus(tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    return prepare(
        small_documents(),
        tmp_path_factory.mktemp("corpora") / "small",
        name="small",
        source="made for tests",
        licence="none",
        plan=SplitPlan("random", 0.2, 0.2, 1),
    )


@pytest.fixture(scope="session")
def br_run(small_corpus: PreparedCorpus, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    settings = [f'data.corpus="{small_corpus.folder}"', "linear.c=[1, 10]"]
    return train(build_config(model="br", assignments=settings), tmp_path_factory.mktemp("runs") / "br")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser for the tests of one file: while it is open, no test can run an event loop of its own."""
    from browsers import open_browser  # few tests need it

    with open_browser() as opened:
        yield opened
