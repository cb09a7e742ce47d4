from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from seq2set import Seq2SetClassifier
from seq2set.core.errors import InputError

TINY = {
    "encoder.embedding": 8,
    "encoder.hidden": 8,
    "encoder.layers": 1,
    "decoder.embedding": 8,
    "decoder.hidden": 8,
    "decoder.layers": 1,
    "warm_start.epochs": 1,
    "self_critical.epochs": 1,
    "training.batch_size": 32,
    "search.samples": 4,
    "prior.enabled": False,
}


def test_the_neural_model(data, tmp_path: Path) -> None:
    tagger = Seq2SetClassifier(settings=TINY, threads=1).fit(data.texts, data.label_sets)
    assert {record["phase"] for record in tagger.history_} == {"warm-start", "self-critical"}
    marginals = tagger.predict_proba(data.texts)
    assert marginals.shape == (90, 3)
    assert np.all((marginals > 0) & (marginals < 1))  # every label has a chance; greedy scores are mostly 0
    tagger.set_params(search="greedy")
    greedy = tagger.predict_proba(data.texts)
    assert [np.count_nonzero(row) for row in greedy] == [len(one) for one in tagger.predict(data.texts)]
    tagger.set_params(search="marginal", threshold=0.0)
    assert {len(one) for one in tagger.predict(data.texts)} == {3}
    tagger.save(tmp_path / "model")
    loaded = Seq2SetClassifier.load(tmp_path / "model")
    assert loaded.get_params() == tagger.get_params() | {"settings": loaded.settings}
    assert loaded.predict(data.texts) == tagger.predict(data.texts)
    assert np.array_equal(loaded.predict_proba(data.texts), marginals)


def test_a_threshold_needs_a_search_that_has_one(data) -> None:
    few = {**TINY, "self_critical.epochs": 0, "search.name": "greedy"}
    tagger = Seq2SetClassifier(settings=few, threads=1, threshold=0.5).fit(data.texts, data.label_sets)
    with pytest.raises(InputError, match="threshold is 0.5, but search is 'greedy'"):
        tagger.predict(["a"])
    assert tagger.predict_proba(["a"]).shape == (1, 3)


def test_verbose_training_of_a_network_tells_how_it_stands(data, capsys: pytest.CaptureFixture[str]) -> None:
    few = {**TINY, "self_critical.epochs": 0}
    Seq2SetClassifier(settings=few, threads=1, verbose=True).fit(data.texts, data.label_sets)
    assert re.search(r"] warm-start: \d+\.\d s, .*validation F1 0\.\d+\n", capsys.readouterr().err)


def test_a_fit_begins_from_an_estimator_or_a_folder(data, fitted, tmp_path: Path) -> None:
    def make(**changed: object) -> Seq2SetClassifier:
        return Seq2SetClassifier("seq2set-simp", settings=TINY | changed, threads=1)

    before = make().fit(data.texts, data.label_sets)
    more = [f"{text} unheard" for text in data.texts]
    after = make().fit(more, data.label_sets, init=before)
    assert after.metadata_["training"]["began from"] == "seq2set-simp on texts given in Python"
    assert after.tagger_.words.to_json() == before.tagger_.words.to_json()
    before.save(tmp_path / "before")
    again = make().fit(more, data.label_sets, init=str(tmp_path / "before"))
    assert np.array_equal(again.predict_proba(more), after.predict_proba(more))
    with pytest.raises(
        InputError, match="cannot be trained further with these settings: encoder.hidden: 8 -> 9"
    ):
        make(**{"encoder.hidden": 9}).fit(more, data.label_sets, init=before)
    with pytest.raises(
        InputError, match="init is of type dict; it must be a fitted Seq2SetClassifier, a run or"
    ):
        make().fit(more, data.label_sets, init={})
    with pytest.raises(InputError, match="br on texts given in Python is a linear model"):
        make().fit(more, data.label_sets, init=fitted)
    with pytest.raises(InputError, match="the model is 'br'; only networks can begin from another model"):
        Seq2SetClassifier("br").fit(more, data.label_sets, init=before)
