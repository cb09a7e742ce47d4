"""Export a model to ONNX graphs inside its own folder, if they give the same answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import seq2set
from seq2set.config.catalog import METRICS, find_model
from seq2set.core.errors import InputError, OutputError, WorkError, import_extra
from seq2set.core.files import compute_sha256, report_output_errors, write_json
from seq2set.core.progress import Progress, Silent
from seq2set.corpora.prepared import Split
from seq2set.evaluation.measure import evaluate_tagger
from seq2set.inference.graphs.check import WEIGHTS, build_graphs, name_graph_files
from seq2set.inference.graphs.encoders import find_graph
from seq2set.inference.model_folder import find_model_folder, load_model, read_metadata, replace_files, verify
from seq2set.inference.predictor import Predictor
from seq2set.inference.runtimes import GRAPH_FORMAT, GRAPHS, TENSORS, restore_onnx
from seq2set.models.neural import list_network_weights
from seq2set.models.predictions import Request
from seq2set.models.prior import has_prior
from seq2set.models.tagger import Tagger
from seq2set.workflows.evaluate import open_measured
from seq2set.workflows.training_corpus import find_training_corpus

SAMPLE = 200
"""How many validation texts both runtimes must agree on."""

TOLERANCE = 1e-4
"""How far apart scores may lie."""


class ExportOptions(NamedTuple):
    """How a model is exported."""

    data: str | None = None
    """The corpus to compare on; by default the one that the model was trained on"""
    int8: bool = False
    """Whether weights become 8-bit numbers"""
    max_loss: float = 0.002
    """How much validation micro-F1 they may cost"""
    force: bool = False
    """Whether graphs that are there are replaced"""


class ExportReport(NamedTuple):
    """What an export made, and how it compares."""

    folder: Path
    files: dict[str, int]
    """The graphs and their weights, with their sizes in bytes; none for a linear model"""
    documents: int = 0
    difference: float = 0.0
    """The largest difference of two scores"""
    micro_f1: tuple[float, float] | None = None
    """With 8-bit weights: validation micro-F1 before and after"""


def export_onnx(
    model: Path, options: ExportOptions | None = None, progress: Progress | None = None
) -> ExportReport:
    """Write a model's ONNX graphs into its folder; refuse where their answers differ from torch's."""
    options, progress = options or ExportOptions(), progress or Silent()
    if not 0 <= options.max_loss <= 1:
        raise InputError(f"max_loss is {options.max_loss:g}; it must lie in [0, 1]")
    folder = find_model_folder(model)
    files = verify(folder)
    if GRAPHS in files and not options.force:
        raise OutputError(f"{folder} has ONNX graphs already; pass --force to replace them")
    tagger = load_model(folder, "torch")
    row = find_model(tagger.config.model)
    if not row.network:
        return ExportReport(folder, {})
    if not row.onnx:
        raise InputError(f"model is '{tagger.config.model}', whose row in the catalog names no ONNX graphs")
    if tagger.config.features.vectors and has_prior(tagger.config):
        raise InputError(
            "features.vectors is set, and an encoder's vectors are not exported: the model runs on torch only"
        )
    if tagger.config.ensemble > 1:
        raise InputError(
            f"ensemble is {tagger.config.ensemble}, and only one network can be exported: the model runs on "
            "torch only"
        )
    for package in ("onnx", "onnxruntime"):
        import_extra(package, "onnx")
    find_graph(tagger.config)
    trained = find_training_corpus(model, Predictor(tagger, read_metadata(model)))
    # Answers are compared, and no labels are looked at.
    part = open_measured(trained._replace(labels=()), options.data, "valid").part
    old = [name for name in files if name in (GRAPHS, WEIGHTS) or name.endswith(".onnx")]
    with report_output_errors(folder), replace_files(folder, drop=old) as aside:
        graphs = write_graphs(aside, tagger, int8=options.int8)
        onnx = restore_onnx(tagger.state(), aside, graphs)
        report = _compare(folder, tagger, onnx, part, options, progress)
        weights = compute_sha256(folder / TENSORS)
        made = {path.name: path.stat().st_size for path in sorted(aside.iterdir())}
        about = {"format": GRAPH_FORMAT, "seq2set": seq2set.__version__, "int8": options.int8}
        write_json(aside / GRAPHS, about | {"weights": weights, "graphs": graphs})
        return report._replace(files=made)


def write_graphs(folder: Path, tagger: Tagger, *, int8: bool = False) -> dict[str, str]:
    """Write a network's graphs and return their files by name."""
    if int8:
        from seq2set.inference.graphs.eight_bits import write_graph_files  # loads onnx
    else:
        from seq2set.inference.graphs.check import write_graph_files
    state = tagger.state()
    graphs = build_graphs(state, list_network_weights(state))
    write_graph_files(folder, graphs)
    onnx, files = import_extra("onnx", "onnx"), name_graph_files(graphs)
    for file in files.values():
        onnx.checker.check_model(folder / file)
    return files


def _compare(
    folder: Path, torch: Tagger, onnx: Tagger, part: Split, options: ExportOptions, progress: Progress
) -> ExportReport:
    texts = [document.text for document in next(iter(part.iter_batches(SAMPLE)))]
    with progress.stage("compare", len(texts)) as advance:
        difference, differing = compare_answers(torch, onnx, texts)
        advance(len(texts))
    if options.int8:
        measured = [evaluate_tagger(one, part, None, progress).metrics for one in (torch, onnx)]
        before, after = (metrics["micro_f1"] for metrics in measured)
        if before - after > options.max_loss:
            raise WorkError(
                f"with 8-bit weights validation {METRICS['micro_f1'].title} falls from {before:.4f} to "
                f"{after:.4f}; at most {options.max_loss:g} may be lost (--max-loss), so nothing was written"
            )
        return ExportReport(folder, {}, len(part), difference, (before, after))
    if differing or difference > TOLERANCE:
        raise WorkError(
            f"the graphs answer differently from torch: of {len(texts)} validation texts {differing} have "
            f"other labels, and scores differ by up to {difference:.2g} (allowed: {TOLERANCE:g}); nothing "
            "was written"
        )
    return ExportReport(folder, {}, len(texts), difference)


class Agreement(NamedTuple):
    """How far two models' answers are apart."""

    difference: float
    differing: int


def compare_answers(one: Tagger, other: Tagger, texts: Sequence[str]) -> Agreement:
    """Return the largest difference of scores, and how many texts have other labels or another order."""
    answers = [tagger.infer(texts, Request()) for tagger in (one, other)]
    difference = float(np.abs(answers[0].scores - answers[1].scores).max(initial=0))
    pairs = zip(answers[0].chosen, answers[1].chosen, strict=True)
    return Agreement(difference, sum(set(a.tolist()) != set(b.tolist()) for a, b in pairs))


def describe_export(report: ExportReport) -> list[str]:
    """Say what was exported, in sentences."""
    if not report.files:
        return [f"the model in {report.folder} is linear: it runs without torch, and needs no graphs"]
    size = sum(report.files.values()) / 1e6
    graphs = sum(name.endswith(".onnx") for name in report.files)
    lines = [f"{graphs} ONNX graphs are in {report.folder} ({size:,.1f} MB)"]
    if report.micro_f1:
        before, after = report.micro_f1
        lines.append(
            f"validation {METRICS['micro_f1'].title} on {report.documents:,} documents: {before:.4f} with "
            f"32-bit weights, {after:.4f} with 8-bit ones ({after - before:+.4f})"
        )
    else:
        lines.append(
            f"on {report.documents:,} validation texts the labels are torch's, and scores differ by at most "
            f"{report.difference:.1g}"
        )
    return lines


TARGETS: dict[str, Callable[[Path, ExportOptions, Progress], ExportReport]] = {"onnx": export_onnx}
"""What a model can be exported to."""
