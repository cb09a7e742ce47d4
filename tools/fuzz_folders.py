"""What is fuzzed of folders: models, corpora, checkpoints, changed in parts, with checksums that fit."""

from __future__ import annotations

import contextlib
import functools
import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from copies import ROOT
from fuzz_targets import Target, values
from seq2set.core.errors import Seq2SetError
from seq2set.core.files import compute_sha256
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.inference.manifest import build_manifest
from seq2set.inference.model_folder import load_model, read_metadata, read_seen
from seq2set.models.predictions import Request
from seq2set.training.checkpoint import read_position, read_weights

FORMATS = ROOT / "tests/fixtures/formats"
MODELS = ("br", "cc", "lp", "cnn", "seq2set-simp")

places = st.lists(st.integers(0, 1000), min_size=1, max_size=5)
flips = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=4)
sizes = st.sampled_from([0, -1, 1, 2, 2**31, 2**63, 10**30, 0.5, 1e308, True])
changes = st.lists(st.tuples(places, st.one_of(values, sizes)), min_size=1, max_size=3)
"""Where in a tree of JSON, by turns from each level to the next, and what is put there"""


def change_tree(tree: Any, place: list[int], value: Any) -> Any:
    """Put a value into parsed JSON."""
    keys = list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else []
    if not place or not keys:
        return value
    key = keys[place[0] % len(keys)]
    changed = dict(tree) if isinstance(tree, dict) else list(tree)
    changed[key] = change_tree(tree[key], place[1:], value)
    return changed


def change_bytes(content: bytes, changed: list[tuple[float, int]]) -> bytes:
    """Change some bytes."""
    result = bytearray(content)
    for share, value in changed:
        result[int(share * (len(result) - 1))] = value
    return bytes(result)


def write_changed(path: Path, found: list[tuple[list[int], Any]]) -> None:
    """Change a file of JSON."""
    tree = json.loads(path.read_text(encoding="utf-8"))
    for place, value in found:
        tree = change_tree(tree, place, value)
    path.write_bytes(json.dumps(tree).encode())


def open_model(change: Callable[[Path, Any], None], case: tuple[str, Any]) -> None:
    """Check that a changed model answers with finite scores, or is refused by an error of ours."""
    name, found = case
    with tempfile.TemporaryDirectory() as place, contextlib.suppress(Seq2SetError):
        folder = Path(shutil.copytree(FORMATS / "models" / name, Path(place) / "model"))
        change(folder, found)
        manifest = build_manifest(folder)
        (folder / "manifest.json").unlink()
        del manifest["files"]["manifest.json"]
        (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
        tagger = load_model(folder)
        read_metadata(folder)
        read_seen(folder)
        assert tagger.infer(["snow at sea", ""], Request(min_labels=1)).scores.min() >= 0


def change_json(name: str, folder: Path, found: list[tuple[list[int], Any]]) -> None:
    """Change a JSON file of a model."""
    write_changed(folder / name, found)


def change_tensors(folder: Path, found: list[tuple[float, int]]) -> None:
    """Change bytes of the header or of the numbers."""
    path = folder / "model.safetensors"
    path.write_bytes(change_bytes(path.read_bytes(), found))


def open_manifest(found: list[tuple[list[int], Any]]) -> None:
    """Check that a changed manifest is refused, or changes nothing."""
    with tempfile.TemporaryDirectory() as place, contextlib.suppress(Seq2SetError):
        folder = Path(shutil.copytree(FORMATS / "models" / "br", Path(place) / "model"))
        write_changed(folder / "manifest.json", found)
        load_model(folder)


def open_corpus(case: tuple[list[tuple[list[int], Any]], list[tuple[float, int]] | None]) -> None:
    """Check that a changed corpus is read whole, or is refused by an error of ours."""
    found, changed = case
    with tempfile.TemporaryDirectory() as place, contextlib.suppress(Seq2SetError):
        folder = Path(shutil.copytree(FORMATS / "corpus", Path(place) / "corpus"))
        path = folder / "train.parquet"
        if changed is not None:
            path.write_bytes(change_bytes(path.read_bytes(), changed))
            facts = json.loads((folder / "corpus.json").read_text(encoding="utf-8"))
            facts["files"][path.name] = {"sha256": compute_sha256(path), "bytes": path.stat().st_size}
            (folder / "corpus.json").write_text(json.dumps(facts), encoding="utf-8")
        else:
            write_changed(folder / "corpus.json", found)
        corpus = PreparedCorpus.open(folder)
        for _, document in corpus.iter_documents():
            assert isinstance(document.text, str)
        assert corpus.fingerprint
        assert corpus.seed >= 0 or corpus.remarks is not None


def open_checkpoint(changed: list[tuple[float, int]]) -> None:
    """Check that a changed checkpoint is read, or is refused by an error of ours."""
    source = FORMATS / "interrupted/seq2set-simp/checkpoints/last.safetensors"
    with tempfile.TemporaryDirectory() as place, contextlib.suppress(Seq2SetError):
        path = Path(place) / "last.safetensors"
        path.write_bytes(change_bytes(source.read_bytes(), changed))
        read_position(path)
        read_weights(path)


def _aim(name: str) -> Callable[..., object]:
    return functools.partial(open_model, functools.partial(change_json, name))


some = st.sampled_from(MODELS)
FOLDERS: dict[str, Target] = {
    "model-config": Target("config.json of models", st.tuples(some, changes), _aim("config.json")),
    "model-labels": Target("labels.json of models", st.tuples(some, changes), _aim("labels.json")),
    "model-words": Target("tokenizer.json of models", st.tuples(some, changes), _aim("tokenizer.json")),
    "model-tensors": Target(
        "tensors of models", st.tuples(some, flips), functools.partial(open_model, change_tensors)
    ),
    "manifests": Target("manifests of models", changes, open_manifest),
    "corpora": Target("prepared corpora", st.tuples(changes, st.one_of(st.none(), flips)), open_corpus),
    "checkpoints": Target("checkpoints", flips, open_checkpoint),
}
"""What is fuzzed of folders, by name"""
