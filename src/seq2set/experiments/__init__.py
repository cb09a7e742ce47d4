"""The paper's tables and figures: cells that are trained once, and pages that are built from them.

The experiments by name; a module each, loaded when it is asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from seq2set.core.errors import UnknownNameError

if TYPE_CHECKING:
    from seq2set.experiments.cells.cell import Cell, CellResult
    from seq2set.experiments.options import Options
    from seq2set.experiments.render.report import Section


class Experiment(Protocol):
    """What the module of an experiment has."""

    TITLE: str
    """The heading of its page"""

    def cells(self, options: Options) -> list[Cell]:
        """Return the trainings that it needs."""

    def sections(self, options: Options, results: Sequence[CellResult]) -> list[Section]:
        """Return what the finished cells say; some may be missing."""


class Entry(NamedTuple):
    """An experiment's purpose, its module, the models it takes unless told, and options of its own."""

    purpose: str
    module: str
    models: str = "all"
    options: Mapping[str, str] = MappingProxyType({})
    """The options of its own, as `--option` takes them, each with its meaning"""


_FOUR = "br,seq2seq,seq2set-simp,seq2set"
_PROPOSED = "seq2set-simp,seq2set"

EXPERIMENTS = {
    "compare": Entry(
        "every model in one table, with intervals and a test against the best baseline",
        "seq2set.experiments.studies.compare",
    ),
    "table-results": Entry(
        "the paper's main table, BR with both thresholds, and the published margins beside ours",
        "seq2set.experiments.studies.table_results",
    ),
    "remove-frequent": Entry(
        "the most frequent labels left out, step by step",
        "seq2set.experiments.studies.remove_frequent",
        options={
            "steps": "how many labels to leave out, with commas between; by default the paper's shares",
            "retrain": "yes trains on the reduced corpora as well",
        },
    ),
    "low-frequency": Entry(
        "F1 by how frequent labels are",
        "seq2set.experiments.studies.low_frequency",
        options={
            "bands": "how many bands of equally many labels, by default 5",
            "limits": "training documents at which a band begins, with commas between",
        },
    ),
    "case-study": Entry(
        "documents on which the models disagree",
        "seq2set.experiments.studies.case_study",
        options={
            "cases": "how many documents, by default 3",
            "seed": "the seed that draws them, by default 1",
            "correlation": "from which correlation on labels go together, by default 0.28",
            "texts": "hidden leaves the texts out",
        },
    ),
    "uncorrelated": Entry(
        "trainings on labels that hardly go together",
        "seq2set.experiments.studies.uncorrelated",
        _FOUR,
        {
            "threshold": "the largest correlation between two labels, by default 0.28",
            "order": "shuffled (default) or descending, the order of each training document's labels",
        },
    ),
    "shuffled": Entry(
        "labels in order against labels shuffled for each training document",
        "seq2set.experiments.studies.shuffled",
        _FOUR,
    ),
    "label-order": Entry(
        "the two proposed models under descending, ascending, tree and shuffled order",
        "seq2set.experiments.studies.label_order",
        _PROPOSED,
        {"orders": "some of these orders, with commas between"},
    ),
    "lambda": Entry(
        "the trade-off between the two decoders from 0 to 1",
        "seq2set.experiments.studies.trade_off",
        "seq2set",
        {"lambdas": "values from 0 to 1 with commas between, by default 0,0.2,0.5,0.8,0.95,1"},
    ),
    "reward": Entry(
        "the paper's reward, F1, against the others",
        "seq2set.experiments.studies.reward",
        _PROPOSED,
        {"rewards": "some of the values of objective.reward, with commas between"},
    ),
}
"""In the order in which `all` does them: first those that the others' trainings are shared with."""

ALL = "all"
"""Stands for every experiment."""


def find_entry(name: str) -> Entry:
    """Return an experiment's entry, or say which names there are; `all` has the options of every one."""
    if name == ALL:
        options = {one: text for entry in EXPERIMENTS.values() for one, text in entry.options.items()}
        return Entry("every experiment", "seq2set.experiments.run", options=options)
    if name not in EXPERIMENTS:
        raise UnknownNameError("experiment", name, (*EXPERIMENTS, ALL))
    return EXPERIMENTS[name]


def load_experiment(name: str) -> Experiment:
    """Return the experiment's module."""
    return cast("Experiment", importlib.import_module(find_entry(name).module))
