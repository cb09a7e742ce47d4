"""Every encoder of the catalog, and one that a user adds, serves the models that can choose theirs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from seq2set import Seq2SetClassifier
from seq2set.config import Config
from seq2set.config.catalog import ENCODERS, MODELS, EncoderKind, reads
from seq2set.config.loader import build_config, list_changes, parse_assignment
from seq2set.core.errors import ConfigError
from seq2set.models.network import build_encoder
from seq2set.nn.encoders import Encoded, Encoder, Tokenization
from seq2set.text.vocabulary import Words
from tiny_encoders import write_encoder
from tiny_networks import TINY, tiny_config, tiny_examples

CHOOSING = [model for model, row in MODELS.items() if reads(model, "encoder.kind")]
SETTINGS = dict(map(parse_assignment, TINY))
del SETTINGS["threads"]  # a parameter of its own


class BagOfWords(Encoder):
    """A toy: the words' vectors are the states, and their mean is the summary."""

    def __init__(self, words: int, size: int):
        super().__init__()
        self.vectors = nn.Embedding(words, size, padding_idx=0)
        self.size = self.summary_size = size

    def forward(self, tokens: Tensor, lengths: Tensor) -> Encoded:
        states = self.vectors(tokens)  # (B, T, E)
        mask = torch.arange(tokens.shape[1]) < lengths[:, None]
        return Encoded(states, mask, states.sum(1) / lengths[:, None])


def build_bag(config: Config, words: int) -> BagOfWords:
    return BagOfWords(words, config.encoder.embedding)


@pytest.fixture(params=[*ENCODERS, "bag"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(ENCODERS, "bag", EncoderKind("a toy", f"{__name__}:build_bag"))
    return str(request.param)


def test_the_models_with_a_convolution_of_their_own_do_not_choose() -> None:
    assert CHOOSING == ["seq2seq", "seq2set-simp", "seq2set"]


@pytest.fixture
def settings(kind: str, tmp_path: Path) -> dict[str, Any]:
    """What the encoder needs beside its name."""
    own: dict[str, Any] = {"encoder.kind": kind}
    if kind == "transformer":
        folder = write_encoder(tmp_path / "encoder", spread=0.1)
        own |= {"encoder.pretrained": str(folder), "encoder.tune": "all", "encoder.learning_rate": 0.01}
        own |= {"training.decay": 1.0}
    return own


def test_an_encoder_keeps_the_contract(settings: dict[str, Any]) -> None:
    torch.manual_seed(1)
    encoder = build_encoder(tiny_config(*(f"{key}={value}" for key, value in settings.items())), 30).eval()
    ids, lengths = torch.tensor([[3, 8, 1, 4, 9], [5, 2, 0, 0, 0], [7, 0, 0, 0, 0]]), torch.tensor([5, 2, 1])
    encoded = encoder(ids, lengths)
    assert encoded.states.shape == (3, 5, encoder.size)
    assert encoded.summary.shape == (3, encoder.summary_size)
    assert encoded.mask.sum(1).tolist() == [5, 2, 1]
    assert (encoded.states[~encoded.mask] == 0).all()
    for row, length in enumerate(lengths.tolist()):
        alone = encoder(ids[row : row + 1, :length], lengths[row : row + 1])
        torch.testing.assert_close(alone.states[0], encoded.states[row, :length], atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(alone.summary[0], encoded.summary[row], atol=1e-6, rtol=1e-5)


def test_an_encoder_serves_from_python_to_a_saved_model(
    kind: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    examples = tiny_examples(40)
    chosen = SETTINGS | {"warm_start.epochs": 15, "self_critical.epochs": 1} | settings
    classifier = Seq2SetClassifier("seq2set-simp", settings=chosen, threads=1).fit(
        examples.texts, examples.label_sets
    )
    given = classifier.predict(examples.texts)
    right = sum(set(one) == set(actual) for one, actual in zip(given, examples.label_sets, strict=True))
    assert right > 20  # of 40 documents in which every label shows by words of its own
    classifier.save(tmp_path / "model")
    card = (tmp_path / "model" / "README.md").read_text()
    assert f"{kind}: " in card
    assert str(settings.get("encoder.pretrained", kind)) in card
    again = Seq2SetClassifier.load(tmp_path / "model")
    assert again.predict(examples.texts) == given
    assert again.tagger_.config.encoder.kind == kind


def test_settings_of_an_encoder_count_with_that_encoder() -> None:
    plain, other = (
        build_config(model="seq2set", assignments=[f"encoder.kind={kind}"])
        for kind in ("bilstm", "convolution")
    )
    assert list_changes(plain, other) == ["encoder.kind: bilstm -> convolution"]
    filters = build_config(model="seq2set", assignments=["encoder.kind=convolution", "cnn.filters=9"])
    assert list_changes(other, filters) == ["cnn.filters: 128 -> 9"]
    same = build_config(model="cnn", assignments=["encoder.kind=convolution"])
    assert list_changes(build_config(model="cnn"), same) == []


def test_an_unknown_encoder_is_refused() -> None:
    *others, last = map(repr, ENCODERS)
    kinds = f"{', '.join(others)} or {last}"
    with pytest.raises(ConfigError, match=f"encoder.kind is 'nonsuch'; it must be {kinds}"):
        build_config(assignments=["encoder.kind=nonsuch"])


def test_the_vocabulary_is_a_tokenization() -> None:
    words = Words.build(
        ["wheat and rye"],
        vocabulary_size=9,
        min_frequency=1,
        lowercase=True,
        unicode_form="NFC",
        strip_accents=False,
    )
    tokenization: Tokenization = words
    (ids,) = tokenization.encode(["rye, wheat"])
    assert len(ids) == len(tokenization.spans("rye, wheat")) == 3
