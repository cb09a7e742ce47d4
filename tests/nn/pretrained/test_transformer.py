"""A pretrained transformer in a network: windows, what is tuned and how fast, sub-words and words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel

from seq2set.config import Config
from seq2set.core.errors import ConfigError, InputError
from seq2set.models.network import build_encoder
from seq2set.nn.encoders import Encoder
from seq2set.nn.encoders.transformer import TransformerEncoder
from seq2set.nn.noise import use_keys
from seq2set.nn.pretrained.encoder_parts import KINDS
from seq2set.nn.pretrained.subwords import open_subwords
from seq2set.nn.pretrained.tokenizer_parts import refuse_unknown_parts
from seq2set.nn.pretrained.window_reader import Window, cut_windows
from seq2set.nn.text_reader import TextReader
from seq2set.text.cut_texts import describe_cut
from seq2set.text.vocabulary import Words
from tiny_encoders import SIZE, change_settings, write_encoder
from tiny_networks import tiny_config


def config_of(folder: Path, *settings: str) -> Config:
    return tiny_config("encoder.kind=transformer", f'encoder.pretrained="{folder}"', *settings)


def build(folder: Path, *settings: str) -> Encoder:
    return build_encoder(config_of(folder, *settings), 30)


def encode(encoder: Encoder, *lengths: int, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.zeros(len(lengths), max(lengths), dtype=torch.long)
    for row, length in zip(tokens, lengths, strict=True):
        row[:length] = torch.randint(6, 20, (length,), generator=generator)
    states: Tensor = encoder(tokens, torch.tensor(lengths)).states
    return states


def test_windows_overlap_and_each_token_is_kept_once() -> None:
    # Room for 16, a quarter of it overlaps: windows begin at 0, 12 and, as long as the others, 30 - 16 = 14.
    assert list(cut_windows([30, 3, 16], 16)) == [
        Window(0, 0, 16, 0),
        Window(0, 12, 28, 14),  # of 12 to 16, which both have, the first two are the first window's
        Window(0, 14, 30, 21),  # of 14 to 28 the first seven are the second window's
        Window(1, 0, 3, 0),
        Window(2, 0, 16, 0),
    ]
    assert list(cut_windows([1], 1)) == [Window(0, 0, 1, 0)]
    assert [one.start for one in cut_windows([700], 254)] == [0, 222, 444, 446]


def test_a_text_of_one_window_has_the_states_of_the_network_itself(tmp_path: Path) -> None:
    folder = write_encoder(tmp_path)
    states = encode(build(folder).eval(), 5)
    tokens = torch.randint(6, 20, (5,), generator=torch.Generator().manual_seed(1)) - 2
    body = AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        own = body(torch.tensor([[2, *tokens.tolist(), 3]])).last_hidden_state  # [CLS] .. [SEP]
    torch.testing.assert_close(states[0], own[0, 1:-1], atol=1e-5, rtol=1e-5)


def test_a_long_text_is_read_to_its_end(tmp_path: Path) -> None:
    encoder = build(write_encoder(tmp_path)).eval()
    assert isinstance(encoder, TransformerEncoder)
    assert encoder.reader.room == 16  # of 20 places BERT's kind may need two, and the marks two
    states = encode(encoder, 40, 7)
    assert states.shape == (2, 40, SIZE)
    assert (states[0].abs().sum(-1) > 0).all()
    assert (states[1, 7:] == 0).all()
    torch.testing.assert_close(states[0, :14], encode(encoder, 16)[0, :14], atol=1e-5, rtol=1e-5)


def test_a_frozen_encoder_is_no_part_of_the_network(tmp_path: Path) -> None:
    encoder = build(write_encoder(tmp_path))
    assert list(encoder.state_dict()) == []
    assert encoder.list_rates() == []
    assert not encode(encoder.train(), 5).requires_grad


def test_layers_learn_the_slower_the_lower_they_are(tmp_path: Path) -> None:
    folder = write_encoder(tmp_path, layers=3)
    chosen = "encoder.learning_rate=0.01", "encoder.layer_decay=0.5", "encoder.warm_up=0.2"
    rates = build(folder, "encoder.tune=all", *chosen).list_rates()
    assert [one.rate for one in rates] == pytest.approx([0.01, 0.005, 0.0025, 0.00125])
    assert {one.warm_up for one in rates} == {0.2}
    assert [len(one.weights) for one in rates] == [16, 16, 16, 5]  # three layers, and the sub-words' vectors
    upper = build(folder, "encoder.tune=2", *chosen)
    assert [one.rate for one in upper.list_rates()] == pytest.approx([0.01, 0.005])
    names = {name for name, weight in upper.named_parameters() if weight.requires_grad}
    assert {name.split(".")[3] for name in names} == {"1", "2"}


def test_the_whole_of_it_is_tuned_and_has_no_dropout(tmp_path: Path) -> None:
    encoder = build(write_encoder(tmp_path), "encoder.tune=all").train()
    states = encode(encoder, 9)
    torch.testing.assert_close(states, encode(encoder, 9), atol=0, rtol=0)
    states.sum().backward()
    assert [name for name, weight in encoder.named_parameters() if weight.grad is None] == []


def test_dropout_belongs_to_the_document(tmp_path: Path) -> None:
    encoder = build(write_encoder(tmp_path), "encoder.dropout=0.5").train()
    with use_keys(torch.tensor([4, 9], dtype=torch.int32)):
        two = encode(encoder, 6, 6)
    with use_keys(torch.tensor([4], dtype=torch.int32)):
        one = encode(encoder, 6)
    torch.testing.assert_close(one[0], two[0], atol=1e-5, rtol=1e-5)
    assert (two == 0).any()
    assert not (two == 0).all(-1).any()  # not whole words


SIZES = {"vocab_size": 18, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
SIZES |= {"intermediate_size": 16, "max_position_embeddings": 40, "pad_token_id": 0}
NAMES = {"hidden_size": "dim", "num_hidden_layers": "n_layers", "num_attention_heads": "n_heads"}
NAMES |= {"intermediate_size": "hidden_dim"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_be_tuned(kind: str, tmp_path: Path) -> None:
    folder = write_encoder(tmp_path)
    sizes = {NAMES.get(key, key) if kind == "distilbert" else key: value for key, value in SIZES.items()}
    if kind == "modernbert":
        sizes |= {"bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3}
    AutoModel.from_config(AutoConfig.for_model(kind, **sizes)).save_pretrained(folder)
    encoder = build(folder, "encoder.tune=1", "encoder.layer_decay=0.5")
    encode(encoder.train(), 50, 3).sum().backward()
    learning = [weight for group in encoder.list_rates() for weight in group.weights]
    assert learning
    assert all(weight.grad is not None for weight in learning)
    with torch.device("meta"):  # as when a saved model is opened: from the settings alone
        shapes = build(folder, "encoder.tune=1").state_dict()
    assert {name: one.shape for name, one in shapes.items()} == {
        name: one.shape for name, one in encoder.state_dict().items()
    }
    below = [one for one in encoder.parameters() if not one.requires_grad]
    assert sum(map(Tensor.numel, below)) >= 18 * 8  # the vectors of sub-words at least


def test_a_stack_that_is_not_found_learns_at_one_rate(tmp_path: Path) -> None:
    encoder = build(write_encoder(tmp_path), "encoder.tune=1")
    assert isinstance(encoder, TransformerEncoder)
    encoder.body.config.num_hidden_layers = 7  # as of networks that use one layer again and again
    assert {one.rate for one in encoder.list_rates()} == {5e-5}


def test_what_stands_for_a_text_without_sub_words(tmp_path: Path) -> None:
    folder = write_encoder(tmp_path)
    tokens = open_subwords(config_of(folder))
    assert tokens.nothing == 1
    nothing, some = tokens.encode(["", "wheat [SEP] zebra \ud800"])
    assert nothing.tolist() == []
    assert some.tolist() == [6, 3, 3, 3, 3, 3]  # wheat, and five that are unknown: no mark among them
    assert tokens.spans("wheat [SEP]") == [(0, 5), (6, 7), (7, 10), (10, 11)]
    states = build(folder).eval()(torch.tensor([[1]]), torch.tensor([1])).states
    assert torch.isfinite(states).all()


def words_of(*texts: str) -> Words:
    return Words.build(texts, **tiny_config().text.model_dump())


def write_pieces(folder: Path) -> Path:
    """An encoder whose tokenizer cuts words into letters and pairs of them."""
    write_encoder(folder, vocabulary=12)
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "wh", "##ea", "##t", "c", "##ru", "##de", "e", "é"]
    numbers = {one: number for number, one in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def test_what_sub_words_add_belongs_to_their_words(tmp_path: Path) -> None:
    text = "wheat-crude, é wheat"  # the first of our words are two of BERT's with a hyphen between
    words, config = words_of(text), config_of(write_pieces(tmp_path))
    reader = TextReader.build(config, words, open_subwords(config))
    (tokens,) = reader.read([text]).tokens
    assert len(tokens) == 3 + 1 + 3 + 1 + 1 + 3
    added = np.stack([np.arange(1, 14), np.ones(14)[:13]]).astype(np.float32)  # two labels, padded by one
    added[:, -1] = 100
    summed = reader.add_up(text, words.spans(text), added[:, :12])
    assert [text[a:b] for a, b in words.spans(text)] == ["wheat-crude", ",", "é", "wheat"]
    assert summed.tolist() == [[28, 8, 9, 33], [7, 1, 1, 3]]  # 1 to 7; 8; 9; 10 + 11 + 12


def test_as_many_of_our_words_are_read_as_is_set(tmp_path: Path) -> None:
    text = "wheat crude wheat crude"
    words, config = words_of(text, text), config_of(write_pieces(tmp_path), "encoder.max_words=2")
    reader = TextReader.build(config, words, open_subwords(config))
    read = reader.read([text, "wheat", "zebra", ""])
    assert [len(one) for one in read.tokens] == [6, 3, 1, 0]
    assert read.cut == {"more than 2 words; the network reads the first 2": 1}
    assert read.known.tolist() == [True, True, False, False]
    summed = reader.add_up(text, words.spans(text), np.ones((1, 9), np.float32))
    assert summed.tolist() == [[3, 3, 0, 0]]


def test_one_endless_word_is_not_read_to_its_end(tmp_path: Path) -> None:
    text = "é-" * 40 + "é"
    words, config = words_of(text, text), config_of(write_pieces(tmp_path), "encoder.max_words=1")
    reader = TextReader.build(config, words, open_subwords(config))
    read = reader.read([text, "é-é-é-é-é", "é"])
    assert [len(one) for one in read.tokens] == [8, 8, 1]
    assert list(describe_cut(read.cut, 3)) == [
        "1 of 3 texts has more than 1 words; the network reads the first 1",
        "2 of 3 texts have more than 8 sub-words; the network reads the first 8",
    ]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"model_type": "gpt2"}, "model_type is 'gpt2', which is read as it is alone"),
        ({"vocab_size": 9}, "18 sub-words, and config.json has vectors for 9: they do not belong together"),
        ({"vocab_size": 90}, "tokenizer.json does not fit"),
    ],
)
def test_what_cannot_be_tuned_is_refused(settings: dict[str, object], sentence: str, tmp_path: Path) -> None:
    change_settings(write_encoder(tmp_path), **settings)
    with pytest.raises(InputError, match=sentence):
        build(tmp_path, "encoder.tune=all")


def test_a_tokenizer_that_no_model_could_be_opened_with_is_refused(tmp_path: Path) -> None:
    folder = write_encoder(tmp_path)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("a", "isolated")
    tokenizer.save(str(folder / "tokenizer.json"))
    build(folder)  # as it is
    with pytest.raises(InputError, match="a part that is not allowed: pre_tokenizer Split"):
        build(folder, "encoder.tune=1")


def test_a_pickle_is_refused(tmp_path: Path) -> None:
    (write_encoder(tmp_path) / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(InputError, match="a format that can run code when it is opened"):
        build(tmp_path)


def test_it_must_be_named() -> None:
    with pytest.raises(ConfigError, match="encoder.pretrained is ''; .* must name a pretrained encoder"):
        build_encoder(tiny_config("encoder.kind=transformer"), 30)


def test_all_read_with_one_frozen_network(tmp_path: Path) -> None:
    folder = write_encoder(tmp_path)
    one, two = build(folder), build(folder)
    assert isinstance(one, TransformerEncoder)
    assert isinstance(two, TransformerEncoder)
    assert one._still[0] is two._still[0]
    assert not isinstance(one._still, nn.Module)


def test_parts_in_a_row_are_let_in_where_each_is(tmp_path: Path) -> None:
    folder = write_encoder(tmp_path)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    spaces = normalizers.Replace(Regex(" {2,}"), " ")
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), spaces])
    refuse_unknown_parts(tokenizer.to_str())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex("a"), "b")])
    with pytest.raises(ValueError, match="not allowed: normalizer Replace"):
        refuse_unknown_parts(tokenizer.to_str())
