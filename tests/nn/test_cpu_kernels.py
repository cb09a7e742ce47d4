import numpy as np
import pytest
import torch

from seq2set.nn import cpu_kernels
from seq2set.nn.cpu_kernels import GroupedRows, Product, apply_tanh, find_range
from seq2set.nn.decoder import AttentionDecoder
from seq2set.nn.decoding.torch_decoder import prepare_weights

ROWS, BIAS = torch.randn(5, 7, generator=torch.Generator().manual_seed(1)), torch.tensor([1.0, -2.0, 3.0])
WEIGHTS = torch.randn(3, 7, generator=torch.Generator().manual_seed(2))


@pytest.mark.parametrize("linear", ["oneDNN", None], ids=["as it is", "a torch without oneDNN"])
@pytest.mark.parametrize("bias", [BIAS, None])
def test_products_are_those_of_torch(
    monkeypatch: pytest.MonkeyPatch, linear: str | None, bias: torch.Tensor | None
) -> None:
    if linear is None:
        monkeypatch.setattr(cpu_kernels, "LINEAR", None)
        monkeypatch.setattr(cpu_kernels, "_REORDER", None)
    expected = ROWS.double() @ WEIGHTS.double().T + (0 if bias is None else bias)
    with torch.no_grad():
        torch.testing.assert_close(Product(WEIGHTS, bias)(ROWS).double(), expected, atol=1e-5, rtol=0)
        assert Product(WEIGHTS, bias)(ROWS[:0]).shape == (0, 3)


def test_weights_of_64_bits_are_multiplied_in_64_bits() -> None:
    found = Product(WEIGHTS.double())(ROWS.double())
    assert torch.equal(found, ROWS.double() @ WEIGHTS.double().T)


@pytest.mark.parametrize("rows", [1, 3, 4, 15, 16, 17, 100, 128, 131, 300])
def test_any_number_of_rows_is_multiplied(rows: int) -> None:
    numbers = torch.randn(rows, 7, generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        found = Product(WEIGHTS, BIAS)(numbers)
    torch.testing.assert_close(found, numbers @ WEIGHTS.T + BIAS, atol=1e-5, rtol=0)


def test_tanh_is_torchs() -> None:
    numbers = torch.linspace(-100, 100, 9_999)
    torch.testing.assert_close(apply_tanh(numbers), numbers.tanh(), atol=3e-7, rtol=0)


def test_weights_without_gradient_are_prepared_once_and_again_when_they_are_loaded() -> None:
    decoder = AttentionDecoder(4, 3, 5, sources=[6], start=2).requires_grad_(False)
    before = prepare_weights(decoder)
    assert prepare_weights(decoder) is before
    decoder.load_state_dict({name: part + 1 for name, part in decoder.state_dict().items()})
    assert not torch.equal(prepare_weights(decoder).table, before.table)


def test_an_update_counts_at_once() -> None:
    decoder = AttentionDecoder(4, 3, 5, sources=[6], start=2)
    before = prepare_weights(decoder).table
    before.sum().backward()
    torch.optim.Adam(decoder.parameters(), fused=True).step()
    assert not torch.equal(prepare_weights(decoder).table, before)


def test_documents_of_equally_many_rows_share_a_block() -> None:
    grouped = GroupedRows(np.array([0, 1, 1, 4, 7, 7]))
    assert grouped.order.tolist() == [0, 3, 1, 2, 4, 5]
    assert grouped.places.tolist() == [0, 2, 3, 1, 4, 5]
    blocks = list(grouped.cut(room=10))
    assert [one.documents.tolist() for one in blocks] == [[0, 4], [1, 7]]
    assert [one.rows for one in blocks] == [slice(0, 2), slice(2, 6)]


@pytest.mark.parametrize("room", [0, 1, 2, 3, 7, 100])
def test_every_row_is_in_one_block_of_its_document(room: int) -> None:
    documents = np.array([0, 0, 0, 2, 3, 3, 3, 5, 9, 9, 9, 9, 9])
    grouped = GroupedRows(documents)
    assert (grouped.order[grouped.places] == np.arange(13)).all()
    at = 0
    for one in grouped.cut(room):
        assert one.rows.start == at  # each begins where the one before it ends
        at = one.rows.stop
        assert 0 < len(grouped.order[one.rows]) <= max(1, room)
        of_rows = documents[grouped.order[one.rows]].reshape(len(one.documents), -1)
        assert (of_rows == one.documents[:, None]).all()
    assert at == 13


def test_no_rows_have_no_blocks() -> None:
    grouped = GroupedRows(np.empty(0, np.intp))
    assert grouped.order.tolist() == []
    assert list(grouped.cut(4)) == []


def test_a_range_is_a_slice_and_gaps_are_not() -> None:
    assert find_range(np.array([3, 4, 5])) == slice(3, 6)
    assert find_range(np.array([3, 5])) is None
