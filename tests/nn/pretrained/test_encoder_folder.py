"""An encoder's folder: where it is found, and what is refused before anything of it is run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import huggingface_hub
import pytest
from safetensors.torch import load_file, save_file

from seq2set.core.errors import InputError
from seq2set.corpora.cache import get_cache_folder
from seq2set.nn.pretrained.encoder_folder import find_encoder, is_present
from seq2set.nn.pretrained.pooled_vectors import PooledEncoder
from tiny_encoders import change_settings, write_encoder


def test_found_by_path_and_in_the_cache(tmp_path: Path) -> None:
    here = find_encoder(str(write_encoder(tmp_path / "tiny")))
    write_encoder(get_cache_folder() / "encoders" / "tiny")
    assert find_encoder("tiny").path == get_cache_folder() / "encoders" / "tiny"
    assert here.path == tmp_path / "tiny"
    assert len(here.sha256) == 64
    assert is_present("tiny")
    assert not is_present("tinier")


def test_found_in_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for name, encoders in (("carries_one", 1), ("carries_none", 0), ("carries_two", 2)):
        (tmp_path / name / "data").mkdir(parents=True)
        (tmp_path / name / "__init__.py").touch()
        for number in range(encoders):
            write_encoder(tmp_path / name / "data" / f"encoder{number}")
    assert find_encoder("carries_one").path == tmp_path / "carries_one" / "data" / "encoder0"
    with pytest.raises(InputError, match="'carries_none' carries no encoder"):
        find_encoder("carries_none")
    assert not is_present("carries_none")
    with pytest.raises(InputError, match="'carries_two' carries several encoders; name one by its folder"):
        find_encoder("carries_two")


def test_a_hub_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def snapshot_download(name: str, revision: str | None, allow_patterns: list[str]) -> str:
        asked.append((name, revision, allow_patterns))
        if name == "owner/gone":
            raise OSError("no route")
        return str(write_encoder(tmp_path / "0123abcd"))

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    assert find_encoder("owner/tiny").revision == "0123abcd"
    find_encoder("owner/tiny", revision="0123abcd")
    files = ["config.json", "tokenizer.json", "model.safetensors"]
    assert asked == [("owner/tiny", None, files), ("owner/tiny", "0123abcd", files)]
    with pytest.raises(
        InputError,
        match="'owner/gone' is not on this machine and cannot be fetched .*neither /.*owner/gone nor /",
    ):
        find_encoder("owner/gone")


def test_an_unknown_name() -> None:
    with pytest.raises(InputError, match="'no-such' is neither a folder, nor in .*; `make weights`"):
        find_encoder("no-such")


def test_a_changed_encoder_is_refused(tmp_path: Path) -> None:
    was = find_encoder(str(write_encoder(tmp_path))).sha256
    assert find_encoder(str(tmp_path), was).sha256 == was
    write_encoder(tmp_path, seed=2)
    with pytest.raises(InputError, match="is not the one that the model was trained with"):
        find_encoder(str(tmp_path), was)


def test_a_pickle_is_refused_by_name(tmp_path: Path) -> None:
    (write_encoder(tmp_path) / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(InputError, match="weights in pytorch_model.bin, a format that can run code"):
        find_encoder(str(tmp_path))


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_missing_file(name: str, tmp_path: Path) -> None:
    (write_encoder(tmp_path) / name).unlink()
    with pytest.raises(InputError, match=f"there is no {name} in it"):
        find_encoder(str(tmp_path))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"auto_map": {"AutoModel": "own.Net"}}, "asks for code of its own"),
        (
            {"attn_implementation": "owner/kernels"},
            "attn_implementation is 'owner/kernels'; it must be ",
        ),
        (
            {"_attn_implementation": {"": "a/b"}},
            "_attn_implementation is \"{'': 'a/b'}\"; it must be ",
        ),
        ({"quantization_config": {"quant_method": "own"}}, "says that the weights are quantised"),
        ({"return_dict": False}, "return_dict is False; it must be True"),
        ({"num_labels": 10**9}, "num_labels is 1000000000; it must be a whole number from 0 to 100,000"),
        ({"is_decoder": True}, "is not an encoder"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers is 1000000000; it must be a whole number from 1"),
        ({"num_hidden_layers": -1}, "num_hidden_layers is -1"),
        ({"num_attention_heads": -1}, "num_attention_heads is -1"),
        ({"vocab_size": "x"}, "vocab_size is 'x'"),
        ({"max_position_embeddings": [1]}, r"max_position_embeddings is \[1\]"),
        ({"pad_token_id": -1}, "pad_token_id is -1"),
    ],
)
def test_settings_that_are_refused(changes: dict[str, object], sentence: str, tmp_path: Path) -> None:
    change_settings(write_encoder(tmp_path), **changes)
    with pytest.raises(InputError, match=sentence):
        find_encoder(str(tmp_path))


@pytest.mark.parametrize(("text", "sentence"), [("{", "cannot be read"), ("{}", "no 'model_type'")])
def test_settings_that_are_none(text: str, sentence: str, tmp_path: Path) -> None:
    (write_encoder(tmp_path) / "config.json").write_text(text)
    with pytest.raises(InputError, match=sentence):
        find_encoder(str(tmp_path))


@pytest.mark.parametrize(
    ("vocabulary", "sentence"), [(9, "18 sub-words, .* vectors for 9: they do not"), (90, "does not fit")]
)
def test_a_tokenizer_of_another_encoder(vocabulary: int, sentence: str, tmp_path: Path) -> None:
    write_encoder(tmp_path, vocabulary=vocabulary)
    with pytest.raises(InputError, match=sentence):
        PooledEncoder(tmp_path)


def put_replacements(folder: Path, replacements: object) -> None:
    path = write_encoder(folder) / "tokenizer.json"
    whole = json.loads(path.read_text())
    path.write_text(json.dumps(whole | {"normalizer": {"type": "Sequence", "normalizers": replacements}}))


def replace_by(content: str, **pattern: str) -> dict[str, object]:
    return {"type": "Replace", "pattern": pattern, "content": content}


@pytest.mark.parametrize(
    "replacements",
    [
        [replace_by("aa", String="a")] * 5,  # forty of them take all memory
        [replace_by("aa", Regex="[a-z]")],
        [replace_by("b", String="a")] * 11,
    ],
)
def test_a_tokenizer_that_makes_texts_longer(replacements: object, tmp_path: Path) -> None:
    put_replacements(tmp_path, replacements)
    with pytest.raises(InputError, match="tokenizer.json makes texts longer by replacements"):
        find_encoder(str(tmp_path))


def put_marks(folder: Path, ids: list[int]) -> None:
    path = write_encoder(folder) / "tokenizer.json"
    parts = [{"SpecialToken": {"id": "Q", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    marks = {"Q": {"id": "Q", "ids": ids, "tokens": ["q"] * len(ids)}} if ids else {}
    template = {"type": "TemplateProcessing", "single": parts, "pair": [], "special_tokens": marks}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"post_processor": template}))


@pytest.mark.parametrize(
    ("ids", "sentence"),
    [
        ([], "tokenizer.json breaks the tokenizer: no entry found for key"),
        ([10**6], "marks around a text that no encoder has: 2 in all, of sub-words up to 1,000,000"),
        ([1] * 1000, "marks around a text that no encoder has: 1,001 in all"),
    ],
)
def test_marks_that_no_encoder_has(ids: list[int], sentence: str, tmp_path: Path) -> None:
    put_marks(tmp_path, ids)
    with pytest.raises(InputError, match=sentence):
        PooledEncoder(tmp_path)


def test_an_expression_that_explodes(tmp_path: Path) -> None:
    put_replacements(tmp_path, [{"type": "Replace", "pattern": {"Regex": "(x+x+)+y"}, "content": ""}])
    encoder = PooledEncoder(find_encoder(str(tmp_path)).path)
    with pytest.raises(InputError, match="tokenizer.json breaks the tokenizer: .*retry-limit"):
        encoder.embed(["x" * 2000], 9)


def test_replacements_as_encoders_have_them(tmp_path: Path) -> None:
    put_replacements(tmp_path, [replace_by("\u2581", Regex=" {2,}"), replace_by("\u2581", String=" ")])
    assert PooledEncoder(find_encoder(str(tmp_path)).path).embed(["wheat"], 9).vectors.shape == (1, 8)


@pytest.mark.parametrize("name", ["a" * 5000, "~nobody-at-all/x", "a\0b", " "])
def test_names_that_no_folder_has(name: str) -> None:
    with pytest.raises(InputError, match="is neither a folder, nor in"):
        find_encoder(name)
    assert not is_present(name)


def test_weights_that_are_no_numbers(tmp_path: Path) -> None:
    weights = load_file(write_encoder(tmp_path) / "model.safetensors")
    broken = {name: value.fill_(float("nan")) for name, value in weights.items()}
    save_file(broken, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match="model.safetensors gives vectors that are not finite numbers"):
        PooledEncoder(tmp_path).embed(["wheat"], 9)


def test_a_tokenizer_that_is_none(tmp_path: Path) -> None:
    (write_encoder(tmp_path) / "tokenizer.json").write_text("{}")
    with pytest.raises(InputError, match="tokenizer.json is not a tokenizer that can be read"):
        PooledEncoder(tmp_path)


def test_missing_weights(tmp_path: Path) -> None:
    weights = load_file(write_encoder(tmp_path) / "model.safetensors")
    del weights["encoder.layer.0.output.dense.weight"]
    save_file(weights, tmp_path / "model.safetensors", {"format": "pt"})
    with pytest.raises(InputError, match="lacks 1 of the encoder's weights, such as encoder.layer.0.output"):
        PooledEncoder(tmp_path)


def test_cut_weights(tmp_path: Path) -> None:
    path = write_encoder(tmp_path) / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(InputError, match="cannot be opened by transformers"):
        PooledEncoder(tmp_path)


def test_without_transformers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(InputError, match=r"pip install 'seq2set\[pretrained\]'"):
        PooledEncoder(write_encoder(tmp_path))
