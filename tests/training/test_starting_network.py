"""A training that begins with the weights of another network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import ConfigError
from seq2set.core.progress import Silent
from seq2set.labels.labels import Labels
from seq2set.models.ensemble import EnsembleNetwork
from seq2set.models.network import build_network
from seq2set.models.predictions import Request
from seq2set.models.tagger import Examples
from seq2set.training.starting_network import StartingNetwork
from seq2set.training.train_network import train_network
from tiny_networks import tiny_config, tiny_examples, trained

OTHERS = Labels(["oil", "ships", "grain"], [5, 3, 2])
"""Two labels of the tiny examples at other places, and a new one"""


class Heard(Silent):
    """Keeps what is noted."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def lent(tmp_path: Path, model: str, *settings: str):
    """Return the weights of a trained network, of a random one, and of that one with the first one's lent."""
    config = tiny_config(*settings, model=model)
    tagger = trained(tmp_path, config)
    torch.manual_seed(5)
    network = build_network(config, len(tagger.words), len(OTHERS), 4)
    random = {name: value.clone().numpy() for name, value in network.state_dict().items()}
    StartingNetwork(tagger, "it").lend_weights(network, config, len(tagger.words), OTHERS)
    own = {name: value.numpy() for name, value in network.state_dict().items()}
    return tagger.labels, tagger.network.tensors(), random, own


@pytest.mark.parametrize("model", ["seq2seq", "seq2set-simp", "seq2set", "cnn-rnn"])
def test_labels_are_matched_by_name_and_ends_by_place(tmp_path: Path, model: str) -> None:
    labels, old, random, own = lent(tmp_path, model)
    assert sorted(labels.names) == ["grain", "money", "oil", "trade"]
    oil, grain = labels.index("oil"), labels.index("grain")
    found = [name for name in own if name.endswith("W_o.weight")]
    assert len(found) == (2 if model == "seq2set" else 1)
    for name in found:
        assert np.array_equal(own[name][[0, 2]], old[name][[oil, grain]])
        assert np.array_equal(own[name][1], random[name][1])  # ships
        assert np.array_equal(own[name][3], old[name][4])  # eos, behind three labels and behind four
    for name in (one.replace("W_o", "embedding") for one in found):
        assert np.array_equal(own[name][[0, 2]], old[name][[oil, grain]])
        assert np.array_equal(own[name][3:], old[name][4:])  # eos, bos and pad
    encoder = [name for name in own if name.startswith("encoder.")]
    assert encoder
    assert all(np.array_equal(own[name], old[name]) for name in encoder)


def test_sigmoids_and_the_prior_have_labels_too(tmp_path: Path) -> None:
    labels, old, random, own = lent(tmp_path / "cnn", "cnn")
    assert np.array_equal(own["output.weight"][0], old["output.weight"][labels.index("oil")])
    assert np.array_equal(own["output.bias"][1], random["output.bias"][1])
    labels, old, random, own = lent(tmp_path / "prior", "seq2set-simp", "prior.enabled=true")
    assert own["prior.scale"][2] == old["prior.scale"][labels.index("grain")]
    assert own["prior.offset"][3] == old["prior.offset"][4]
    assert np.array_equal(own["prior.view.weight"][:, 0], old["prior.view.weight"][:, labels.index("oil")])
    assert np.array_equal(own["prior.view.weight"][:, 1], random["prior.view.weight"][:, 1])


def test_without_learning_it_is_the_same_model(tmp_path: Path) -> None:
    first = trained(tmp_path / "first", tiny_config("warm_start.epochs=6", "search.name=marginal"))
    still = tiny_config("warm_start.learning_rate=1e-20", "search.name=marginal")
    texts, sets = tiny_examples(30).texts, tiny_examples(30).label_sets
    # Other words, and another order of labels: `trade` is the most frequent one here.
    more = Examples([*texts, *["tariff on unheard-of things"] * 40], [*sets, *[("trade",)] * 40])
    start = StartingNetwork(first, "the first")
    run, heard = RunFolder.start(tmp_path / "second", still), Heard()
    second = train_network(still, more, tiny_examples(12, seed=2), run, heard, start=start)
    assert second.labels.names[0] == "trade"
    assert second.labels.names != first.labels.names
    assert second.words.to_json() == first.words.to_json()
    new = [second.labels.index(name) for name in first.labels.names]
    request = Request(search="beam")
    expected = first.infer(texts, request)
    found = second.infer(texts, request)
    assert [second.labels.decode(row) for row in found.chosen] == [
        first.labels.decode(row) for row in expected.chosen
    ]
    assert np.allclose(found.scores[:, new], expected.scores, atol=1e-6)
    (said,) = heard.notes
    assert said.startswith(
        "the training begins from the first: 4 of its 4 labels go on, 0 without a document"
    )
    words = sum(len(second.words.encode([text])[0]) for text in more.texts)
    # "on", "unheard-of" and "things" of each text that was added
    unknown = sum(int((second.words.encode([text])[0] == 1).sum()) for text in more.texts)
    assert said.endswith(f"0 are new; {unknown / words:.1%} of the words are unknown to it")
    assert unknown == 40 * 3


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            "encoder.hidden=9",
            "it cannot be trained further with these settings: encoder.hidden: 8 -> 9; leave",
        ),
        ("text.lowercase=false", "text.lowercase: True -> False"),
        ("prior.enabled=true", "prior.enabled: False -> True"),
        ("decoder.layers=2", "decoder.layers: 1 -> 2"),
    ],
)
def test_another_network_is_refused(tmp_path: Path, change: str, sentence: str) -> None:
    tagger = trained(tmp_path, tiny_config(model="seq2set-simp"))
    config, start = tiny_config(change, model="seq2set-simp"), StartingNetwork(tagger, "it")
    with pytest.raises(ConfigError, match=sentence):
        start.refuse_other_texts(config)
        network = build_network(config, len(tagger.words), len(tagger.labels), 4)
        start.lend_weights(network, config, len(tagger.words), tagger.labels)


def test_another_model_is_refused(tmp_path: Path) -> None:
    tagger = trained(tmp_path, tiny_config(model="cnn"))
    with pytest.raises(ConfigError, match="model: cnn -> cnn-rnn"):
        StartingNetwork(tagger, "it").refuse_other_texts(tiny_config(model="cnn-rnn"))


def test_a_member_of_an_ensemble_begins_from_the_one_with_its_number(tmp_path: Path) -> None:
    config = tiny_config("search.name=marginal", model="seq2set-simp")
    first = trained(tmp_path, config)
    sizes = len(first.words), len(first.labels), 4
    second, own = build_network(config, *sizes), build_network(config, *sizes)
    both = replace(first, network=EnsembleNetwork([first.network, second]))
    StartingNetwork(both, "both").lend_weights(own, config, sizes[0], first.labels, member=1)
    assert all(np.array_equal(value, second.tensors()[name]) for name, value in own.tensors().items())
    three = config.model_copy(update={"ensemble": 3})
    two = replace(both, config=config.model_copy(update={"ensemble": 2}))
    with pytest.raises(ConfigError, match="ensemble: 2 -> 3"):
        StartingNetwork(two, "both").refuse_other_texts(three)
    StartingNetwork(first, "one").refuse_other_texts(three)  # all begin from the only one
