"""Judge published results again from their JSON files, whose cells and answers are gone.

::

    python tools/rejudge_results.py results

The files hold every training's micro-F1, and intervals over documents of rows and of differences, from which
the standard error over documents follows (width / (2 x 1.96)). Where the interval of a difference is not
stored, it is bounded: by the errors of both rows' differences to a third one, or by the sum of the rows' own
variances, which is too much for models that find the same documents hard. What follows from nothing stored is
left open.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from results_page import write_page
from seq2set.config import validate
from seq2set.config.catalog import MODELS
from seq2set.core.files import read_json, write_json, write_text
from seq2set.experiments.analysis.comparison import Compared, Comparison, Summary, against, best_on_validation
from seq2set.experiments.analysis.margins import (
    Claim,
    Margin,
    Pair,
    above_all_baselines,
    contrasts,
    in_short,
    judged,
    margin_table,
    margins,
)
from seq2set.experiments.analysis.statistics import FEWEST_SEEDS, Estimate, Floats, Measured, Variance, spread
from seq2set.experiments.cells.cell import CellResult
from seq2set.experiments.model_names import baselines, is_deterministic
from seq2set.experiments.render.comparison_tables import f1_plot, paper_table, verdicts
from seq2set.experiments.render.tables import Range, Table, markdown
from seq2set.experiments.studies import label_order, reward, shuffled, uncorrelated
from seq2set.experiments.studies import trade_off as lambda_
from seq2set.experiments.studies.removal_tables import _CLAIMED
from seq2set.experiments.studies.reward import beside_the_papers

GROUPED = {"debtags": 4.4}
"""By how much errors grow where documents come in groups that the files do not tell: the largest of the
factors 1.2 to 4.4 that were measured with BR at several thresholds on the source packages of debtags."""

NOTE = "Computed from the published summary, since the answers of these trainings are not stored."
BOUNDS = (
    "Where the interval of a difference was not published it is an upper bound. Between two models that draw "
    "nothing at random p is not below that of the randomisation test which was published."
)
WIDENED = "Errors over documents are multiplied by {}, the largest effect of groups that was measured on it."
NOT_STORED = "what a test needs is not stored"


@dataclass(frozen=True, eq=False)
class Recalled(Measured):
    """The micro-F1 of a row's trainings, with errors over documents as they were published."""

    name: str = ""
    scores: tuple[float, ...] = ()
    errors: Mapping[tuple[str, ...], float] | None = None
    """By the names of a row, or of the two rows of a difference"""

    @cached_property
    def values(self) -> Floats:
        """The micro-F1 of each training."""
        return np.array(self.scores)

    def combined(self, terms: Sequence[tuple[float, Measured]]) -> Estimate:
        """Combine rows, by twos where the differences are known."""
        rows = [(factor, one) for factor, one in terms if isinstance(one, Recalled)]
        by_training: dict[tuple[str, ...], list[tuple[float, Recalled]]] = {}
        for factor, one in rows:
            by_training.setdefault(one.trainings, []).append((factor, one))
        left = [found for found in by_training.values() if abs(sum(factor for factor, _ in found)) > 0]
        moving = [found for found in left if found[0][1].random]
        spans: list[Floats] = [
            np.sum([factor * one.values for factor, one in found], axis=0) for found in moving
        ]
        return Estimate(
            value=float(sum(factor * one.values.mean() for factor, one in rows)),
            documents=Variance(sum(map(self._variance, _by_twos(rows))), len(self.units) - 1),
            seeds=tuple(
                Variance(one.var(ddof=1) / len(one), len(one) - 1)
                for one in spans
                if len(one) >= FEWEST_SEEDS
            ),
            few=any(len(one) < FEWEST_SEEDS for one in spans),
            same=not left,
        )

    def _variance(self, rows: Sequence[tuple[float, Recalled]]) -> float:
        errors = self.errors or {}
        if len({one.trainings for _, one in rows}) < len(rows):
            return 0.0
        names = tuple(one.name for _, one in rows)
        for key in (names, names[::-1]):
            if key in errors:
                return errors[key] ** 2
        both = [errors[(name,)] ** 2 for name in names]
        # By way of a third row the two errors add up at the most, whatever goes together.
        via = [
            (errors[(names[0], third)] + errors[(names[1], third)]) ** 2
            for third in {key[1] for key in errors if len(key) > 1}
            if len(names) > 1 and (names[0], third) in errors and (names[1], third) in errors
        ]
        return min([sum(both), *via])


def _by_twos(rows: Sequence[tuple[float, Recalled]]) -> list[Sequence[tuple[float, Recalled]]]:
    return [rows[place : place + 2] for place in range(0, len(rows), 2)]


def main(arguments: Sequence[str]) -> int:
    """Judge all files of a folder, write them back and the page over them."""
    folder = Path(arguments[0])
    for path in sorted(folder.glob("*/*.json")):
        values = read_json(path)
        if "before" not in values:
            values["before"] = [claim for section in values["sections"] for claim in section["claims"]]
            rejudge(path, values)
            write_json(path, values)
    write_page(folder)
    return 0


def rejudge(path: Path, values: dict[str, Any]) -> None:
    """Put the tests of today into a published experiment."""
    factor = GROUPED.get(values["asked"]["corpus"])
    values["note"] = f"{NOTE} {BOUNDS}{f' {WIDENED.format(factor)}' if factor else ''}"
    first = values["sections"][0]
    if first["tables"] and first["tables"][0]["name"] == "results":
        _with_rows(path, values)
    elif values["experiment"] == "remove-frequent":
        _with_leads(values)
    else:
        first["claims"] = [_open(claim) for claim in first["claims"]]


def _with_rows(path: Path, values: dict[str, Any]) -> None:
    sections = {section["title"]: section for section in values["sections"]}
    first, beside = values["sections"][0], sections.get("Beside the paper")
    rows = _summaries(values)
    experiment = values["experiment"]
    reference = best_on_validation([one for one in rows if one.model in baselines()])
    if experiment == "shuffled":
        reference = None
    comparison = Comparison(rows, reference, _not_below_stored(first, rows, against(rows, reference)))
    table = paper_table(comparison)
    _put(first, "results", replace(table, rows_are="Lambda") if experiment == "lambda" else table)
    for section in values["sections"]:
        for old in section["tables"]:
            if old["rows"] and "points of F1" in old["rows"][0]:
                found = _margins(old, rows)
                paper = [name for name in old["rows"][0] if name.startswith("paper, ")]
                columns = {name: [(row[name] or {}).get("value") for row in old["rows"]] for name in paper}
                _put(section, old["name"], margin_table(old["name"], old["title"], found, columns))
                if section is beside and old["name"] != "full-over-simple":
                    section["found"] = _in_short_again(section["found"], found, old)
    first["claims"] = [claim.data() for claim in _claims(values, comparison)]
    first["found"] = _found_again(values, comparison)
    for section in values["sections"]:
        section["found"] = [_reworded(one) for one in section["found"]]
    for figure in first["figures"]:
        if figure["name"] == "micro-f1":
            write_text(path.with_suffix("") / "micro-f1.svg", f1_plot(comparison).svg)


def _not_below_stored(
    section: Mapping[str, Any], rows: Sequence[Summary], compared: Mapping[str, Compared]
) -> dict[str, Compared]:
    """Keep the larger p of two tests where seeds play no part: the published one was exact."""
    fixed = {one.row for one in rows if not one.f1.random}
    over = next((name for name in section["tables"][0]["rows"][0] if name.startswith("over ")), "")
    stored = {_title(row): (row.get("p") or {}).get("value") for row in section["tables"][0]["rows"]}
    return {
        row: replace(one, chance=max(one.chance, stored[row]))
        if row in fixed and over.removeprefix("over ") in fixed and one.chance is not None and stored[row]
        else one
        for row, one in compared.items()
    }


def _summaries(values: dict[str, Any]) -> list[Summary]:
    cells: dict[str, list[dict[str, Any]]] = {}
    for cell in values["cells"]:
        cells.setdefault(cell["row"], []).append(cell)
    table = values["sections"][0]["tables"][0]["rows"]
    errors = _errors(values)
    return [_summary(row, _cells_of(row, cells), errors) for row in table]


def _title(row: Mapping[str, Any]) -> str:
    return str(next(value for name, value in row.items() if name in ("models", "lambda")))


def _cells_of(row: Mapping[str, Any], cells: Mapping[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Find the trainings of a row by what they reached."""
    close = {
        name: abs(float(np.mean([one["metrics"]["micro_f1"] for one in some])) - row["F1"]["value"])
        for name, some in cells.items()
    }
    named = {"λ": "seq2set", **{row.title: model for model, row in MODELS.items()}}
    model = next(
        named[title] for title in sorted(named, key=len, reverse=True) if _title(row).startswith(title)
    )
    own = [name for name, gap in close.items() if gap < 1e-9 and cells[name][0]["model"] == model]
    return cells[own[0]]


def _errors(values: dict[str, Any]) -> dict[tuple[str, ...], float]:
    factor = GROUPED.get(values["asked"]["corpus"], 1.0) / (2 * 1.959964)
    found: dict[tuple[str, ...], float] = {}
    for section in values["sections"]:
        for table in section["tables"]:
            for row in table["rows"]:
                over = next((name for name in row if name.startswith("over ")), None)
                if table["name"] == "results":
                    found[(_title(row),)] = _width(row["F1, 95 %"]) * factor
                if table["name"] == "results" and over and row[over]:
                    found[(_title(row), over.removeprefix("over "))] = _width(row["95 % of it"]) * factor
                if "points of F1" in row:
                    names = tuple(row["margins"].split(" over "))
                    found[names] = _width(row["95 % of it"]) * factor / 100
    return found


def _width(interval: Mapping[str, float]) -> float:
    return interval["high"] - interval["low"]


def _summary(
    row: Mapping[str, Any], cells: Sequence[dict[str, Any]], errors: Mapping[tuple[str, ...], float]
) -> Summary:
    results = tuple(CellResult(_title(row), Path(one["name"]), one) for one in cells)
    units = np.arange(cells[0]["documents"])
    measured = Recalled(
        tuple(one["name"] for one in cells),
        not is_deterministic(validate(cells[0]["config"])),
        units,
        np.zeros((len(cells), 0, 2)),
        _title(row),
        tuple(one["metrics"]["micro_f1"] for one in cells),
        errors,
    )
    return Summary(
        row=_title(row),
        results=results,
        metrics={name: spread([one["metrics"][name] for one in cells]) for name in cells[0]["metrics"]},
        validation={
            name: spread([one["validation"][name] for one in cells]) for name in cells[0]["validation"]
        },
        f1=measured,
        minutes=spread([one.seconds / 60 for one in results]),
        speed=spread([one.facts["documents_per_second"] for one in results]),
    )


def _margins(table: Mapping[str, Any], rows: Sequence[Summary]) -> list[Margin]:
    named = {one.row: one for one in rows}
    return margins([Pair(*(named[name] for name in row["margins"].split(" over "))) for row in table["rows"]])


def _claims(values: dict[str, Any], comparison: Comparison) -> list[Claim]:
    experiment = values["experiment"]
    if experiment == "table-results":
        return above_all_baselines(comparison)
    if experiment == "shuffled":
        drops, leads = shuffled._drops(comparison), shuffled._leads(comparison)
        return shuffled._judgements(margins(drops), margins(leads))
    if experiment == "uncorrelated":
        return uncorrelated._judgements(margins(uncorrelated._pairs(comparison)))
    if experiment == "label-order":
        rows = {one.row: one for one in comparison.summaries}
        kinds = list(dict.fromkeys(one.rpartition(", ")[2] for one in rows))
        pairs = {kind: Pair(rows[f"Seq2Set, {kind}"], rows[f"Seq2Set (simp.), {kind}"]) for kind in kinds}
        return label_order._judgements(dict(zip(pairs, margins(pairs.values()), strict=True)))
    return []


def _found_again(values: dict[str, Any], comparison: Comparison) -> list[str]:
    old, experiment = values["sections"][0]["found"], values["experiment"]
    if experiment in ("table-results", "compare"):
        kept = [one for one in old if one.startswith("Only ")]
        return kept + [_trained_once(one) for one in verdicts(comparison)]
    if experiment == "lambda":
        chosen = best_on_validation(comparison.summaries)
        assert chosen is not None
        found = margins([Pair(one, chosen) for one in comparison.summaries if one is not chosen])
        return lambda_._sentences(comparison, chosen, found) + lambda_._meanings(comparison)
    if experiment == "reward":
        return beside_the_papers(margins(reward._pairs(comparison)))
    return old


def _in_short_again(old: list[str], found: Sequence[Margin], table: Mapping[str, Any]) -> list[str]:
    """Say again which margins are significant; a second table of a section adds its own sentence."""
    kept = [one for one in old if "margin" not in one or one.startswith("The corpus is not")]
    before = [one for one in old if table["name"] == "leads" and one not in kept]
    return [*kept, *before, f"{table['title']}: {in_short(found)}"]


def _trained_once(sentence: str) -> str:
    """Say of linear models what holds of these trainings: their solver stopped early, in an order by seed."""
    names, found, _ = sentence.partition(" nothing at random: one training stands for every seed.")
    if not found:
        return sentence
    names, _, verb = names.rpartition(" ")
    were, they = ("was", "it") if verb == "draws" else ("were", "they")
    return (
        f"{names} {were} trained once; at the tolerance of 0.1 that {they} had, another order of documents "
        "would give slightly other classifiers (neglected here)."
    )


def _reworded(sentence: str) -> str:
    untested = "first on the measure that it rewards (not tested)"
    return sentence.replace("best on the measure that it rewards", untested).replace(
        " a document;", " per document;"
    )


def _with_leads(values: dict[str, Any]) -> None:
    """Judge what is stored of the removal of frequent labels: the leads at each step, and their seeds."""
    section = values["sections"][0]
    f1, leads = (
        next(one for one in section["tables"] if one["name"].endswith(end)) for end in ("-f1", "-leads")
    )
    rows = {row["models"]: row for row in f1["rows"]}
    models = {row.title: model for model, row in MODELS.items()}
    seeds = {model: sum(cell["model"] == model for cell in values["cells"]) for model in models.values()}
    steps = [name for name in f1["rows"][0] if name != "models"]
    documents, claims = values["cells"][0]["documents"], []
    table = {}
    for lead, interval in zip(leads["rows"][::2], leads["rows"][1::2], strict=True):
        names = lead["leads"].split(" over ")
        parts = {
            step: _lead(
                lead[step]["value"],
                interval[step],
                [rows[one][step] for one in names],
                names,
                seeds,
                documents,
            )
            for step in steps
        }
        table[lead["leads"]] = parts
        for step in steps:
            low, high = parts[step].interval
            interval[step] = {"low": 100 * low, "high": 100 * high}
        if models[names[1]] in _CLAIMED:
            said, wanted = _CLAIMED[models[names[1]]]
            change = _changed(parts[steps[0]], parts[steps[-1]])
            ends = " to ".join(
                f"{100 * parts[one].value:+.1f}".replace("-", "−") for one in (steps[0], steps[-1])
            )
            title = f"the lead of {lead['leads']}, from {ends} points, changes by"
            (contrast,) = contrasts({title: [(1.0, Fixed.of(change))]})
            claims += judged(f"the advantage of {lead['leads']} {said}", [contrast], wanted)
    kept = [_open(one) for one in section["claims"] if "advantage" not in one["text"]]
    section["claims"] = kept + [claim.data() for claim in claims]
    leads["caption"] = f"Intervals (95 %) hold documents and, of several seeds, seeds. {NOTE}"
    leads["markdown"] = _lead_markdown(leads, table, steps)


@dataclass(frozen=True, eq=False)
class Fixed(Measured):
    """An estimate that is known as a whole."""

    known: Estimate | None = None

    @classmethod
    def of(cls, known: Estimate) -> Fixed:  # type: ignore[override]
        """Take an estimate as it is."""
        return cls((), False, np.arange(0), np.zeros((1, 0, 2)), known)

    def combined(self, terms: Sequence[tuple[float, Measured]]) -> Estimate:  # noqa: ARG002
        """Return it."""
        assert self.known is not None
        return self.known


def _lead(
    points: float,
    interval: Mapping[str, float],
    rows: Sequence[Mapping[str, float]],
    names: Sequence[str],
    seeds: Mapping[str, int],
    documents: int,
) -> Estimate:
    models = {row.title: model for model, row in MODELS.items()}
    numbers = [seeds[models[name]] for name in names]
    random = [models[name] not in ("br", "cc", "lp") for name in names]
    parts = [
        Variance(row["deviation"] ** 2 / number, number - 1)
        for row, number, drawn in zip(rows, numbers, random, strict=True)
        if drawn and number >= FEWEST_SEEDS
    ]
    error = _width(interval) / (2 * 1.959964) / 100
    few = any(number < FEWEST_SEEDS and drawn for number, drawn in zip(numbers, random, strict=True))
    return Estimate(points / 100, Variance(error**2, documents - 1), tuple(parts), few)


def _changed(first: Estimate, last: Estimate) -> Estimate:
    """Return the change, as if both ends were independent: they share documents and seeds, so it is less."""
    documents = Variance(first.documents.value + last.documents.value, first.documents.degrees)
    seeds = tuple(
        Variance(one.value + other.value, one.degrees)
        for one, other in zip(first.seeds, last.seeds, strict=True)
    )
    return Estimate(last.value - first.value, documents, seeds, last.few)


def _lead_markdown(
    leads: Mapping[str, Any], found: Mapping[str, Mapping[str, Estimate]], steps: Sequence[str]
) -> str:
    from seq2set.experiments.render.tables import Column, Quantity, Row

    rows = []
    for title, parts in found.items():
        points = tuple(Quantity(100 * parts[step].value, 1, signed=True) for step in steps)
        ranges = tuple(
            Range(type(parts[step].interval)(*(100 * end for end in parts[step].interval)), 1, signed=True)
            for step in steps
        )
        rows += [Row(title, points, ruled=bool(rows)), Row("95 % of it", ranges)]
    columns = tuple(Column(step) for step in steps)
    return markdown(Table(leads["name"], leads["title"], columns, tuple(rows), leads["caption"], "Leads"))


def _open(claim: Mapping[str, Any]) -> dict[str, Any]:
    evidence = str(claim["evidence"]).replace(", which may be an accident", "")
    return Claim(str(claim["text"]), None, f"{evidence}; {NOT_STORED}").data()


def _put(section: dict[str, Any], name: str, table: Table) -> None:
    table = replace(table, caption=f"{table.caption} {NOTE}")
    made = table.data() | {"markdown": markdown(table)}
    section["tables"] = [made if one["name"] == name else one for one in section["tables"]]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
