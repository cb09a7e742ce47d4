from __future__ import annotations

import pytest

from seq2set.tuning import search as summary


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the picture of a study out, which takes longer than the trials."""
    monkeypatch.setattr(summary, "draw_study", lambda *_: None)
