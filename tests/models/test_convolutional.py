"""The networks of `cnn`, `cnn-rnn` and `seq2seq`: their losses, their sizes, and the words they name."""

from __future__ import annotations

from typing import cast

import pytest
import torch
from torch import Tensor, nn

from seq2set.config.schema import SearchSettings
from seq2set.models.cnn import ConvolutionalNetwork, LabelLogits
from seq2set.models.cnn_rnn import ConvolutionalRecurrentNetwork, WindowedOutput
from seq2set.models.network import build_network
from seq2set.models.prior import has_prior
from seq2set.models.seq2set import Policies, SetNetwork
from seq2set.nn.decoding.teacher_forcing import score_sequences
from seq2set.nn.encoders.convolution import ConvolutionalEncoder, Windows
from tiny_networks import tiny_config, tiny_network

IDS, LENGTHS = torch.tensor([[3, 8, 1, 4], [5, 2, 0, 0], [7, 0, 0, 0]]), torch.tensor([4, 2, 1])
SEQUENCES = torch.tensor([[2, 0, 3], [1, 6, 6], [0, 2, 6]])


def by_hand(weights: list[list[float]], biases: list[float] | None = None) -> ConvolutionalNetwork:
    """Words 1, 2, 3 are the numbers 1, -2, 3; one filter x, one 2x + y."""
    network = ConvolutionalNetwork(ConvolutionalEncoder(4, 1, [1, 2], 1), len(weights))
    first, second = cast("list[nn.Conv1d]", list(network.encoder.kernels))
    with torch.no_grad():
        network.encoder.embedding.weight.copy_(torch.tensor([[0.0], [1.0], [-2.0], [3.0]]))
        first.weight.fill_(1.0)
        second.weight.copy_(torch.tensor([[[2.0, 1.0]]]))
        network.output.weight.copy_(torch.tensor(weights))
        network.output.bias.copy_(torch.tensor(biases or [0.0] * len(weights)))
        for kernel in (first, second):
            assert kernel.bias is not None
            kernel.bias.fill_(0.0)
    return network


def read(network: ConvolutionalNetwork, *words: int) -> LabelLogits:
    output: LabelLogits = network(torch.tensor([words]), torch.tensor([len(words)]))
    return output


def test_a_logit_is_a_weighted_sum_of_the_largest_responses() -> None:
    # 3 1 -2: x is at most 3, 2x + y at most 7 (3 1): 0.5 * 3 - 0.25 * 7 + 1 = 0.75 and -3 + 7 - 2 = 2.
    with torch.no_grad():
        output = read(by_hand([[0.5, -0.25], [-1.0, 1.0]], [1.0, -2.0]), 3, 1, 2)
    assert output.logits.tolist() == [[0.75, 2.0]]
    found = output.search("greedy", SearchSettings())
    assert found.sequences is None
    assert found.scores.tolist() == [pytest.approx([0.6791787, 0.8807971])]  # 1 / (1 + exp(-x))


def test_the_loss_is_the_binary_cross_entropy() -> None:
    # Logits 0.75 (right) and 2 (wrong): log(1 + exp(-0.75)) + log(1 + exp(2)) = 0.386871 + 2.126928.
    output = read(by_hand([[0.5, -0.25], [-1.0, 1.0]], [1.0, -2.0]), 3, 1, 2)
    loss = output.likelihood(torch.tensor([[0]]), torch.tensor([[True, False]]))
    assert loss.item() == pytest.approx(2.513799, abs=1e-5)


def test_the_loss_of_a_batch_is_the_mean_over_its_documents() -> None:
    network = tiny_network(tiny_config(model="cnn"))
    gold = torch.rand(3, 4, generator=torch.Generator().manual_seed(1)) < 0.5
    output: LabelLogits = network(IDS, LENGTHS)
    wanted = nn.functional.binary_cross_entropy_with_logits(output.logits, gold.float(), reduction="sum") / 3
    assert output.likelihood(SEQUENCES, gold).item() == pytest.approx(wanted.item(), rel=1e-5)


def test_words_are_named_by_what_they_add() -> None:
    # 3 1 -2, weights 0.5 and 1: the word 3 adds 0.5 * 3 + 2 * 3 = 7.5 and the word 1 adds 1.
    # Weights -1 and 0: 3 adds -3 and the others nothing.
    output = read(by_hand([[0.5, 1.0], [-1.0, 0.0]]), 3, 1, 2)
    added = output.attributions(torch.tensor([[0, 1]]))
    assert added[0, 0].tolist() == pytest.approx([7.5, 1, 0])
    assert added[0, 1].tolist() == pytest.approx([-3, 0, 0])


def test_words_and_biases_add_up_to_the_logits() -> None:
    network = tiny_network(tiny_config(model="cnn"))
    output: LabelLogits = network(IDS, LENGTHS)
    added = output.attributions(SEQUENCES)
    assert added.shape == (3, 3, 4)
    assert (added[1, :, 2:] == 0).all()  # padding
    assert (added[2, :, 1:] == 0).all()
    kernels = output.windows.encoder.list_kernels()
    active = output.windows.summary > 0
    biases = torch.cat([kernel.bias for kernel in kernels if kernel.bias is not None]) * active  # (B, F)
    logits = output.logits - network.output.bias - biases @ output.weights.mT
    there = SEQUENCES < 4
    wanted = logits.gather(1, SEQUENCES.clamp(max=3))
    assert torch.allclose(added.sum(-1)[there], wanted[there], atol=1e-5)


def test_the_label_network_begins_with_the_features_and_knows_no_more() -> None:
    network = cast("ConvolutionalRecurrentNetwork", tiny_network(tiny_config(model="cnn-rnn")))
    output: WindowedOutput = network(IDS, LENGTHS)
    features = network.encoder(IDS, LENGTHS).summary
    centred = torch.stack([row - row.mean() for row in features])
    size = network.decoder.cells[0].hidden_size
    dense = centred @ network.decoder.first[0].weight.T + network.decoder.first[0].bias
    assert torch.allclose(output.final.first.output[:, 0], torch.tanh(dense[:, :size]), atol=1e-5)
    assert torch.allclose(output.final.first.cell[0][:, 0], dense[:, size:], atol=1e-5)
    assert output.final.memories == ()
    wanted = -score_sequences(output.final, SEQUENCES).log_prob.mean()
    assert output.likelihood(SEQUENCES, torch.zeros(3, 4)).item() == wanted.item()


def test_the_label_networks_words_add_up_to_what_the_features_do(monkeypatch: pytest.MonkeyPatch) -> None:
    network = cast("ConvolutionalRecurrentNetwork", tiny_network(tiny_config(model="cnn-rnn")))
    seen: list[Tensor] = []
    real = Windows.contributions
    monkeypatch.setattr(
        Windows, "contributions", lambda self, slopes: seen.append(slopes) or real(self, slopes)
    )
    monkeypatch.setattr("seq2set.models.cnn_rnn.POINTS", 40)
    with torch.inference_mode():  # as in prediction
        output: WindowedOutput = network(IDS, LENGTHS)
        shares, features = output.attributions(SEQUENCES), output.windows.summary
        added = (seen[0] * features[:, None]).sum(-1)  # (B, S)
        full, none = (
            score_sequences(network.bind(one), SEQUENCES).steps[:, :3]
            for one in (features, torch.zeros_like(features))
        )
    assert (full - none).abs().max() > 0.5
    assert torch.allclose(added, full - none, atol=1e-2, rtol=0)
    assert (shares[0, 0] - shares[0, 1]).abs().max() > 0.05  # each label has reasons of its own


def test_no_labels_have_no_words() -> None:
    nothing = torch.empty(3, 0, dtype=torch.long)
    for model in ("cnn", "cnn-rnn", "seq2seq"):
        output = tiny_network(tiny_config(model=model))(IDS, LENGTHS)
        assert output.attributions(nothing).shape == (3, 0, 4)


def test_the_sizes_are_those_of_the_settings() -> None:
    config = tiny_config(
        "cnn.widths=[2, 7]", "cnn.filters=5", "cnn.dropout=0.4", "encoder.words=10", model="cnn"
    )
    network = cast("ConvolutionalNetwork", build_network(config, 1000, 6, 8))
    assert network.encoder.embedding.num_embeddings == 12  # 10 words, padding and the unknown word
    assert [tuple(kernel.weight.shape) for kernel in network.encoder.kernels] == [(5, 12, 2), (5, 12, 7)]
    assert tuple(network.output.weight.shape) == (6, 10)
    assert (network.dropout.p, network.max_labels, network.decodes) == (0.4, None, False)
    settings = ("cnn.filters=5", "decoder.hidden=7", "decoder.layers=2")
    recurrent = build_network(tiny_config(*settings, model="cnn-rnn"), 30, 6, 8)
    assert isinstance(recurrent, ConvolutionalRecurrentNetwork)
    assert recurrent.decoder.first[0].in_features == 15
    assert [cell.hidden_size for cell in recurrent.decoder.cells] == [7, 7]
    assert (recurrent.max_labels, recurrent.decodes) == (8, True)


@pytest.mark.parametrize("option", [False, True])
def test_sgm_is_one_decoder_without_a_prior(option: bool) -> None:
    config = tiny_config(
        "prior.enabled=true", f"decoder.global_embedding={str(option).lower()}", model="seq2seq"
    )
    network = build_network(config, 30, 4)
    assert isinstance(network, SetNetwork)
    assert (network.sequence_decoder, network.prior) == (None, None)
    assert (network.set_decoder.feedback is not None) == option
    output: Policies = network(IDS, LENGTHS)
    assert output.sequence is None
    wanted = -score_sequences(output.final, SEQUENCES).log_prob.mean()
    assert output.likelihood(SEQUENCES, torch.zeros(3, 4)).item() == wanted.item()


def test_only_the_set_models_have_a_prior() -> None:
    models = ("cnn", "cnn-rnn", "seq2seq", "seq2set", "seq2set-simp")
    enabled = {model: has_prior(tiny_config("prior.enabled=true", model=model)) for model in models}
    assert [model for model, has in enabled.items() if has] == ["seq2set", "seq2set-simp"]
    assert not has_prior(tiny_config())


def dropped(network: nn.Module, features: Tensor) -> bool:
    torch.manual_seed(0)
    return not torch.equal(network.dropout(features), features)  # type: ignore[operator]


@pytest.mark.parametrize("model", ["cnn", "cnn-rnn"])
def test_features_are_left_out_in_training_only(model: str) -> None:
    network = tiny_network(tiny_config("cnn.dropout=0.5", model=model))
    assert dropped(network, torch.ones(4, 24))
    assert not dropped(network.eval(), torch.ones(4, 24))
