"""How long cells take: from those that are done, else by a rule of thumb.

The rule of thumb was measured on one or two cores of an AVX2 machine. A linear classifier goes through 1.2
million words a second and thread, all values of C together, and through 5 million where its class is one of
many label combinations, since it has little to learn of each; there is one a label, a link of a chain or a
combination. A network takes 3 ms a document and epoch, and one second more for each 1.3 thousand million
weights that its LSTM meets on the way through the words. Cells that are done correct the rule for their
model: the second of a kind is estimated by the first. What a cell takes over from another takes no time.

Rows that are one model with a setting or two of its own, and the cells that several rows may share.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from seq2set.config import Config
from seq2set.config.catalog import find_model
from seq2set.config.run_folder import RunFolder
from seq2set.core.hardware import count_threads
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.experiments.cells.cell import Cell, CellResult, finished
from seq2set.experiments.cells.published import Shelf
from seq2set.experiments.cells.warm_start_reuse import begin_alike, share_left
from seq2set.experiments.model_names import title_of
from seq2set.experiments.options import Options
from seq2set.experiments.studies.compare import row_cells
from seq2set.workflows.training_corpus import open_training_corpus

LINEAR_WORDS = 1.2e6
"""Words of training documents that a linear classifier goes through in a second on one thread."""

COMBINATION_WORDS = 5e6
"""The same for the classifier of a label combination."""

NETWORK_SECONDS = 0.003
"""What a document costs a network in an epoch, however short it is."""

NETWORK_WEIGHTS = 1.3e9
"""Weights that a network's LSTM meets in a second: all of them once a word."""


class Shape(NamedTuple):
    """What of a corpus decides how long a training takes."""

    documents: int
    labels: int
    words: float
    """Words a document"""
    combinations: int
    """How many sets of labels occur"""

    @classmethod
    def of(cls, corpus: PreparedCorpus) -> Shape:
        """Read the shape off a prepared corpus."""
        counts, sets = corpus.facts["counts"], set(map(frozenset, corpus.split("train").labels()))
        return cls(counts["documents"]["train"], counts["labels"], counts["words_per_document"], len(sets))


def rule_of_thumb(config: Config, shape: Shape) -> float:
    """Return about how many seconds a training takes."""
    if find_model(config.model).family == "linear":
        return shape.documents * shape.words / count_threads(config.threads) * _linear_seconds(config, shape)
    weights = min(shape.words, config.encoder.max_words) * _encoder_weights(config)
    return shape.documents * _epochs(config) * (NETWORK_SECONDS + weights / NETWORK_WEIGHTS)


def _linear_seconds(config: Config, shape: Shape) -> float:
    """Return what a word costs all classifiers of a linear model together."""
    if config.model == "lp":
        return min(shape.combinations, config.powerset.max_combinations) / COMBINATION_WORDS
    chains = config.chain.chains if (config.model, config.chain.order) == ("cc", "ensemble") else 1
    return chains * shape.labels / LINEAR_WORDS


def _encoder_weights(config: Config) -> int:
    """Count the weights of one gate and direction, which the others are multiples of."""
    encoder = config.encoder
    inputs = [encoder.embedding] + [2 * encoder.hidden] * (encoder.layers - 1)
    return sum(encoder.hidden * (one + encoder.hidden) for one in inputs)


def _epochs(config: Config) -> int:
    from seq2set.training.train_network import phases

    return sum(phase.epochs for phase in phases(config))


class Estimate(NamedTuple):
    """How long a cell takes, and where that is known from."""

    seconds: float
    measured: bool
    """Whether cells of the same model were measured"""
    shares: bool = False
    """Whether it takes over what another has done"""


class Step(NamedTuple):
    """A cell in the plan."""

    cell: Cell
    state: Literal["done", "published", "begun", "to do"]
    estimate: Estimate


class Schedule:
    """What is done and what is left of an experiment."""

    def __init__(self, cells: Sequence[Cell], jobs: int = 1, shelf: Shelf | None = None):
        self.cells, self.jobs, self.shelf = tuple(cells), jobs, shelf
        corpora = {data: open_training_corpus(data) for data in {cell.config.data for cell in cells}}
        shapes = {data: Shape.of(corpus) for data, corpus in corpora.items()}
        self._rules = {cell.name: rule_of_thumb(cell.config, shapes[cell.config.data]) for cell in cells}
        found = {cell.name: finished(cell, corpora[cell.config.data]) for cell in cells}
        self.results = {name: result for name, result in found.items() if result is not None}
        self.failed: set[str] = set()
        if shelf is not None:
            for cell in self.left:
                if (published := shelf.choose(cell, corpora[cell.config.data])) is not None:
                    self.add(cell, published)

    @property
    def published(self) -> set[str]:
        """The names of the cells that are taken from published ones."""
        return set() if self.shelf is None else set(self.shelf.chosen)

    @property
    def left(self) -> list[Cell]:
        """The cells that are still to be done, in their order."""
        return [cell for cell in self.cells if cell.name not in {*self.results, *self.failed}]

    @property
    def seconds_left(self) -> float:
        """About how long the rest takes."""
        return sum(self.estimate(cell).seconds for cell in self.left) / max(1, min(self.jobs, len(self.left)))

    def add(self, cell: Cell, result: CellResult) -> None:
        """Take a cell's result."""
        self.results[cell.name] = result

    def give_up(self, cell: Cell) -> None:
        """Leave out a cell that failed."""
        self.failed.add(cell.name)

    def estimate(self, cell: Cell) -> Estimate:
        """Return how long a cell takes: the rule of thumb, corrected by the cells of the same model."""
        rule = self._rules[cell.name]
        known = [
            self.results[other.name].seconds / self._rules[other.name]
            for other in self.cells
            if other.name in self.results and other.config.model == cell.config.model
        ]
        seconds = rule * (sum(known) / len(known) if known else 1.0)
        if self._begins_as_another(cell):
            return Estimate(seconds * share_left(cell.config), bool(known), shares=True)
        return Estimate(seconds, bool(known))

    def _begins_as_another(self, cell: Cell) -> bool:
        """Say whether a cell before this one has done, or will have done, what this one begins with."""
        if _begun(cell):
            return False
        before = self.cells[: self.cells.index(cell)]
        return any(begin_alike(other.config, cell.config) for other in before if self._leaves_work(other))

    def _leaves_work(self, cell: Cell) -> bool:
        """Say whether there is, or will be, what another could take over; published cells have none."""
        done = cell.name in self.results
        return cell.name not in self.failed and (not done or RunFolder(cell.folder).has_learnt())

    def steps(self) -> Iterable[Step]:
        """Give the plan, a cell at a time."""
        for cell in self.cells:
            if (result := self.results.get(cell.name)) is not None:
                state: Literal["done", "published"] = "published" if cell.name in self.published else "done"
                yield Step(cell, state, Estimate(result.seconds, True))
            else:
                yield Step(cell, "begun" if _begun(cell) else "to do", self.estimate(cell))


def make_schedule(cells: Sequence[Cell], options: Options) -> Schedule:
    """Say what is done and what is left of the cells that were asked for."""
    return Schedule(cells, options.jobs, Shelf(options.published) if options.published else None)


def _begun(cell: Cell) -> bool:
    return RunFolder(cell.folder).config.is_file()


def span(seconds: float) -> str:
    """Return a time in words that suit its length."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


class Variant(NamedTuple):
    """A row of a table: its name in print, and the cells that it is the mean of, one a seed."""

    title: str
    cells: tuple[Cell, ...]


def variant(options: Options, model: str, mark: str, title: str, *assignments: str) -> Variant:
    """Return a model with settings of its own; `mark` tells its folders from those of the model alone.

    Settings that are the model's anyway change nothing: then the cells are those that the model has in every
    experiment on the same folder.
    """
    same = options.config(model, 1, *assignments) == options.config(model, 1)
    return Variant(
        title, tuple(row_cells(options, model, model if same else f"{model}-{mark}", *assignments))
    )


def plain(options: Options, model: str) -> Variant:
    """Return a model as it is."""
    return Variant(title_of(model), tuple(row_cells(options, model)))


def all_cells(variants: Iterable[Variant]) -> list[Cell]:
    """Return the cells of all rows, each once."""
    return list({cell.folder: cell for one in variants for cell in one.cells}.values())


def rows_of(variants: Iterable[Variant], results: Sequence[CellResult]) -> list[CellResult]:
    """Return the finished cells of each row under the row's name; one that rows share, for each of them."""
    done = {result.folder: result for result in results}
    return [
        replace(done[cell.folder], row=one.title)
        for one in variants
        for cell in one.cells
        if cell.folder in done
    ]
