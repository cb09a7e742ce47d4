"""Fitting linear classifiers once: what a stopped run has fitted already is read back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from safetensors.numpy import load_file, save_file
from scipy.sparse import csr_matrix

from seq2set.baselines.linear import LinearScorer
from seq2set.baselines.linear_fitting import fit_linear
from seq2set.config import Config
from seq2set.files import written_aside
from seq2set.hardware import thread_count
from seq2set.progress import Progress


def fitted_or_found(
    checkpoint: Path,
    config: Config,
    features: csr_matrix,
    targets: csr_matrix,
    *,
    c: float,
    title: str,
    progress: Progress,
    seen: Sequence[int] | None = None,
) -> LinearScorer:
    """Read the classifiers from `checkpoint`, or fit one for each column of `targets` and keep them."""
    if checkpoint.is_file():
        found = load_file(checkpoint)
        return LinearScorer(found["weights"], found["bias"])
    with progress.stage(f"{title}, C = {c:g}", targets.shape[1]) as advance:
        scorer = fit_linear(
            features,
            targets,
            c=c,
            tolerance=config.linear.tolerance,
            threads=thread_count(config.threads),
            advance=advance,
            seen=seen,
        )
    with written_aside(checkpoint) as aside:
        save_file({"weights": scorer.weights, "bias": scorer.bias}, aside)
    return scorer
