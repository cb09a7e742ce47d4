"""A study as a declaration: its rows, the pairs that it tests, and the paper's claims and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

from seq2set.config.catalog import MODELS
from seq2set.experiments.analysis.comparison import Comparison, RowKey, RowResults, compare_rows
from seq2set.experiments.analysis.margins import (
    Claim,
    Contrast,
    Expectation,
    Margin,
    Pair,
    compare_pairs,
    judge_claims,
)
from seq2set.experiments.analysis.published import PublishedTable, find_published
from seq2set.experiments.cells.cell import Cell, CellResult
from seq2set.experiments.options import Options, is_deterministic
from seq2set.experiments.render.comparison_tables import (
    make_margin_table,
    make_paper_table,
    make_published_table,
    make_side_by_side_table,
    plot_f1,
)
from seq2set.experiments.render.plots import Plot
from seq2set.experiments.render.report import Section, list_trainings
from seq2set.experiments.render.tables import Table


class Variant(NamedTuple):
    """A row of a study and the cells that it is the mean of, one per seed."""

    key: RowKey
    cells: tuple[Cell, ...]


def name_row(key: RowKey) -> str:
    """Return a row's name in print: its model's, and its variant where it has one."""
    return ", ".join(filter(None, (MODELS[key.model].title, key.variant)))


def make_variant(
    options: Options, model: str, variant: str = "", *assignments: str, folder: str = ""
) -> Variant:
    """Return a model with settings of its own; `folder` tells its cells from those of the model alone.

    Settings that are the model's anyway change nothing: then the cells are those that the model has in every
    study on the same folder.
    """
    same = options.config(model, 1, *assignments) == options.config(model, 1)
    name = model if same else f"{model}-{folder or variant}"
    return Variant(RowKey(model, variant), make_cells(options, model, name, *assignments))


def make_cells(options: Options, model: str, row: str, *assignments: str) -> tuple[Cell, ...]:
    """Return the cells of one row: a model with some settings of its own, once for each seed that matters."""
    if is_deterministic(first := options.config(model, 1, *assignments)):
        return (Cell(row, first, options.cells / row),)
    return tuple(
        Cell(row, options.config(model, seed, *assignments), options.cells / f"{row}-seed{seed}")
        for seed in options.seeds
    )


def make_plain_variants(options: Options) -> list[Variant]:
    """Return every model as it is."""
    return [make_variant(options, model) for model in options.models]


def list_cells(variants: Iterable[Variant]) -> list[Cell]:
    """Return the cells of all rows, each once."""
    return list({cell.folder: cell for one in variants for cell in one.cells}.values())


def collect_rows(
    variants: Iterable[Variant], results: Sequence[CellResult], name: Callable[[RowKey], str] = name_row
) -> list[RowResults]:
    """Return the rows of which cells are done; a cell that rows share counts for each of them."""
    done = {result.folder: result for result in results}
    rows = [
        RowResults(key, name(key), tuple(done[cell.folder] for cell in cells if cell.folder in done))
        for key, cells in variants
    ]
    return [row for row in rows if row.results]


class MarginTable(NamedTuple):
    """Pairs of rows whose margins are tested and listed, with columns of the paper's own margins."""

    name: str
    title: str
    pairs: Callable[[Comparison], Iterable[Pair]]
    published: Mapping[str, Callable[[Margin], float | None]] = MappingProxyType({})


class ClaimRule(NamedTuple):
    """What the paper says of some differences, and how they must be for that."""

    text: str
    expected: Expectation
    differences: Callable[[Any], Sequence[Contrast]]
    """Of the study's data, or of what its own sections measure"""
    where: Callable[[Any], str] = lambda _: ""
    """How the evidence begins"""


@dataclass(frozen=True)
class Study:
    """A study of the paper."""

    title: str
    variants: Callable[[Options], list[Variant]]
    name_row: Callable[[RowKey], str] = name_row
    """Rows are told apart by their keys; this is what pages call them"""
    question: tuple[str, str] | None = None
    """The title and the question of the section that compares the rows; none where it does not"""
    remarks: Callable[[StudyData], Iterable[str]] = lambda _: ()
    """What that section says beside the claims"""
    claims: tuple[ClaimRule, ...] = ()
    """Judged in the section that compares the rows, or by what `more` measures"""
    margins: tuple[MarginTable, ...] = ()
    beside: str = ""
    """The question of the section that puts margins beside the published ones; none where it is empty"""
    beside_remarks: Callable[[StudyData], Iterable[str]] = lambda _: ()
    published: tuple[PublishedTable, ...] = ()
    """Tables of the paper that this section shows as they stand there"""
    has_published_rows: bool = False
    """Whether it puts rows beside the paper's too, where the corpus is the paper's own"""
    more: Callable[[StudyData], Iterable[Section]] = lambda _: ()
    """Further sections"""
    plot: Callable[[Comparison], Plot] = plot_f1
    rows_are: str = "Models"
    has_reference: bool = True
    """Whether all rows are compared with the best baseline"""

    def cells(self, options: Options) -> list[Cell]:
        """Return the trainings that it needs."""
        return list_cells(self.variants(options))

    def sections(self, options: Options, results: Sequence[CellResult]) -> list[Section]:
        """Report what the finished cells say; some may be missing."""
        data = StudyData(self, options, results)
        compared = [_compare(data, *self.question), *_put_beside(data)] if self.question else []
        return [*compared, *self.more(data), list_trainings(results)]


@dataclass(frozen=True, eq=False)
class StudyData:
    """What a study is reported from."""

    study: Study
    options: Options
    results: Sequence[CellResult]

    @cached_property
    def rows(self) -> list[RowResults]:
        """The rows that are done."""
        return collect_rows(self.study.variants(self.options), self.results, self.study.name_row)

    @cached_property
    def comparison(self) -> Comparison:
        """The rows side by side."""
        return compare_rows(self.rows, has_reference=self.study.has_reference)

    @cached_property
    def margins(self) -> dict[str, list[Margin]]:
        """The margins of each table, by its name."""
        return {one.name: compare_pairs(one.pairs(self.comparison)) for one in self.study.margins}

    def select_margins(self, table: str, model: str = "") -> list[Margin]:
        """Return a table's margins of one model or, unless it is named, of the paper's own models."""
        ours = [(one.pair.ours, one) for one in self.margins[table]]
        return [one for row, one in ours if (row.model == model if model else not row.is_baseline)]

    def judge(self, measured: Any) -> tuple[Claim, ...]:
        """Judge the study's claims by what was measured; one that no difference is about is left out."""
        found: list[Claim] = []
        for one in self.study.claims:
            found += judge_claims(one.text, one.differences(measured), one.expected, one.where(measured))
        return tuple(found)

    @property
    def corpus(self) -> dict[str, Any]:
        """What the cells say of their corpus."""
        return dict(self.results[0].facts["corpus"])


def _compare(data: StudyData, title: str, asked: str) -> Section:
    """Report the rows, and the margins where they have no section of their own."""
    study = data.study
    tables = make_paper_table(data.comparison, study.rows_are), *([] if study.beside else _list_margins(data))
    asked = asked.format(corpus=data.corpus["name"])
    plots = (study.plot(data.comparison),)
    return Section(title, asked, tuple(study.remarks(data)), tables, plots, data.judge(data))


def _put_beside(data: StudyData) -> list[Section]:
    """Put margins beside the published ones, and rows where the corpus is the paper's own."""
    study = data.study
    own = find_published(data.corpus) if study.has_published_rows else None
    tables = [make_side_by_side_table(data.comparison, own)] if own else []
    tables += _list_margins(data)
    if not study.beside or not tables:
        return []
    tables += map(make_published_table, study.published)
    return [Section("Beside the paper", study.beside, tuple(study.beside_remarks(data)), tuple(tables))]


def _list_margins(data: StudyData) -> list[Table]:
    """Return the tables of margins of which any is known."""
    tables = []
    for name, title, _, published in data.study.margins:
        if found := data.margins[name]:
            columns = {head: [find(one) for one in found] for head, find in published.items()}
            tables.append(make_margin_table(name, title, found, columns))
    return tables
