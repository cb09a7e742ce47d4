"""A pretrained encoder for tests: a BERT of random weights, in a folder as a hub would give it."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertModel

MARKS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
WORDS = (*MARKS, "wheat", "harvest", "was", "good", "crude", "barrels", "and", "a")
WORDS += ("tariff", "the", "bank", "its", "rates", "exports")
SIZE = 8


def write_encoder(
    folder: Path, *, seed: int = 1, vocabulary: int = len(WORDS), layers: int = 1, spread: float = 1.0
) -> Path:
    """Write config.json, tokenizer.json and model.safetensors."""
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=SIZE,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=20,
        initializer_range=spread,
    )
    network = BertModel(config)
    network.save_pretrained(folder)
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def change_settings(folder: Path, **changes: object) -> None:
    """Change values of config.json."""
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
