"""What a tokenizer that comes with a model folder may be made of.

A model folder may come from strangers, and the library has parts by which a file could take any time or
memory: regular expressions, chains of replacements, padding. Those of the usual encoders are let in.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

MODELS = ("BPE", "Unigram", "WordLevel", "WordPiece")
NORMALIZERS: tuple[str, ...]
NORMALIZERS = ("BertNormalizer", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Precompiled", "Strip")
NORMALIZERS += ("StripAccents",)
SPLITS: tuple[str, ...]
SPLITS = ("BertPreTokenizer", "ByteLevel", "Digits", "Metaspace", "Punctuation", "Whitespace")
SPLITS += ("WhitespaceSplit",)
ENDINGS = ("BertProcessing", "ByteLevel", "RobertaProcessing", "TemplateProcessing")

SPACES = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
"""The one replacement by a regular expression that is known: of several spaces, in converted SentencePiece"""

MOST_PARTS, MOST_MARKS, LONGEST_WORD = 16, 16, 1000


def refuse_unknown_parts(text: str) -> None:
    """Refuse a tokenizer with parts that no usual encoder has; ValueError says which."""
    try:
        whole = json.loads(text)
        kind, longest = whole["model"]["type"], whole["model"].get("max_input_chars_per_word", 0)
        lists = {
            "normalizer": [one for one in _walk(whole["normalizer"], "normalizers") if one != SPACES],
            "pre_tokenizer": list(_walk(whole["pre_tokenizer"], "pretokenizers")),
            "post_processor": list(_walk(whole["post_processor"], "processors")),
        }
        named = {name: [str(one["type"]) for one in parts] for name, parts in lists.items()}
        marks = sum(len(one.get("single", ())) for one in lists["post_processor"])
        ids = sum(
            len(special["ids"])
            for one in lists["post_processor"]
            for special in one.get("special_tokens", {}).values()
        )
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"the tokenizer is malformed ({type(error).__name__})") from error
    allowed = {"normalizer": NORMALIZERS, "pre_tokenizer": SPLITS, "post_processor": ENDINGS}
    others = [f"{name} {one}" for name, parts in named.items() for one in parts if one not in allowed[name]]
    if kind not in MODELS:
        others.append(f"model {kind}")
    if others:
        raise ValueError(f"the tokenizer has a part that is not allowed: {others[0]}")
    if max(map(len, named.values())) > MOST_PARTS or marks + ids > MOST_MARKS or longest > LONGEST_WORD:
        raise ValueError("the tokenizer has more parts or marks, or longer words, than are let in")


def _walk(part: Any, inner: str) -> Iterator[dict[str, Any]]:
    """Give a part or, of a sequence, those inside."""
    if part is None:
        return
    if part["type"] != "Sequence":
        yield part
        return
    for one in part[inner]:
        yield from _walk(one, inner)
