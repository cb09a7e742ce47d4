"""Several networks as one: what they say together, how they are trained, stopped, saved and refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import ConfigError, InputError
from seq2set.models.ensemble import EnsembleNetwork, EnsembleOutput
from seq2set.models.neural import NeuralTagger
from seq2set.models.predictions import Request
from seq2set.nn.decoding.searches import SearchResult
from tiny_networks import tiny_config, tiny_examples, trained

MARGINAL = ("search.name=marginal", "ensemble=2", "encoder.dropout=0.3")
TEXTS = tiny_examples(9, seed=5).texts


class FakeOutput:
    """A network's output that a test makes up."""

    def __init__(self, scores: list[float], shares: list[float]):
        self.scores, self.shares = scores, shares

    def search(self, name: str, settings: Any, least: int = 0) -> SearchResult:
        return SearchResult(np.array([self.scores], np.float32), [np.array([0])])

    def attributions(self, sequences: Any) -> Any:
        return np.array([[self.shares]], np.float32)


def test_scores_and_reasons_are_averaged() -> None:
    output = EnsembleOutput([FakeOutput([0.2, 1.0], [1, 0]), FakeOutput([0.6, 0.5], [0.5, 0.5])], True)
    found = output.search("marginal", tiny_config().search)
    np.testing.assert_allclose(found.scores, [[0.4, 0.75]])  # (0.2 + 0.6) / 2, (1 + 0.5) / 2
    assert found.sequences is None
    np.testing.assert_allclose(output.attributions(np.zeros((1, 1), np.int64)), [[[0.75, 0.25]]])


@pytest.mark.parametrize("model", ["seq2set-simp", "seq2seq", "cnn"])
def test_it_is_the_mean_of_trainings_of_its_seeds(model: str, tmp_path: Path) -> None:
    both = trained(tmp_path / "both", tiny_config(*MARGINAL, "seed=4", model=model))
    alone = [
        trained(tmp_path / str(seed), tiny_config(*MARGINAL[:1], MARGINAL[2], f"seed={seed}", model=model))
        for seed in (4, 5)
    ]
    scores = [one.infer(TEXTS, Request()).scores for one in alone]
    assert np.abs(scores[0] - scores[1]).max() > 1e-3
    if both.decodes:  # as many sets as one network draws, of each every second
        drawn = [one.draw_sets(TEXTS).drawn for one in (both, *alone)]
        np.testing.assert_array_equal(drawn[0], np.concatenate([drawn[1][:, ::2], drawn[2][:, 1::2]], 1))
    explained = both.infer(TEXTS, Request(explain=True))
    np.testing.assert_allclose(explained.scores, (scores[0] + scores[1]) / 2, atol=1e-6)
    assert explained.evidence is not None
    again = NeuralTagger.from_state(both.state())
    assert isinstance(again.network, EnsembleNetwork)
    np.testing.assert_array_equal(again.infer(TEXTS, Request()).scores, explained.scores)


def test_each_has_a_history_and_a_stopped_one_goes_on(tmp_path: Path) -> None:
    config = tiny_config(*MARGINAL, model="seq2set-simp")
    scores = trained(tmp_path, config).infer(TEXTS, Request()).scores
    records = RunFolder(tmp_path / "members" / "2").records()
    assert len(records) == len(RunFolder(tmp_path).records()) > 0
    assert records != RunFolder(tmp_path).records()
    for path in (tmp_path / "members" / "2" / "checkpoints").iterdir():
        path.unlink()  # as if it had been stopped between the first and the second
    np.testing.assert_array_equal(trained(tmp_path, config).infer(TEXTS, Request()).scores, scores)
    assert len(RunFolder(tmp_path / "members" / "2").records()) == len(records)


def test_a_search_that_gives_a_set_by_itself_is_refused(tmp_path: Path) -> None:
    tagger = trained(tmp_path / "run", tiny_config(*MARGINAL, model="seq2set-simp"))
    with pytest.raises(
        InputError, match="search is 'beam', but .* ensemble of 2 networks.* must be marginal"
    ):
        tagger.infer(TEXTS, Request(search="beam"))
    with pytest.raises(ConfigError, match="search.name is 'greedy' and ensemble is 2; .* must be marginal"):
        trained(tmp_path / "other", tiny_config("ensemble=2"))


def test_weights_that_are_not_those_of_the_settings(tmp_path: Path) -> None:
    state = trained(tmp_path / "run", tiny_config("search.name=marginal")).state()
    two = state.config.model_copy(update={"ensemble": 2})
    with pytest.raises(ValueError, match="the weights are not those of the settings"):
        NeuralTagger.from_state(type(state)(two, *[getattr(state, name) for name in FIELDS]))


FIELDS = ("words", "labels", "tensors", "fitted")
