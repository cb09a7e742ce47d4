"""Models whose network reads with a pretrained encoder: trained, saved, opened elsewhere, gone on with."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from seq2set.config import Config
from seq2set.config.catalog import MODELS, reads
from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import ConfigError, InputError, ModelFolderError
from seq2set.core.progress import Silent
from seq2set.inference.manifest import build_manifest
from seq2set.inference.model_folder import load_model, save_model
from seq2set.models.neural import NeuralTagger
from seq2set.models.predictions import Request
from seq2set.nn.pretrained.encoder_folder import find_encoder
from seq2set.training.starting_network import StartingNetwork
from seq2set.training.train_network import train_network
from seq2set.workflows.export import export_onnx
from tiny_encoders import write_encoder
from tiny_networks import tiny_config, tiny_examples, trained

CHOOSING = [model for model in MODELS if reads(model, "encoder.kind")]
TEXTS = ["wheat harvest, the bank", "crude barrels and a tariff", "", "exports " * 50]


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    return write_encoder(tmp_path / "encoder", layers=2, spread=0.2)


def config_of(encoder: Path, *settings: str, model: str = "seq2set-simp") -> Config:
    own = "encoder.kind=transformer", f'encoder.pretrained="{encoder}"', "encoder.learning_rate=0.003"
    return tiny_config(*own, *settings, model=model)


def score(tagger: Any, texts: list[str] = TEXTS) -> np.ndarray:
    scores: np.ndarray = tagger.infer(texts, Request(search="marginal")).scores
    return scores


def save(tagger: NeuralTagger, folder: Path) -> Path:
    save_model(tagger, folder, card="", metadata={})
    return folder


@pytest.mark.parametrize("tune", ["none", "1", "all"])
@pytest.mark.parametrize("model", CHOOSING)
def test_a_model_is_whole_in_its_folder(model: str, tune: str, encoder: Path, tmp_path: Path) -> None:
    config = config_of(encoder, f"encoder.tune={tune}", "prior.enabled=true", model=model)
    tagger = trained(tmp_path / "run", config)
    scores, folder = score(tagger), save(tagger, tmp_path / "saved")
    files = {path.name for path in folder.iterdir() if path.name.startswith("encoder")}
    weights = [name for name in load_file(folder / "model.safetensors") if "encoder" in name.split("/")[1]]
    facts = json.loads((folder / "config.json").read_text())["facts"]["pretrained"]
    sha256 = find_encoder(str(encoder)).sha256
    about = {"encoder": str(encoder), "sha256": sha256, "revision": "", "window": 256}
    assert facts == about | {"tuned": tune != "none"}
    moved = folder.rename(tmp_path / "elsewhere")
    np.testing.assert_allclose(score(load_model(moved)), scores, atol=1e-4)
    write_encoder(encoder, seed=2)
    if tune == "none":
        assert files == set()
        assert weights == []
        with pytest.raises(ModelFolderError, match="is not the one that the model was trained with"):
            load_model(moved)
    else:
        assert files == {"encoder_config.json", "encoder_tokenizer.json"}
        assert len(weights) == 2 * 16 + 5
        shutil.rmtree(encoder)  # not needed any more
        np.testing.assert_allclose(score(load_model(moved)), scores, atol=1e-4)


def test_tuning_changes_what_is_to_be_tuned_alone(encoder: Path, tmp_path: Path) -> None:
    tensors = trained(tmp_path / "run", config_of(encoder, "encoder.tune=1")).state().tensors
    before = load_file(encoder / "model.safetensors")
    same = {name for name, value in before.items() if np.array_equal(value, tensors.get(own(name), 0))}
    assert {name for name in before if name.startswith(("embeddings", "encoder.layer.0"))} <= same
    assert not any(name.startswith("encoder.layer.1") and "weight" in name for name in same)


def own(name: str) -> str:
    return f"network/encoder.body.{name}"


def test_reasons_are_words_of_the_text(encoder: Path, tmp_path: Path) -> None:
    tagger = trained(tmp_path / "run", config_of(encoder, "encoder.max_words=3", "warm_start.epochs=4"))
    found = tagger.infer(TEXTS, Request(explain=True, search="marginal", top_k=3))
    assert found.evidence is not None
    for text, labels in zip(TEXTS, found.evidence, strict=True):
        for words in labels:
            assert all(text[one.start : one.end] == one.word for one in words)
    named = {one.word for words in found.evidence[0] for one in words}
    assert named
    assert "bank" not in named  # the fifth of our words: the comma is one
    assert not any("bank" in one.split() for one in named)
    assert tagger.count_cut(TEXTS) == {"more than 3 words; the network reads the first 3": 3}


@pytest.mark.parametrize("tune", ["none", "all"])
def test_a_stopped_run_goes_on_to_the_same_end(tune: str, encoder: Path, tmp_path: Path) -> None:
    class StoppedHereError(Exception):
        pass

    def stop(number: int, record: dict[str, Any]) -> None:
        if number == 4:
            raise StoppedHereError

    settings = "self_critical.epochs=1", "training.validate_every=1", "encoder.dropout=0.2"
    config = config_of(encoder, f"encoder.tune={tune}", "encoder.warm_up=0.5", *settings)
    whole = trained(tmp_path / "whole", config)
    run = RunFolder.start(tmp_path / "stopped", config, watch=stop)
    with pytest.raises(StoppedHereError):
        train_network(config, tiny_examples(), tiny_examples(12, seed=2), run, Silent())
    resumed = trained(tmp_path / "stopped", config)
    assert {key: value.tolist() for key, value in resumed.state().tensors.items()} == {
        key: value.tolist() for key, value in whole.state().tensors.items()
    }
    assert len(RunFolder(tmp_path / "stopped").records()) == len(RunFolder(tmp_path / "whole").records()) == 6


def test_a_run_goes_on_with_its_own_encoder_alone(encoder: Path, tmp_path: Path) -> None:
    config = config_of(encoder)
    trained(tmp_path / "run", config)
    write_encoder(encoder, layers=2, seed=5)
    with pytest.raises(InputError, match="was begun with '.*encoder' as it is now; put the old encoder back"):
        trained(tmp_path / "run", config)
    (tmp_path / "run" / "encoder.json").write_text("{")
    with pytest.raises(InputError, match="encoder.json does not say that the run was begun with"):
        trained(tmp_path / "run", config)


@pytest.mark.parametrize("tune", ["none", "1"])
def test_two_processes_learn_what_one_does(tune: str, encoder: Path, tmp_path: Path) -> None:
    settings = f"encoder.tune={tune}", "encoder.dropout=0.2", "self_critical.epochs=1", "objective.samples=2"
    config = config_of(encoder, *settings, "threads=auto", "training.batch_size=9")
    one, two = (
        trained(tmp_path / str(workers), config.model_copy(update={"workers": workers})) for workers in (1, 2)
    )
    np.testing.assert_allclose(score(one), score(two), atol=2e-3)
    records = [RunFolder(tmp_path / name).records() for name in ("1", "2")]
    for ours, theirs in zip(*records, strict=True):
        assert ours["loss"] == pytest.approx(theirs["loss"], abs=1e-4)


def test_the_rate_rises_and_decays(encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[float]] = []
    from torch.optim import Adam

    step = Adam.step

    def watch(self: Adam, *given: Any, **named: Any) -> Any:
        seen.append([group["lr"] for group in self.param_groups])
        return step(self, *given, **named)

    monkeypatch.setattr(Adam, "step", watch)
    settings = "encoder.tune=1", "encoder.warm_up=0.5", "warm_start.epochs=2", "training.decay=0.5"
    trained(tmp_path / "run", config_of(encoder, *settings))  # 20 documents, 3 updates per epoch
    assert [one[0] for one in seen] == pytest.approx([0.01] * 3 + [0.005] * 3)
    # Three of the six updates are the warm-up, to 0.003.
    assert [one[1] for one in seen] == pytest.approx([0.001, 0.002, 0.003, 0.0015, 0.0015, 0.0015])


def test_an_ensemble_reads_with_it(encoder: Path, tmp_path: Path) -> None:
    config = config_of(encoder, "ensemble=2", "encoder.tune=1", "search.name=marginal")
    tagger = trained(tmp_path / "run", config)
    np.testing.assert_allclose(score(load_model(save(tagger, tmp_path / "saved"))), score(tagger), atol=1e-4)


@pytest.mark.parametrize("tune", ["none", "all"])
def test_another_training_begins_from_it(tune: str, encoder: Path, tmp_path: Path) -> None:
    config = config_of(encoder, f"encoder.tune={tune}")
    first = trained(tmp_path / "first", config)
    run = RunFolder.start(tmp_path / "second", config)
    again = train_network(
        config,
        tiny_examples(),
        tiny_examples(12, seed=2),
        run,
        Silent(),
        start=StartingNetwork(first, "first"),
    )
    assert again.state().tensors.keys() == first.state().tensors.keys()
    assert np.abs(score(again) - score(first)).max() < 0.5


def test_an_encoder_that_nothing_reads_is_refused(encoder: Path, tmp_path: Path) -> None:
    config = tiny_config(f'encoder.pretrained="{encoder}"')
    with pytest.raises(ConfigError, match=r"encoder.pretrained is '.*'; encoder.kind must be 'transformer'"):
        trained(tmp_path / "run", config)
    trained(tmp_path / "cnn", tiny_config(f'encoder.pretrained="{encoder}"', model="cnn"))  # cannot choose


def test_there_is_no_graph_of_it(encoder: Path, tmp_path: Path) -> None:
    folder = save(trained(tmp_path / "run", config_of(encoder)), tmp_path / "model")
    with pytest.raises(InputError, match="encoder.kind is 'transformer', which has no ONNX graph"):
        export_onnx(folder)


def change_config(**changes: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / "encoder_config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return change


def change_tokenizer(**changes: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / "encoder_tokenizer.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return change


def change_fact(**changes: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        whole = json.loads((folder / "config.json").read_text())
        whole["facts"]["pretrained"] |= changes
        (folder / "config.json").write_text(json.dumps(whole))

    return change


REPLACES = {"type": "Replace", "pattern": {"Regex": "(a*)*b"}, "content": "aaaaaaaa"}
LONG = {"type": "WordPiece", "max_input_chars_per_word": 10**9, "unk_token": "a", "vocab": {"a": 0}}
MARKS = {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}] * 99}

HOSTILE: dict[str, tuple[Callable[[Path], None], str]] = {
    "no settings": (
        lambda folder: (folder / "encoder_config.json").unlink(),
        "encoder_config.json is missing",
    ),
    "a list": (lambda folder: (folder / "encoder_config.json").write_text("[]"), "does not describe"),
    "code": (change_config(auto_map={"AutoModel": "own.Net"}), "asks for code of its own"),
    "a decoder": (change_config(is_decoder=True), "is not an encoder's"),
    "another kind": (change_config(model_type="t5"), "model_type is 't5'; it must be"),
    "layers": (change_config(num_hidden_layers=10**9), "num_hidden_layers is 1000000000; it must be"),
    "wide": (
        change_config(hidden_size=4096, num_attention_heads=2),
        "is F32 of .* it must be F32 of",
    ),
    "places": (
        change_config(max_position_embeddings=10**6),
        "no network that can be built: layers",
    ),
    "no number": (change_config(hidden_size="many"), "describes no network that can be built"),
    "words": (change_config(vocab_size=4), "they do not belong together"),
    "an expression": (change_tokenizer(normalizer=REPLACES), "not allowed: normalizer Replace"),
    "a long word": (change_tokenizer(model=LONG), "longer words, than are let in"),
    "marks": (change_tokenizer(post_processor=MARKS), "more parts or marks"),
    "no tokenizer": (change_tokenizer(model=None), "the tokenizer is malformed"),
    "a model": (change_tokenizer(model={"type": "Own"}), "not allowed: model Own"),
    "window": (change_fact(window=0), "facts.pretrained.window"),
}


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder with an encoder of its own."""
    folder = tmp_path_factory.mktemp("tuned")
    encoder = write_encoder(folder / "encoder", layers=2, spread=0.2)
    return save(trained(folder / "run", config_of(encoder, "encoder.tune=all")), folder / "model")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_folder_made_to_hurt_is_refused(name: str, tuned: Path, tmp_path: Path) -> None:
    change, sentence = HOSTILE[name]
    folder = Path(shutil.copytree(tuned, tmp_path / "model"))
    change(folder)
    (folder / "manifest.json").unlink()
    (folder / "manifest.json").write_text(json.dumps(build_manifest(folder)))
    with pytest.raises(ModelFolderError, match=sentence):
        load_model(folder)
