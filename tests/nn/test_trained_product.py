from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from seq2set.nn import trained_product
from seq2set.nn.trained_product import has_fast_products, multiply


@pytest.fixture(autouse=True)
def _any_processor(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Take oneDNN's products on every processor: they are everywhere, and faster on some."""
    has_fast_products.cache_clear()
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    yield
    has_fast_products.cache_clear()


def _draw(*shape: int, seed: int = 1, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def _differentiate(product: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
    return torch.autograd.grad(product, inputs, _draw(*product.shape, seed=9).to(product.dtype))


@pytest.mark.parametrize("rows", [1, 31, 32, 33, 64, 81, 300, 1024, 1463])
@pytest.mark.parametrize("has_bias", [True, False])
def test_products_and_gradients_are_those_of_torch(rows: int, has_bias: bool) -> None:
    numbers, weights, bias = _draw(rows, 7), _draw(5, 7, seed=2), _draw(5, seed=3)
    inputs = [part.requires_grad_() for part in (numbers, weights, *([bias] if has_bias else []))]
    found, expected = multiply(*inputs), functional.linear(*(part.double() for part in inputs))
    torch.testing.assert_close(found.double(), expected, atol=1e-5, rtol=1e-5)
    for one, other in zip(_differentiate(found, *inputs), _differentiate(expected, *inputs), strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


def test_rows_keep_their_other_axes_and_need_not_lie_in_a_row() -> None:
    numbers, weights = _draw(7, 20, 4).permute(2, 1, 0), _draw(5, 7, seed=2)  # (4, 20, 7)
    assert not numbers.is_contiguous()
    torch.testing.assert_close(multiply(numbers, weights), numbers @ weights.T, atol=1e-5, rtol=1e-5)
    assert multiply(numbers[:0], weights).shape == (0, 20, 5)


def test_gradients_that_are_spread_over_rows_arrive() -> None:
    numbers, weights = _draw(40, 7).requires_grad_(), _draw(5, 7, seed=2).requires_grad_()
    multiply(numbers, weights).sum().backward()  # a gradient without memory of its own
    torch.testing.assert_close(numbers.grad, weights.detach().sum(0).expand(40, -1), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(weights.grad, numbers.detach().sum(0).expand(5, -1), atol=1e-4, rtol=1e-5)


def test_only_gradients_that_are_asked_for_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers, weights = _draw(40, 7), _draw(5, 7, seed=2).requires_grad_()
    product, calls = multiply(numbers, weights).sum(), list[str]()
    monkeypatch.setattr(trained_product, "_multiply_rows", lambda *_: calls.append("rows"))
    product.backward()
    assert weights.grad is not None
    assert not calls


def test_oddities_take_torchs_own_product(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trained_product, "_multiply_rows", None)  # would fail
    numbers, weights = _draw(40, 7), _draw(5, 7, seed=2)
    assert torch.equal(multiply(numbers.double(), weights.double()), numbers.double() @ weights.double().T)
    assert torch.equal(multiply(numbers[:31], weights), functional.linear(numbers[:31], weights))  # few
    with torch.autocast("cpu", torch.bfloat16):
        assert multiply(numbers, weights).dtype == torch.bfloat16


class _Layer(torch.nn.Module):
    def forward(self, rows: Tensor, weights: Tensor) -> Tensor:
        return multiply(rows, weights)


def test_an_exported_program_has_torchs_own_product() -> None:
    program = torch.export.export(_Layer(), (_draw(40, 7), _draw(5, 7, seed=2)))
    names = [node.target for node in program.graph.nodes if node.op == "call_function"]
    assert names == [torch.ops.aten.linear.default]


@pytest.mark.parametrize("missing", ["oneDNN", "AVX-512"])
def test_torchs_own_products_where_there_are_no_faster_ones(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if missing == "oneDNN":
        monkeypatch.setattr(trained_product, "LINEAR", None)
    else:
        monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    numbers, weights = _draw(40, 7), _draw(5, 7, seed=2)
    assert torch.equal(multiply(numbers, weights), functional.linear(numbers, weights))
    assert not has_fast_products()


def test_the_number_of_shapes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = set()

    def note(rows: Tensor, weights: Tensor, *_: object) -> Tensor:
        shapes.add((*rows.shape, *weights.shape))
        return rows @ weights.T

    monkeypatch.setattr(trained_product, "LINEAR", note)
    weights = _draw(5, 7).requires_grad_()
    for rows in range(1, 1500, 7):
        multiply(_draw(rows, 7).requires_grad_(), weights).sum().backward()
    assert len(shapes) == 3 * len(trained_product.SIZES)  # forward, of rows, of weights
