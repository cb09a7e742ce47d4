"""The parts of a pretrained encoder, opened: its tokenizer, and its network with or without the weights.

Nothing here runs code that a folder brings, and no part that a file names beyond what is known here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from seq2set.core.errors import InputError, import_extra
from seq2set.core.text_utils import join_names
from seq2set.nn.pretrained.encoder_folder import CONFIG, TOKENIZER, WEIGHTS

KINDS = ("bert", "camembert", "distilbert", "electra", "modernbert", "mpnet", "roberta", "xlm-roberta")
"""The networks that can be built from their settings alone, as those of a tuned encoder are"""

MOST_LAYERS, LARGEST_SIZE, MOST_PLACES = 64, 65_536, 131_072
"""Of a network that is built from settings: more is no encoder, but would take time and memory"""

MOST_MARKS = 64
"""Sub-words and marks of a text of one letter"""

_FOREIGN = {"auto_map", "quantization_config", "torch_dtype", "dtype", "transformers_version"}
_FOREIGN |= {"attn_implementation", "use_kernels"}
"""Settings of how a network was stored and by whose code it is run, which its numbers do not depend on"""


class Marks(NamedTuple):
    """What a tokenizer puts before and behind every text."""

    before: list[int]
    behind: list[int]


def open_tokenizer(text: str, settings: Mapping[str, Any], place: Path) -> Any:
    """Open a tokenizer that belongs to the network of these settings; `place` is the folder of both."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_str(text)
    except Exception as error:  # the library raises nothing more exact
        raise InputError(f"{place / TOKENIZER} is not a tokenizer that can be read: {error}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    known, vectors = 1 + max(tokenizer.get_vocab().values(), default=-1), int(settings.get("vocab_size") or 0)
    if known > vectors:
        raise InputError(
            f"{place / TOKENIZER} has {known:,} sub-words, and {CONFIG} has vectors for {vectors:,}: they do "
            "not belong together"
        )
    if 2 * known < vectors:
        raise InputError(
            f"{place / TOKENIZER} does not fit: it has {known:,} sub-words, and {CONFIG} has vectors for "
            f"{vectors:,}"
        )
    with report_panics(place):
        marked = tokenizer.encode("a").ids
    if len(marked) > MOST_MARKS or max(marked, default=0) >= vectors:
        raise InputError(
            f"{place / TOKENIZER} puts marks around a text that no encoder has: {len(marked):,} in all, of "
            f"sub-words up to {max(marked):,}"
        )
    return tokenizer


@contextmanager
def report_panics(place: Path) -> Iterator[None]:
    """Make one sentence of the tokenizer's own failures, which are no exceptions of the usual kind."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise InputError(f"{place / TOKENIZER} breaks the tokenizer: {str(error)[:200]}") from error


def find_marks(tokenizer: Any) -> Marks:
    """Return what the tokenizer puts before and behind every text."""
    marked = tokenizer.encode("a")
    inner = [place for place, mark in enumerate(marked.special_tokens_mask) if not mark]
    if not inner:
        return Marks(marked.ids, [])
    return Marks(marked.ids[: inner[0]], marked.ids[inner[-1] + 1 :])


def open_network(path: Path) -> Any:
    """Open the network of a folder that was checked, with its weights."""
    transformers = _import_transformers()
    try:
        network, loaded = transformers.AutoModel.from_pretrained(
            path,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            ignore_mismatched_sizes=True,  # they are refused here, by name
            dtype="float32",
            output_loading_info=True,
        )
    except Exception as error:  # each kind of network raises its own
        raise InputError(f"{path} cannot be opened by transformers: {_describe(error)}") from error
    for name, stored, wanted in sorted(loaded["mismatched_keys"]):
        there, asked = (" x ".join(map(str, shape)) for shape in (stored, wanted))
        raise InputError(
            f"{path / WEIGHTS} does not fit {CONFIG}: {name} is {there} there, and {CONFIG} asks for {asked}"
        )
    missing = sorted(name for name in loaded["missing_keys"] if not name.startswith("pooler."))
    if missing:
        raise InputError(
            f"{path / WEIGHTS} lacks {len(missing)} of the encoder's weights, such as {missing[0]}"
        )
    return network


def build_network(settings: Mapping[str, Any], place: Path) -> Any:
    """Build the network of settings from a file at `place`, with random weights."""
    kind = settings.get("model_type")
    if kind not in KINDS:
        raise InputError(f"{place}: model_type is '{kind}'; it must be {join_names(KINDS)}")
    transformers = _import_transformers()
    try:
        config = transformers.AutoConfig.for_model(**clean_settings(settings))
        sizes = config.num_hidden_layers, config.hidden_size, config.max_position_embeddings
        within = zip(sizes, (MOST_LAYERS, LARGEST_SIZE, MOST_PLACES), strict=True)
        if not all(type(size) is int and 1 <= size <= most for size, most in within):
            raise ValueError(f"layers, hidden units and places are {', '.join(map(str, sizes))}")
        return transformers.AutoModel.from_config(config)
    except Exception as error:  # each kind of network raises its own
        raise InputError(f"{place} describes no network that can be built: {_describe(error)}") from error


def clean_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that say what a network is, without those of how it was stored."""
    return {key: value for key, value in settings.items() if key not in _FOREIGN and not key.startswith("_")}


def _import_transformers() -> Any:
    transformers: Any = import_extra("transformers", "pretrained")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return transformers


def _describe(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
