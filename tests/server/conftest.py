from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from running_servers import Running, Start, run

from seq2set.config.run_folder import RunFolder
from seq2set.server.served_model import OpenedModel, open_served
from seq2set.server.settings import ServeSettings


@pytest.fixture(scope="session")
def served(br_run: RunFolder) -> OpenedModel:
    return open_served(br_run.path)


@pytest.fixture
def start(served: OpenedModel) -> Iterator[Start]:
    """Start servers with settings of the test's own; they are stopped after it."""
    running: list[Running] = []

    def begin(model: OpenedModel = served, **settings: Any) -> Running:
        running.append(run(model, ServeSettings(port=0, **settings)))
        return running[-1]

    yield begin
    for one in running:
        one.close()


@pytest.fixture(scope="module")
def shared(served: OpenedModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One server for all tests of a file that leave it as it was."""
    feedback = tmp_path_factory.mktemp("feedback") / "feedback.sqlite"
    running = run(served, ServeSettings(port=0, feedback=feedback))
    yield running
    running.close()
