"""An evaluation as a page with tiles, plots and tables, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from seq2set.config.catalog import METRICS, describe_parts, find_model, list_shown
from seq2set.core.files import write_folder_aside, write_json, write_text
from seq2set.core.outputs import FolderKind
from seq2set.evaluation.page import render_page
from seq2set.evaluation.plots import draw_compared, draw_plots
from seq2set.evaluation.results import Report

REPORT = FolderKind("report", ("index.html", "report.json"), "report.json")
"""What `--force` may replace"""

_LEFT_OUT = ("per_label", "before_tuning", "cross_validation", "calibrated")

_TITLES = {"brier": "Brier score", "calibration_error_all": "calibration error, all labels"}


def write_report(report: Report, folder: Path, *, beside: Sequence[Report] = (), force: bool = False) -> Path:
    """Write `index.html` and `report.json` into `folder`, and return the page's path.

    The reliability of the models `beside` it is drawn too.
    """
    with write_folder_aside(folder, force=force, kind=REPORT) as aside:
        write_text(aside / "index.html", render_report(report, beside))
        per_label = [label._asdict() for label in report.result.per_label]
        write_json(aside / "report.json", report.summary() | {"per_label": per_label})
    return folder / "index.html"


def render_report(report: Report, beside: Sequence[Report] = ()) -> str:
    """Return the page as text."""
    return render_page(
        "report.html.j2",
        filters={"ranking_name": _name_ranking, "title_of": _find_title, "short": _format_value},
        title=f"{report.model} on {report.data}",
        report=report,
        result=report.result,
        metrics=list_shown(),
        plots=draw_plots(report.result, report.history),
        parts={"model": find_model(report.model).summary} | describe_parts(report.parts),
        compared=draw_compared([*beside, report]) if beside else [],
        # The figures of single labels on validation are left out: the page has its own, on what was measured.
        metadata={name: facts for name, facts in report.metadata.items() if name not in _LEFT_OUT},
    )


def _name_ranking(key: str) -> str:
    """Name a metric as the literature does: P@1 for precision_at_1."""
    return key.replace("precision_at_", "P@").replace("ndcg_at_", "nDCG@")


def _find_title(key: str) -> str:
    """Name a metric by its title; other keys of JSON become words."""
    titles = _TITLES | {name: metric.title for name, metric in METRICS.items()}
    return titles.get(key, key.replace("_", " "))


def _format_value(value: object) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
