"""The whole network: who hears whom, and how long a decoder may talk."""

from __future__ import annotations

import pytest
import torch

from seq2set.models.network import build_network
from seq2set.nn.attention import Source
from seq2set.nn.decoding.rollout import roll_out_greedily
from seq2set.nn.decoding.searches import run_search
from seq2set.nn.decoding.torch_decoder import TorchDecoder
from tiny_networks import tiny_config, tiny_network

IDS, LENGTHS = torch.tensor([[3, 8, 1, 4], [5, 2, 0, 0]]), torch.tensor([4, 2])


def test_the_set_decoder_hears_the_free_running_sequence_decoder() -> None:
    network = tiny_network(tiny_config())
    policies = network(IDS, LENGTHS)
    assert policies.sequence is not None
    free = roll_out_greedily(policies.sequence, keep_states=True)
    words, heard = policies.final.memories
    assert words.mask.tolist() == [[True] * 4, [True, True, False, False]]
    assert torch.equal(heard.values, free.source.values)
    assert heard.mask.sum(1).tolist() == (free.lengths + 1).tolist()  # up to and including `eos`


def test_the_simplified_variant_has_one_decoder() -> None:
    policies = tiny_network(tiny_config(model="seq2set-simp"))(IDS, LENGTHS)
    assert policies.sequence is None
    assert len(policies.final.memories) == 1


def test_the_sizes_are_those_of_the_settings() -> None:
    sizes = (
        "encoder.layers=2",
        "encoder.hidden=5",
        "decoder.layers=3",
        "decoder.hidden=7",
        "encoder.words=10",
    )
    network = build_network(tiny_config(*sizes), 1000, 6)
    assert network.encoder.embedding.num_embeddings == 12  # 10 words, padding and the unknown word
    assert network.encoder.bilstm.lstm.num_layers == 2
    assert [cell.hidden_size for cell in network.set_decoder.cells] == [7, 7, 7]
    assert [part.U_a.in_features for part in network.set_decoder.attentions] == [10, 7]
    assert network.set_decoder.W_o.out_features == 7


def test_a_limit_keeps_the_sequence_decoder_from_talking_for_ever() -> None:
    network = tiny_network(tiny_config(), labels=50)
    with torch.no_grad():
        assert network.sequence_decoder is not None
        network.sequence_decoder.W_o.weight[-1] = -100 * network.sequence_decoder.W_o.weight[:-1].mean(0)
    network.max_labels = 3
    assert network(IDS, LENGTHS).final.memories[1].values.shape[1] <= 4


def test_the_prior_moves_logits_and_the_first_state() -> None:
    network = tiny_network(tiny_config("prior.enabled=true"))
    low, high = (network(IDS, LENGTHS, torch.full((2, 4), value)) for value in (-1.0, 1.0))
    assert low.final.bias is not None
    assert high.final.bias is not None
    assert (high.final.bias[:, :4] > low.final.bias[:, :4]).all()
    assert torch.equal(high.final.bias[:, 4], low.final.bias[:, 4])
    assert not torch.equal(high.final.first.output, low.final.first.output)
    with pytest.raises(AssertionError, match="built with a linear prior"):
        network(IDS, LENGTHS)


def test_the_prior_moves_both_decoders() -> None:
    policies = tiny_network(tiny_config("prior.enabled=true"))(IDS, LENGTHS, torch.ones(2, 4))
    assert policies.sequence is not None
    assert policies.final.bias is not None
    assert policies.sequence.bias is not None
    assert torch.equal(policies.sequence.bias, policies.final.bias)


def test_decoders_begin_with_the_encoders_summary() -> None:
    network = tiny_network(tiny_config("encoder.layers=2", model="seq2set-simp")).eval()
    encoded = network.encoder(IDS, LENGTHS)
    words = Source(encoded.states, encoded.mask)
    expected = network.set_decoder.bind(encoded.summary, [words]).start().hidden
    begun = network(IDS, LENGTHS).final.start().hidden
    assert all(torch.equal(*pair) for pair in zip(begun, expected, strict=True))


def test_marginals_at_a_very_low_temperature_are_the_greedy_set() -> None:
    policy = tiny_network(tiny_config(model="seq2set-simp")).eval()(IDS, LENGTHS).final
    settings = tiny_config(model="seq2set-simp").search
    with torch.no_grad():
        cold = run_search(
            "marginal", TorchDecoder(policy), settings.model_copy(update={"temperature": 1e-6})
        ).scores
        chosen = run_search("greedy", TorchDecoder(policy), settings).sequences
    assert chosen is not None
    assert [set(row.nonzero()[0]) for row in cold > 0.5] == [set(one) for one in chosen]
    assert ((cold < 1e-3) | (cold > 0.999)).all()  # nothing is left to chance
