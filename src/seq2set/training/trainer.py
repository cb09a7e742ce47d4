"""Random numbers that depend on the seed, the update and the process alone.

A resumed run thus draws the numbers that the uninterrupted one would have drawn, on any device and in any
number of processes, without a stored state.

The loop: the only one, for all networks, phases and devices.

A run is a list of phases. Every so many updates it looks at the validation split, keeps the best weights and
writes a checkpoint; a phase begins from the best weights of the one before. A run that was killed at any
moment goes on from its last checkpoint to the very same result.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import Tensor

from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import StoppedError, WorkError
from seq2set.core.files import copy_file, write_json
from seq2set.core.processes import Interruption
from seq2set.core.progress import Progress
from seq2set.objectives.rewards import RunningF1
from seq2set.text.batches import bucket_by_length, shard
from seq2set.training.checkpoint import (
    LAST,
    AveragedWeights,
    Place,
    best_file,
    load_checkpoint,
    load_weights,
    remove_leftovers,
    save_checkpoint,
    save_weights,
)
from seq2set.training.examples import EncodedExamples, Ints
from seq2set.training.history import Tally
from seq2set.training.step import Phase, Step


def reseed(sampling: torch.Generator, seed: int, update: int, process: int = 0) -> None:
    """Set the global generators, which dropout uses, and the one that sequences are sampled with."""
    left_out, drawn = np.random.SeedSequence([seed, update, process]).generate_state(2, np.uint32).tolist()
    torch.manual_seed(left_out)
    sampling.manual_seed(drawn)


class PhasePlan(NamedTuple):
    """One phase of a run."""

    name: Phase
    epochs: int
    learning_rate: float
    decay: float
    """What the learning rate is multiplied by after every epoch"""


@dataclass(frozen=True)
class LoopSettings:
    """How the loop runs, as flat values."""

    batch_size: int
    accumulate: int
    clip_norm: float
    validate_every: int
    patience: int
    averaging: float
    seed: int
    search: str = "greedy"
    """What validation decodes with; scores of different searches are not to be compared"""


class Trainer:
    """Trains a network over some phases."""

    def __init__(
        self,
        step: Step,
        examples: EncodedExamples,
        validate: Callable[[], float],
        phases: list[PhasePlan],
        settings: LoopSettings,
        run: RunFolder,
        progress: Progress,
        fabric: Fabric,
    ):
        self.network, self.examples, self.validate = step.network, examples, validate
        self.phases = [phase for phase in phases if phase.epochs]
        self.settings, self.run_folder, self.progress, self.fabric = settings, run, progress, fabric
        adam = torch.optim.Adam(step.parameters(), lr=1.0, fused=True)
        # Fabric moves the network to its device, wraps it for data parallelism, and scales mixed precision.
        self.step, self.optimizer = fabric.setup(step, adam)
        self.adam = adam
        self.averaged = AveragedWeights(self.network, settings.averaging)
        self.sampling = torch.Generator(device=fabric.device)
        self.tally = Tally()

    def run(self) -> Place:
        """Train to the end, from the beginning or from the last checkpoint, and load the best weights."""
        folder = self.run_folder.checkpoints
        place = load_checkpoint(folder, self.network, self.adam, self.averaged) or Place()
        self._clear_away_after(place)
        place = self._comparable(place)
        with Interruption() as interruption:
            while place.phase < len(self.phases):
                place = self._phase(place, self.phases[place.phase], interruption)
                place = self._next_phase(place)
        return place

    def _phase(self, place: Place, phase: PhasePlan, interruption: Interruption) -> Place:
        batches = math.ceil(len(self.examples) / self.settings.batch_size)
        with self.progress.stage(phase.name, phase.epochs * batches) as advance:
            advance(place.epoch * batches + place.batch)
            while place.epoch < phase.epochs and not self._tired(place):
                self._set_learning_rate(phase.learning_rate * phase.decay**place.epoch)
                plan = self._batches(place)
                while place.batch < len(plan) and not self._tired(place):
                    so_far = self._update(plan[place.batch], phase.name, place)
                    place = place.moved(batch=place.batch + 1, update=place.update + 1, so_far=so_far)
                    self.averaged.add(place.epoch * batches + place.batch)
                    if place.update % self.settings.validate_every == 0 or place.batch == len(plan):
                        place = self._look(place, phase)
                    advance(1, self.tally.status(place.best))
                    if self._agreed(interruption.asked):
                        self._stop(place)
                place = place.moved(epoch=place.epoch + 1, batch=0)
        return place

    def _batches(self, place: Place) -> list[Ints]:
        # Each epoch of each phase has a shuffle of its own, which a resumed run finds again.
        epoch = sum(phase.epochs for phase in self.phases[: place.phase]) + place.epoch
        return bucket_by_length(
            self.examples.lengths, self.settings.batch_size, seed=self.settings.seed, epoch=epoch
        )

    def _update(self, index: Ints, phase: Phase, place: Place) -> RunningF1:
        """One update on a batch, computed in parts; every document counts the same, whatever its part.

        Returns how well the samples of the run did so far, for the next update.
        """
        rank, processes = self.fabric.global_rank, self.fabric.world_size
        reseed(self.sampling, self.settings.seed, place.update, rank)
        own = shard([index], rank, processes)[0]
        # In a batch of fewer documents than processes, those left over compute one along for nothing.
        weight = processes / len(index) if rank < len(index) else 0.0
        parts, sums = np.array_split(own, min(self.settings.accumulate, len(own))), list[Tensor]()
        for number, part in enumerate(parts, start=1):
            with self.fabric.no_backward_sync(self.step, enabled=number < len(parts)):
                batch = self.examples.batch(part).to(self.fabric.device)
                losses = self.step(batch, phase, self.sampling, place.so_far)
                self._check_finite("the loss", losses.total, index)
                self.fabric.backward(losses.total * len(part) * weight)
            self.tally.add(losses, len(part))
            sums += [] if losses.sums is None else [losses.sums * (weight > 0)]
        norm = self.fabric.clip_gradients(
            self.step, self.optimizer, max_norm=self.settings.clip_norm, error_if_nonfinite=False
        )
        assert norm is not None  # only clipping by value has none
        self._check_finite("the gradient's norm", norm, index)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return place.so_far.after(self._of_all(sum(sums[1:], sums[0]))) if sums else place.so_far

    def _look(self, place: Place, phase: PhasePlan) -> Place:
        """Measure on validation, keep the weights if they are the best so far, and write a checkpoint."""
        began = time.perf_counter()
        with self.averaged.applied():
            score = self._score()
            better = score > place.best
            if better and self.fabric.is_global_zero:
                save_weights(self._best_file(place.update), self.network)
        place = place.moved(
            best=max(score, place.best),
            best_update=place.update if better else place.best_update,
            best_phase=phase.name if better else place.best_phase,
            waited=0 if better else place.waited + 1,
            records=place.records + 1,
        )
        if self.fabric.is_global_zero:
            self.run_folder.log(
                {
                    "phase": phase.name,
                    "epoch": place.epoch + 1,
                    "update": place.update,
                    "learning_rate": self.adam.param_groups[0]["lr"],
                    **self.tally.record(),
                    "micro_f1": score,
                    "search": self.settings.search,
                    "best_phase": place.best_phase,
                    "best_update": place.best_update,
                    "validation_seconds": round(time.perf_counter() - began, 3),
                }
            )
            self._save(place)
            self._remove_older_bests(place)
        self.tally.clear()
        return place

    def _comparable(self, place: Place) -> Place:
        """Complete the place of a run that an earlier version began, which noted less of its best score.

        There validation decoded greedily, and left out labels that training never saw; the best weights are
        measured again as it is done now.
        """
        if place.best_update < 0:
            return place.moved(search=self.settings.search)
        if not place.best_phase:
            looks = {look["update"]: str(look["phase"]) for look in self.run_folder.records()}
            place = place.moved(best_phase=looks.get(place.best_update, ""))
        if place.search == self.settings.search:
            return place
        own = {name: value.clone() for name, value in self.network.state_dict().items()}
        load_weights(self._best_file(place.best_update), self.network)
        score = self._score()
        self.network.load_state_dict(own)
        return place.moved(best=score, search=self.settings.search)

    def _score(self) -> float:
        """Let one process measure for all, so that all go on alike."""
        return float(self.fabric.broadcast(self.validate() if self.fabric.is_global_zero else 0.0))

    def _next_phase(self, place: Place) -> Place:
        """Go on from the best weights so far, with an optimiser that remembers nothing."""
        self.fabric.barrier()
        if place.best_update >= 0:
            load_weights(self._best_file(place.best_update), self.network)
        self.adam.state.clear()
        self.averaged.restart()
        place = place.moved(phase=place.phase + 1, epoch=0, batch=0, waited=0)
        if self.fabric.is_global_zero:
            self._save(place)
            if place.phase < len(self.phases):
                copy_file(self.run_folder.checkpoints / LAST, self.run_folder.beginning)
        return place

    def _stop(self, place: Place) -> None:
        if self.fabric.is_global_zero:
            self._save(place)
        raise StoppedError(
            f"stopped after update {place.update:,}; all is saved in {self.run_folder.path}, "
            "and the same command with --resume goes on"
        )

    def _check_finite(self, name: str, value: Tensor, index: Ints) -> None:
        """Stop before a batch spoils the weights, and leave its documents' ids."""
        if torch.isfinite(value):
            return
        path = self.run_folder.checkpoints / "not-finite.json"
        ids = [self.examples.ids[i] for i in index]
        write_json(path, {"what": name, "value": str(value.item()), "documents": ids})
        raise WorkError(
            f"{name} is {value.item()}; the documents of this batch are listed in {path}, "
            "and a smaller learning rate or gradient norm may help"
        )

    def _agreed(self, asked: bool) -> bool:
        """Tell whether any process was asked to stop, so that all stop after the same update."""
        if self.fabric.world_size == 1:
            return asked
        return bool(self._of_all(torch.tensor(float(asked), device=self.fabric.device)) > 0)

    def _of_all(self, own: Tensor) -> Tensor:
        """Sum over all processes."""
        return cast("Tensor", self.fabric.all_reduce(own, reduce_op="sum"))

    def _save(self, place: Place) -> None:
        save_checkpoint(self.run_folder.checkpoints, place, self.network, self.adam, self.averaged)

    def _tired(self, place: Place) -> bool:
        return 0 < self.settings.patience <= place.waited

    def _set_learning_rate(self, rate: float) -> None:
        for group in self.adam.param_groups:
            group["lr"] = rate

    def _best_file(self, update: int) -> Path:
        return best_file(self.run_folder.checkpoints, update)

    def _remove_older_bests(self, place: Place) -> None:
        """Remove what no checkpoint on disk refers to any more."""
        for path in self.run_folder.checkpoints.glob("best-*.safetensors"):
            if path != self._best_file(place.best_update):
                path.unlink()

    def _clear_away_after(self, place: Place) -> None:
        """Drop what a killed run wrote after its last checkpoint; it will be written again."""
        if self.fabric.is_global_zero:
            self.run_folder.truncate(place.records)
            remove_leftovers(self.run_folder.checkpoints)
        self.fabric.barrier()
