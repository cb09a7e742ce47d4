"""The paper's tables and figures: cells that are trained once, and pages that are built from them.

A study is one row of the table below and one file in `studies`, which is loaded when it is asked for. Its
own options are given as `--option NAME=VALUE`; the row says what each means, allows and defaults to.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from seq2set.config.catalog import REWARDS
from seq2set.core.errors import InputError, UnknownNameError
from seq2set.core.names import find_named, load_named

if TYPE_CHECKING:
    from seq2set.experiments.studies.study import Study


Parser = Callable[[str, str], Any]
"""Reads an option's text; takes the option's name too, for the sentence about a wrong one."""


class StudyOption(NamedTuple):
    """An option of a study."""

    summary: str
    parse: Parser
    default: str | None = None
    """As it would be given; None where it is not a fixed value"""

    @property
    def help(self) -> str:
        """What the option means, and its default."""
        return self.summary if self.default is None else f"{self.summary}, by default {self.default}"

    def read(self, name: str, text: str | None) -> Any:
        """Return the value of a text, or the default where none is given; None where there is neither."""
        given = self.default if text is None else text
        return None if given is None else self.parse(name, given)


def parse_numbers(name: str, text: str) -> tuple[int, ...]:
    """Read whole numbers above 0 with commas between, and put them in ascending order."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and int(part) for part in parts):
        raise InputError(
            f"--option {name} is '{text}'; it must be whole numbers >= 1 with commas between, such as 10,20"
        )
    return tuple(sorted(set(map(int, parts))))


def parse_number(name: str, text: str) -> int:
    """Read one whole number above 0."""
    found = parse_numbers(name, text)
    if len(found) > 1:
        raise InputError(f"--option {name} is '{text}'; it must be one whole number >= 1")
    return found[0]


def parse_share(name: str, text: str) -> float:
    """Read a number from 0 to 1."""
    return _parse_share(text, f"--option {name} is '{text}'; it must be a number")


def parse_shares(name: str, text: str) -> tuple[float, ...]:
    """Read numbers from 0 to 1 with commas between, and put them in ascending order."""
    fault = f"--option {name} is '{text}'; it must be numbers with commas between, each"
    return tuple(sorted({_parse_share(part, fault) for part in text.split(",")}))


def _parse_share(text: str, fault: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise InputError(f"{fault} from 0 to 1")
    return value


def choose_from(*allowed: str) -> Parser:
    """Return what reads one of a few words."""

    def parse(name: str, text: str) -> str:
        if text not in allowed:
            raise InputError(f"--option {name} is '{text}'; it must be {' or '.join(allowed)}")
        return text

    return parse


def choose_some_of(known: Collection[str]) -> Parser:
    """Return what reads names with commas between, in the order in which they are given."""

    def parse(name: str, text: str) -> tuple[str, ...]:
        names = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
        for one in names:
            if one not in known:
                raise UnknownNameError(f"--option {name}:", one, known)
        return names

    return parse


class StudyRow(NamedTuple):
    """A study: its purpose, its declaration, the models that it takes unless told, and its own options."""

    summary: str
    study: str = ""
    """`module:name` of its declaration; by default STUDY in the file of `studies` that is called like it"""
    models: str = "all"
    options: Mapping[str, StudyOption] = MappingProxyType({})


_FOUR = "br,seq2seq,seq2set-simp,seq2set"
_PROPOSED = "seq2set-simp,seq2set"

LABEL_ORDERS = ("descending", "ascending", "tree", "shuffled")
"""The orders of labels that can be compared."""

_REMOVAL_OPTIONS = {
    "steps": StudyOption(
        "how many labels to leave out, with commas between; by default the paper's shares", parse_numbers
    ),
    "retrain": StudyOption("yes trains on the reduced corpora as well", choose_from("no", "yes"), "no"),
}
_BAND_OPTIONS = {
    "bands": StudyOption("how many bands of equally many labels", parse_number, "5"),
    "limits": StudyOption("training documents at which a band begins, with commas between", parse_numbers),
}
_CASE_OPTIONS = {
    "cases": StudyOption("how many documents", parse_number, "3"),
    "seed": StudyOption("the seed that draws them", parse_number, "1"),
    "correlation": StudyOption("from which correlation on labels go together", parse_share, "0.28"),
    "texts": StudyOption("hidden leaves the texts out", choose_from("shown", "hidden"), "shown"),
}
_UNCORRELATED_OPTIONS = {
    "threshold": StudyOption("the largest correlation between two labels", parse_share, "0.28"),
    "order": StudyOption(
        "shuffled or descending, the order of each training document's labels",
        choose_from("shuffled", "descending"),
        "shuffled",
    ),
}
_ORDERS = StudyOption("some of these orders, with commas between", choose_some_of(LABEL_ORDERS))
_LAMBDAS = StudyOption("values from 0 to 1 with commas between", parse_shares, "0,0.2,0.5,0.8,0.95,1")
_REWARDS = StudyOption("some of the values of objective.reward, with commas between", choose_some_of(REWARDS))

EXPERIMENTS: dict[str, StudyRow] = {
    "compare": StudyRow("every model in one table, with intervals and a test against the best baseline"),
    "table-results": StudyRow(
        "the paper's main table, BR with both thresholds, and the published margins beside ours"
    ),
    "remove-frequent": StudyRow("the most frequent labels left out, step by step", options=_REMOVAL_OPTIONS),
    "low-frequency": StudyRow("F1 by how frequent labels are", options=_BAND_OPTIONS),
    "case-study": StudyRow("documents on which the models disagree", options=_CASE_OPTIONS),
    "uncorrelated": StudyRow(
        "trainings on labels that hardly go together", models=_FOUR, options=_UNCORRELATED_OPTIONS
    ),
    "shuffled": StudyRow("labels in order against labels shuffled for each training document", models=_FOUR),
    "label-order": StudyRow(
        "the two proposed models under descending, ascending, tree and shuffled order",
        models=_PROPOSED,
        options={"orders": _ORDERS},
    ),
    "lambda": StudyRow(
        "the trade-off between the two decoders from 0 to 1",
        "seq2set.experiments.studies.trade_off:STUDY",  # lambda is a word of Python
        "seq2set",
        {"lambdas": _LAMBDAS},
    ),
    "reward": StudyRow(
        "the paper's reward, F1, against the others", models=_PROPOSED, options={"rewards": _REWARDS}
    ),
}
"""In the order in which `all` does them: first those that the others' trainings are shared with."""

ALL = "all"
"""Stands for every experiment."""


def list_options() -> dict[str, StudyOption]:
    """Return the options of all studies; no two studies may have one of the same name."""
    owners: dict[str, str] = {}
    for study, row in EXPERIMENTS.items():
        for name in row.options:
            if (other := owners.setdefault(name, study)) != study:
                raise InputError(f"the studies {other} and {study} both have an option '{name}'; rename one")
    return {name: EXPERIMENTS[study].options[name] for name, study in owners.items()}


def find_experiment(name: str) -> StudyRow:
    """Return a study's row, or say which names there are; `all` has the options of every one."""
    if name == ALL:
        return StudyRow("every experiment", "", options=list_options())
    if name not in EXPERIMENTS:
        raise UnknownNameError("experiment", name, (*EXPERIMENTS, ALL))
    return EXPERIMENTS[name]


def load_study(name: str) -> Study:
    """Return a study's declaration."""
    path = find_named("experiment", name, EXPERIMENTS).study
    own = f"seq2set.experiments.studies.{name.replace('-', '_')}:STUDY"
    return cast("Study", load_named(path or own))
