"""A report as one HTML file that needs nothing else: no network, no server, no other file."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from importlib import resources
from pathlib import Path
from string import Template

from seq2set.core.files import folder_written_aside, write_json, write_text
from seq2set.evaluation.measure import Report
from seq2set.evaluation.plots import cardinality_bars, frequency_scatter, threshold_curve, training_curve
from seq2set.labels.metrics import LabelMetrics

TILES = (
    ("micro_f1", "micro-F1", "higher is better"),
    ("micro_precision", "precision", "share of given labels that are right"),
    ("micro_recall", "recall", "share of true labels that are given"),
    ("hamming_loss", "hamming loss", "lower is better"),
    ("macro_f1", "macro-F1", "every label counts the same"),
    ("example_f1", "example F1", "every document counts the same"),
    ("subset_accuracy", "subset accuracy", "documents with exactly the true set"),
)


def write_report(report: Report, folder: Path, *, force: bool = False) -> Path:
    """Write `index.html` and `report.json` into `folder`, and return the page's path."""
    with folder_written_aside(folder, force=force) as aside:
        write_text(aside / "index.html", report_page(report))
        per_label = [label._asdict() for label in report.result.per_label]
        write_json(aside / "report.json", report.summary() | {"per_label": per_label})
    return folder / "index.html"


def report_page(report: Report) -> str:
    """Return the page as text."""
    result = report.result
    template = resources.files("seq2set.evaluation").joinpath("page.html").read_text(encoding="utf-8")
    return Template(template).substitute(
        title=escape(f"{report.model} on {report.data}"),
        run=escape(report.run),
        data=escape(report.data),
        split=escape(report.split),
        remarks="\n".join(f"<p>{_sentence(one)}</p>" for one in report.remarks()),
        documents=f"{result.documents:,}",
        labels=f"{result.labels:,}",
        speed=f"{result.documents_a_second:,.0f}",
        tiles="\n".join(_tile(name, value, hint) for name, value, hint in _tile_values(report)),
        training=_training(report),
        curve=threshold_curve(result),
        scatter=frequency_scatter(result),
        cardinality=cardinality_bars(result),
        ranking="\n".join(
            f"<tr><td>{escape(_ranking_name(k))}</td><td>{v:.4f}</td></tr>" for k, v in result.ranking.items()
        ),
        rows="\n".join(map(_label_row, result.per_label)),
        about="\n".join(_about_rows(report)),
    )


def _sentence(remark: str) -> str:
    return escape(remark[0].upper() + remark[1:]) + "."


def _training(report: Report) -> str:
    curve = training_curve(report.history)
    caption = "How validation went while it trained; the best weights were kept."
    return f"<figure>{curve}<figcaption>{caption}</figcaption></figure>" if curve else ""


def _tile_values(report: Report) -> Iterable[tuple[str, str, str]]:
    for key, name, hint in TILES:
        yield name, f"{report.result.metrics[key]:.4f}", hint


def _tile(name: str, value: str, hint: str) -> str:
    return f'<div class="tile"><b>{value}</b><span>{escape(name)}</span><small>{escape(hint)}</small></div>'


def _label_row(label: LabelMetrics) -> str:
    numbers = "".join(f"<td>{value:.3f}</td>" for value in (label.precision, label.recall, label.f1))
    return (
        f"<tr><td>{escape(label.label)}</td>{numbers}"
        f"<td>{label.support}</td><td>{label.predicted}</td>"
        f'<td class="bar"><i style="width:{100 * label.f1:.0f}%"></i></td></tr>'
    )


def _ranking_name(key: str) -> str:
    """Name a metric as the literature does: P@1 for precision_at_1."""
    return key.replace("precision_at_", "P@").replace("ndcg_at_", "nDCG@")


def _about_rows(report: Report) -> Iterable[str]:
    # The figures of single labels on validation are left out: the page has its own, on what was measured.
    sections = {name: facts for name, facts in report.about.items() if name != "per_label"}
    for section, facts in sections.items():
        yield f'<tr><th colspan="2">{escape(section)}</th></tr>'
        for key, value in facts.items():
            name = str(key).replace("_", " ")
            yield f"<tr><td>{escape(name)}</td><td>{escape(_shown(value))}</td></tr>"


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4f}".rstrip("0").rstrip(".")
    return str(value)
