"""Model folders that somebody made to hurt: each is refused in a sentence, at once and in little memory.

Every folder here is consistent: its manifest has the right sizes and checksums of whatever the file holds.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from seq2set.core.errors import ModelFolderError
from seq2set.inference.manifest import build_manifest, read_card, verify
from seq2set.inference.model_folder import load_model, read_metadata, read_seen, replace_files

MODELS = Path(__file__).resolve().parent.parent / "fixtures" / "formats" / "models"


@pytest.fixture
def folder(tmp_path: Path) -> Callable[[str], Path]:
    """A copy of a model that earlier versions wrote."""

    def copy(name: str) -> Path:
        return Path(shutil.copytree(MODELS / name, tmp_path / "model"))

    return copy


def seal(folder: Path) -> Path:
    """Give a folder a manifest that fits."""
    (folder / "manifest.json").unlink()
    (folder / "manifest.json").write_text(json.dumps(build_manifest(folder) | {"format": 2}))
    return folder


def change_json(folder: Path, name: str, change: Callable[[Any], Any]) -> Path:
    value = json.loads((folder / name).read_text(encoding="utf-8"))
    (folder / name).write_text(json.dumps(change(value)), encoding="utf-8")
    return seal(folder)


def put(*path: str | int, value: Any) -> Callable[[Any], Any]:
    """Return a change of one value, deep inside."""

    def change(whole: Any) -> Any:
        inner = whole
        for part in path[:-1]:
            inner = inner[part]
        inner[path[-1]] = value
        return whole

    return change


def refuse(folder: Path, sentence: str) -> None:
    with pytest.raises(ModelFolderError, match=sentence) as caught:
        load_model(folder)
    assert len(str(caught.value)) < 1000


# ---- the files


def test_links_are_refused(folder: Callable[[str], Path], tmp_path: Path) -> None:
    model = folder("br")
    (tmp_path / "elsewhere").write_bytes((model / "README.md").read_bytes())
    (model / "README.md").unlink()
    (model / "README.md").symlink_to(tmp_path / "elsewhere")
    refuse(model, r"README.md is a link; a model folder holds plain files alone")
    with pytest.raises(ModelFolderError, match="README.md is a link"):
        read_card(model)


def test_a_pipe_is_refused_and_not_waited_for(folder: Callable[[str], Path]) -> None:
    model = folder("br")
    (model / "README.md").unlink()
    os.mkfifo(model / "README.md")
    refuse(model, r"README.md is no plain file")


def test_what_is_not_listed_is_refused(folder: Callable[[str], Path]) -> None:
    model = folder("br")
    (model / ".DS_Store").write_text("of a file manager")
    load_model(model)
    (model / "secret.txt").write_text("of somebody else")
    refuse(model, r"secret.txt is not listed in manifest.json; .* move it elsewhere")


def test_a_card_that_is_not_listed_is_not_shown(folder: Callable[[str], Path]) -> None:
    model = folder("br")
    manifest = json.loads((model / "manifest.json").read_text())
    del manifest["files"]["README.md"]
    (model / "manifest.json").write_text(json.dumps(manifest))
    refuse(model, "README.md is not listed")
    (model / "README.md").unlink()
    load_model(model)
    assert read_card(model) == ""


def test_a_card_that_is_no_text(folder: Callable[[str], Path]) -> None:
    model = folder("br")
    (model / "README.md").write_bytes(b"\xff\xfe\x00")
    seal(model)
    with pytest.raises(ModelFolderError, match=r"README.md cannot be read: it is not UTF-8"):
        read_card(model)


def test_sizes_are_compared(folder: Callable[[str], Path]) -> None:
    model = folder("br")
    manifest = json.loads((model / "manifest.json").read_text())
    manifest["files"]["README.md"]["bytes"] += 1
    (model / "manifest.json").write_text(json.dumps(manifest))
    refuse(model, r"README.md is damaged: it has [\d,]+ bytes, and manifest.json says [\d,]+")
    del manifest["files"]["README.md"]["bytes"]
    (model / "manifest.json").write_text(json.dumps(manifest))
    refuse(model, r"manifest.json does not say how large README.md is")


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/../../x", ".hidden", "a\\b", "c:x", "a//b", ""])
def test_names_stay_inside(name: str, folder: Callable[[str], Path]) -> None:
    model = folder("br")
    manifest = json.loads((model / "manifest.json").read_text())
    manifest["files"][name] = {"sha256": "0", "bytes": 1}
    (model / "manifest.json").write_text(json.dumps(manifest))
    refuse(model, "lies outside the folder or is hidden in it")


def test_a_folder_may_hold_listed_folders(folder: Callable[[str], Path], tmp_path: Path) -> None:
    model = folder("br")
    (model / "encoder").mkdir()
    (model / "encoder" / "vectors.bin").write_bytes(b"1")
    load_model(seal(model))
    assert "encoder/vectors.bin" in verify(model)
    (model / "encoder" / "vectors.bin").write_bytes(b"2")
    refuse(model, "vectors.bin is damaged")
    shutil.move(model / "encoder", tmp_path / "moved")
    (model / "encoder").symlink_to(tmp_path / "moved")
    refuse(model, "encoder is a link")


def test_files_that_come_and_go_leave_nothing_unlisted(folder: Callable[[str], Path]) -> None:
    model = folder("br")
    with replace_files(model) as aside:
        (aside / "new.txt").write_text("1")
    assert "new.txt" in verify(model)
    with replace_files(model, drop=["new.txt"]):
        pass
    assert "new.txt" not in verify(model)
    assert not (model / "new.txt").exists()


# ---- the numbers


def change_tensors(folder: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors")
    return seal(folder)


@pytest.mark.parametrize("name", ["br", "cc", "lp", "cnn", "cnn-rnn", "seq2seq", "seq2set-simp", "seq2set"])
def test_every_wrong_shape_is_named(name: str, folder: Callable[[str], Path]) -> None:
    model = folder(name)
    load_model(model)
    whole = load_file(model / "model.safetensors")
    for tensor, values in whole.items():
        longer = np.concatenate([values, values[-1:]])
        wrong = {"more rows": longer, "other numbers": values.astype(np.float16), "flat": values[..., None]}
        some = wrong if name in ("br", "lp") else {"flat": values[..., None]}
        for kind, one in some.items():
            save_file(whole | {tensor: np.ascontiguousarray(one)}, model / "model.safetensors")
            with pytest.raises(ModelFolderError, match="the tensor '|the label combinations"):
                load_model(seal(model))
                pytest.fail(f"{tensor} with {kind} was opened")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("name", "tensor"), [("br", "linear.weights"), ("cnn", "network/output.weight")])
def test_numbers_that_are_none(name: str, tensor: str, value: float, folder: Callable[[str], Path]) -> None:
    model = folder(name)
    change_tensors(model, lambda tensors: tensors[tensor].__setitem__((-1, -1), value))
    refuse(model, rf"the tensor '{tensor}' holds numbers that are not finite")


def test_tensors_that_are_missing_or_too_many(folder: Callable[[str], Path]) -> None:
    model = folder("br")
    change_tensors(model, lambda tensors: tensors.update(extra=np.zeros(1)))
    refuse(model, "the tensor 'extra' is none of this model's")
    change_tensors(model, lambda tensors: [tensors.pop("extra"), tensors.pop("linear.bias")])
    refuse(model, "the tensor 'linear.bias' is missing")


@pytest.mark.parametrize(
    ("name", "tensor", "value", "sentence"),
    [
        ("br", "features.terms", 0, "the terms are not in ascending order"),
        ("br", "features.idf", -1, "the terms are not in ascending order, or have no weight"),
        ("cc", "chain.0.order", 0, "does not name each label once"),
        ("lp", "combinations.labels", 99, "do not name labels of the model"),
        ("lp", "combinations.ends", 99, "do not name labels of the model"),
    ],
)
def test_numbers_that_cannot_be(
    name: str, tensor: str, value: int, sentence: str, folder: Callable[[str], Path]
) -> None:
    model = folder(name)
    refuse(change_tensors(model, lambda tensors: tensors[tensor].fill(value)), sentence)


@pytest.mark.parametrize(
    ("bounds", "sentence"),
    [
        ({"scores": [0.5, 0.6]}, "there must be as many scores as probabilities"),
        ({"scores": [0.5] * 99, "probabilities": [0.5] * 99}, "99 thresholds cannot bound the scores of"),
        ({"inner": {"kind": "bounded"}}, "bounded"),
    ],
)
def test_a_bounded_calibrator_that_cannot_be(
    bounds: dict[str, Any], sentence: str, folder: Callable[[str], Path]
) -> None:
    inner = {"kind": "logistic", "weights": {"logit": 1.0}, "offset": 0.0}
    calibrator = {"kind": "bounded", "scores": [0.5], "probabilities": [0.4], "inner": inner}
    model, whole, broken = folder("br"), {"marginal": calibrator}, {"marginal": calibrator | bounds}
    load_model(change_json(model, "config.json", put("facts", "confidence", value={"calibrators": whole})))
    refuse(
        change_json(model, "config.json", put("facts", "confidence", value={"calibrators": broken})), sentence
    )


@pytest.mark.parametrize("setting", ["embedding", "hidden"])
def test_sizes_are_compared_before_they_are_allocated(setting: str, folder: Callable[[str], Path]) -> None:
    """At the largest sizes that settings allow the network would have 100 GB and more."""
    model = folder("seq2seq")
    refuse(change_json(model, "config.json", put("settings", "encoder", setting, value=65_536)), "the tensor")
    refuse(
        change_json(model, "config.json", put("settings", "decoder", "hidden", value=2**40)),
        r"decoder.hidden is 1099511627776; it must be <= 65536",
    )
    refuse(
        change_json(model, "config.json", put("settings", "encoder", "layers", value=10**9)),
        r"encoder.layers is 1000000000; it must be <= 64",
    )


def write_header(folder: Path, header: Any, behind: bytes = b"") -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + behind)
    return seal(folder)


def entry(*offsets: int, shape: list[Any] | None = None, kind: str = "F32") -> dict[str, Any]:
    return {"dtype": kind, "shape": [1] if shape is None else shape, "data_offsets": list(offsets)}


@pytest.mark.parametrize(
    ("header", "sentence"),
    [
        (b"[" * 200_000, "the header of model.safetensors cannot be read"),
        ([], "the header of model.safetensors cannot be read"),
        ({"a": entry(0, 4, kind="F4")}, "cannot be read"),
        ({"a": entry(0, 4, shape=[-1])}, "cannot be read"),
        ({"a": entry(0, 4, shape=["x"])}, "cannot be read"),
        ({"a": entry(0, 4, shape=[True])}, "cannot be read"),
        ({"a": entry(0, 4, shape=[2**62])}, "cannot be read"),
        ({"a": entry(0, 4), "b": entry(0, 4)}, "overlap or have gaps"),
        ({"a": entry(0, 4), "b": entry(8, 12)}, "overlap or have gaps"),
        ({"a": entry(0, 4)}, r"has [\d,]+ bytes; its header describes"),
        ({"a": entry(0, 0, shape=[2**40, 0])}, "a tensor of model.safetensors is larger than the file"),
    ],
)
def test_headers_that_contradict_themselves(
    header: Any, sentence: str, folder: Callable[[str], Path]
) -> None:
    refuse(write_header(folder("br"), header), sentence)


def test_a_file_without_a_header(folder: Callable[[str], Path]) -> None:
    model = folder("br")
    for content in (b"", b"\x00" * 7, (2**62).to_bytes(8, "little")):
        (model / "model.safetensors").write_bytes(content)
        refuse(seal(model), "is cut off, or no safetensors file")


def test_hashes_of_other_types_than_ours(folder: Callable[[str], Path]) -> None:
    model = folder("br")
    save_file({"trained": np.zeros(3)}, model / "seen.safetensors")
    with pytest.raises(ModelFolderError, match=r"seen.safetensors cannot be read: .*'trained' is F64"):
        read_seen(model)
    (model / "seen.safetensors").write_bytes(b"no")
    with pytest.raises(ModelFolderError, match=r"seen.safetensors is cut off"):
        read_seen(model)


# ---- the words


DEEP = "[" * 200_000


@pytest.mark.parametrize("name", ["config.json", "labels.json", "tokenizer.json", "manifest.json"])
@pytest.mark.parametrize("text", [DEEP, "", "[]", "null", "7", "{}", '{"a": NaN}', '["\\ud800"]'])
def test_json_that_is_odd(name: str, text: str, folder: Callable[[str], Path]) -> None:
    model = folder("br")
    (model / name).write_text(text)
    if name != "manifest.json":
        seal(model)
    refuse(model, r"[a-z]+\.json|labels|tokeniser")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("about",), None),
        (("about",), []),
        (("about", "validation"), {"micro_f1": "good"}),
        (("about", "per_label"), [{"label": 3}]),
        (("about", "per_label"), {"a": 1}),
        (("about", "corpus", "licence"), 7),
        (("about", "corpus", "train"), -1),
        (("facts",), None),
        (("facts", "c"), "1"),
        (("facts", "c"), 0),
        (("facts", "sigmoid"), {"slope": 1}),
        (("facts", "sigmoid", "slope"), True),
        (("facts", "rule"), []),
        (("facts", "rule"), None),
        (("facts", "rule", "kind"), None),
        (("facts", "vectors"), {"encoder": "a/b", "sha256": "", "words": 9}),
        (("facts", "vectors"), {"encoder": "", "sha256": "0" * 64, "words": 9}),
        (("settings",), 3),
    ],
)
def test_values_of_other_types(path: tuple[str, ...], value: Any, folder: Callable[[str], Path]) -> None:
    model = folder("br")
    key = ".".join(path[:2])
    refuse(change_json(model, "config.json", put(*path, value=value)), rf"config.json cannot be used: {key}")
    with pytest.raises(ModelFolderError, match="config.json"):
        read_metadata(model)


def test_a_rule_that_is_null(folder: Callable[[str], Path]) -> None:
    model = folder("br")
    change_json(model, "config.json", put("facts", "rule", value=None))
    refuse(model, "config.json cannot be used: facts.rule")


def test_keys_that_are_missing(folder: Callable[[str], Path]) -> None:
    model = folder("cc")
    change_json(model, "config.json", lambda whole: [whole["facts"].pop("chains"), whole][1])
    refuse(model, "'chains' is missing")
    change_json(model, "config.json", lambda whole: [whole.pop("about"), whole][1])
    refuse(model, "config.json cannot be used: about: Field required")


@pytest.mark.parametrize(
    "labels",
    [
        [],
        {"names": [], "frequencies": []},
        {"names": ["a"], "frequencies": [True]},
        {"names": ["a"], "frequencies": [-1]},
        {"names": ["a"], "frequencies": [2**70]},
        {"names": "a", "frequencies": [1]},
        {"names": ["a", "a"], "frequencies": [1, 1]},
        {"names": ["\ud800"], "frequencies": [1]},
    ],
)
def test_labels_that_cannot_be(labels: Any, folder: Callable[[str], Path]) -> None:
    refuse(change_json(folder("br"), "labels.json", lambda _: labels), "labels|labels.json cannot be read")


FOREIGN: dict[str, Callable[[Any], Any]] = {
    "padding": put("padding", value={"strategy": {"Fixed": 10**9}, "pad_id": 0, "pad_token": "[pad]"}),
    "truncation": put("truncation", value={"max_length": 1, "stride": 9}),
    "a chain of replacements": put(
        "normalizer",
        value={
            "type": "Sequence",
            "normalizers": [{"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}] * 60,
        },
    ),
    "a slow expression": put("pre_tokenizer", "pattern", value={"Regex": "(a+)+$"}),
    "another split": put("pre_tokenizer", "behavior", value="Isolated"),
    "no normaliser": put("normalizer", value=None),
    "a decoder": put("decoder", value={"type": "BPEDecoder"}),
    "another model": put("model", "type", value="BPE"),
    "a hidden part": put("model", "dropout", value=0.1),
    "added tokens": put("added_tokens", value=[{"id": 9, "content": "x"}]),
    "a large number": put("model", "vocab", "[pad]", value=2**32 - 1),
    "a repeated number": put("model", "vocab", "[pad]", value=1),
    "no number": put("model", "vocab", "[pad]", value=False),
    "words as a list": put("model", "vocab", value=["[pad]"]),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_tokenisers_have_the_parts_that_we_write(name: str, folder: Callable[[str], Path]) -> None:
    refuse(
        change_json(folder("br"), "tokenizer.json", FOREIGN[name]), "tokeniser cannot be read from its JSON"
    )


def test_control_characters_in_labels_are_let_in(folder: Callable[[str], Path]) -> None:
    """A corpus can hold them; who prints labels takes care of them."""
    model = change_json(folder("br"), "labels.json", put("names", 0, value="a\x1b[31mb"))
    assert "a\x1b[31mb" in load_model(model).labels.names
