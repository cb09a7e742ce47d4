"""What something costs as a multiple of an opponent that is a part, or a cheaper kind, of the same work."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from seq2set.benchmarks.documents import Shape, made_documents, mean_labels
from seq2set.benchmarks.learner import MODELS, Learner, new_learner
from seq2set.benchmarks.ratio import Ratio
from seq2set.training.examples import EncodedExamples


def costliest(
    measured: Callable[[Learner, EncodedExamples], Ratio],
    limit: float,
    *,
    documents: int,
    shape: Shape,
    settings: Sequence[str],
    settling: int,
) -> Ratio:
    """Measure all models and return the ratio of the one that costs the most, with the costs of all.

    Each model first learns realistic set sizes in `settling` updates. A model's own shapes stand under its
    name beside those that all share.
    """
    examples = made_documents(documents, shape)
    results = {}
    for model in MODELS:
        learner = new_learner(model, shape, settings)
        learner.settle(shape, settling)
        results[model] = measured(learner, examples)
    most = max(results, key=lambda model: results[model].cost)
    shared = {"documents": documents, **shape.to_dict(), "labels_a_document": mean_labels(examples)}
    own = {model: result.shapes for model, result in results.items()}
    costs = {model: round(result.cost, 3) for model, result in results.items()}
    return results[most]._replace(
        shapes=shared | {"settling_updates": settling} | own,
        checks={"cost": costs, "limit": limit, "ratio_is_of": most},
    )
