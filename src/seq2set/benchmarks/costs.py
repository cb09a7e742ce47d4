"""What something costs as a multiple of an opponent that is a part, or a cheaper kind, of the same work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from seq2set.benchmarks.learner import MODELS
from seq2set.benchmarks.ratio import Ratio


def costliest(measured: Callable[[str], Ratio], limit: float, shapes: dict[str, Any]) -> Ratio:
    """Measure all models and return the ratio of the one that costs the most, with the costs of all.

    A model's own shapes stand under its name beside the `shapes` that all share.
    """
    results = {model: measured(model) for model in MODELS}
    most = max(results, key=lambda model: results[model].cost)
    costs = {model: round(result.cost, 3) for model, result in results.items()}
    own = {model: result.shapes for model, result in results.items()}
    checks = {"cost": costs, "limit": limit, "ratio_is_of": most}
    return results[most]._replace(shapes=shapes | own, checks=checks)
