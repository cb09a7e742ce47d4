"""Networks on ONNX Runtime give torch's labels, scores and evidence, whatever they are made of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from exported_models import on_both_runtimes

from seq2set.config.catalog import SEARCHES
from seq2set.core.errors import InputError, ModelFolderError
from seq2set.inference import onnx_decoder, onnx_networks
from seq2set.inference.graphs.encoders import build_encoder_graph
from seq2set.inference.onnx_decoder import Sessions
from seq2set.models.predictions import Request
from seq2set.text.reasons import Evidence
from tiny_networks import tiny_config

SHAPES = [
    ("seq2set",),
    ("seq2set", "encoder.layers=2", "decoder.layers=2", "decoder.global_embedding=true"),
    ("seq2set-simp", "encoder.kind=convolution", "cnn.widths=[1, 9]"),
    ("seq2seq", "decoder.layers=3", "decoder.global_embedding=true", "decoder.attention=5"),
    ("cnn",),
    ("cnn-rnn",),
    ("cnn-rnn", "decoder.layers=2", "decoder.global_embedding=true"),
]


def weigh(evidence: tuple[Evidence, ...]) -> dict[int, float]:
    return {word.start: word.weight for word in evidence}


@pytest.mark.parametrize("shape", SHAPES, ids=" ".join)
def test_answers_are_torchs(shape: tuple[str, ...], tmp_path: Path) -> None:
    torch, onnx, texts = on_both_runtimes(tmp_path, *shape)
    for search in SEARCHES if torch.decodes else ("marginal",):
        request = Request(search=search, explain=True, min_labels=1, words_per_label=100)
        ours, theirs = onnx.infer([*texts, ""], request), torch.infer([*texts, ""], request)
        assert [row.tolist() for row in ours.chosen] == [row.tolist() for row in theirs.chosen]
        assert ours.scores == pytest.approx(theirs.scores, abs=1e-5)
        assert ours.evidence
        assert theirs.evidence
        for own, other in zip(ours.evidence, theirs.evidence, strict=True):
            for one, expected in zip(own, other, strict=True):
                assert weigh(one) == pytest.approx(weigh(expected), abs=1e-4)
        assert max(len(weigh(one)) for rows in ours.evidence for one in rows) > 1


def test_a_document_does_not_depend_on_its_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, onnx, texts = on_both_runtimes(tmp_path, "seq2set")
    together = onnx.infer(texts, Request()).scores
    alone = np.concatenate([onnx.infer([text], Request()).scores for text in texts])
    assert alone == pytest.approx(together, abs=1e-5)
    monkeypatch.setattr(onnx_networks, "WORDS_AT_A_TIME", 1)  # one document at a time
    assert onnx.infer(texts, Request()).scores == pytest.approx(together, abs=1e-5)
    monkeypatch.setattr(onnx_decoder, "BLOCK", 1)  # one row at a time
    assert onnx.infer(texts, Request()).scores == pytest.approx(together, abs=1e-5)


def test_the_first_label_looks_from_the_state_that_has_read_bos(tmp_path: Path) -> None:
    torch, onnx, texts = on_both_runtimes(tmp_path, "seq2seq")
    ids = torch.words.encode([texts[0]])[0][None].astype(np.int64)
    ours = onnx.network.read(ids, np.array([ids.shape[1]])).attributions(np.array([[0, 1]]))
    theirs = torch.network.read(ids, np.array([ids.shape[1]])).attributions(np.array([[0, 1]]))
    assert ours.shape == (1, 2, ids.shape[1])
    assert ours.sum(-1) == pytest.approx(0.0, abs=1e-5)  # what one word adds, the rest would not
    assert ours == pytest.approx(theirs, abs=1e-5)
    assert ours[0, 0] != pytest.approx(ours[0, 1], abs=1e-5)
    nothing = onnx.network.read(ids, np.array([ids.shape[1]])).attributions(np.zeros((1, 0), np.int64))
    assert nothing.shape == (1, 0, ids.shape[1])


def test_weights_can_be_asked_of_an_opened_network(tmp_path: Path) -> None:
    torch, onnx, _ = on_both_runtimes(tmp_path, "cnn")
    ours, theirs = onnx.state().tensors, torch.state().tensors
    assert {name: value.shape for name, value in ours.items()} == {
        name: value.shape for name, value in theirs.items()
    }


def test_a_graph_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "encoder.onnx").write_bytes(b"no graph")
    with pytest.raises(ModelFolderError, match=r"encoder.onnx is no graph that can be opened"):
        Sessions(tmp_path, {"encoder": "encoder.onnx"})


def test_an_encoder_without_a_graph_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from seq2set.config.catalog import ENCODERS

    monkeypatch.setitem(ENCODERS, "bilstm", ENCODERS["bilstm"]._replace(graph=""))
    with pytest.raises(InputError, match="encoder.kind is 'bilstm', which has no ONNX graph"):
        build_encoder_graph(tiny_config(), {}, prior=False)
