"""Rows that differ in the order of labels that a decoder learns."""

from __future__ import annotations

from seq2set.config import Config
from seq2set.experiments.lineup import title_of
from seq2set.experiments.options import Options
from seq2set.experiments.variants import Variant, plain, variant


def order_variant(options: Options, model: str, kind: str) -> Variant:
    """Return a model that learns labels in an order; one that never reads it is the same in every order."""
    title = f"{title_of(model)}, {kind}"
    if never_reads_order(options.config(model, 1)):
        return plain(options, model)._replace(title=title)
    return variant(options, model, kind, title, f"label_order.kind={kind}")


def never_reads_order(config: Config) -> bool:
    """Say whether the simplified model is trained without any likelihood of labels in order.

    Other models that read no order, such as BR, are not meant: they are trained again, to see that nothing
    moves.
    """
    likelihood = config.warm_start.epochs or config.objective.likelihood_share
    free = config.warm_start.likelihood == "order-free" or not likelihood
    return config.model == "seq2set-simp" and free


def order_remarks(options: Options) -> list[str]:
    """Say which of the models cannot depend on the order as they are trained here."""
    if not any(never_reads_order(options.config(model, 1)) for model in options.models):
        return []
    return [
        "With warm_start.likelihood = order-free, Seq2Set (simp.) never learns labels in an order: one "
        "training stands for every order."
    ]
