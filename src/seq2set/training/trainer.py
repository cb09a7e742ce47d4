"""The training loop: the only one, for all networks, phases and devices.

A run is a list of phases. Every `validate_every` updates the network is measured on the validation split,
the best weights are kept and a checkpoint is written; a phase begins from the best weights of the one
before. A run that was killed at any moment resumes from its last checkpoint to the very same result: random
numbers depend on the seed, the update and the document alone or, where one process was asked for, on seed
and update.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import Tensor

from seq2set.config.run_folder import RunFolder
from seq2set.config.run_locks import check_lock
from seq2set.config.schema import TrainingSettings
from seq2set.core.errors import StoppedError, WorkError
from seq2set.core.files import copy_file, write_json
from seq2set.core.processes import Interruption
from seq2set.core.progress import Progress
from seq2set.nn.noise import derive_keys
from seq2set.objectives.rewards import RunningF1
from seq2set.text.batches import bucket_by_length, shard
from seq2set.training.checkpoint import (
    LAST,
    AveragedWeights,
    Position,
    find_best_weights,
    load_checkpoint,
    load_weights,
    remove_leftovers,
    save_checkpoint,
    save_weights,
)
from seq2set.training.examples import EncodedExamples, Ints
from seq2set.training.history import RunningMeans
from seq2set.training.learning_rates import LearningRates, PhasePlan, drop_gradients, hold_still, touch
from seq2set.training.step import Phase, TrainingStep
from seq2set.training.thread_choice import ThreadChoice


def reseed(sampling: torch.Generator, seed: int, update: int, process: int = 0) -> None:
    """Seed the global generators, which dropout uses, and the one that sequences are sampled with."""
    dropout, samples = np.random.SeedSequence([seed, update, process]).generate_state(2, np.uint32).tolist()
    torch.manual_seed(dropout)
    sampling.manual_seed(samples)


class Trainer:
    """Trains a network over some phases; `measure` returns its score on validation, decoded by `search`."""

    def __init__(
        self,
        step: TrainingStep,
        examples: EncodedExamples,
        measure: Callable[[], float],
        phases: list[PhasePlan],
        settings: TrainingSettings,
        run: RunFolder,
        progress: Progress,
        fabric: Fabric,
        *,
        seed: int,
        search: str = "greedy",
        threads: int | str = 1,
        keyed: bool = False,
    ):
        self.network, self.examples, self.measure = step.network, examples, measure
        self.phases = [phase for phase in phases if phase.epochs]
        self.settings, self.seed, self.search = settings, seed, search
        self.run_folder, self.progress, self.fabric = run, progress, fabric
        self.batches = math.ceil(len(examples) / settings.batch_size)
        self.rates = LearningRates(step.network.encoder.list_rates(), self.batches)
        adam = torch.optim.Adam(self.rates.group_weights(step), lr=1.0, fused=True)
        # Fabric moves the network to its device, wraps it for data parallelism, and scales mixed precision.
        self.step, self.optimizer = fabric.setup(step, adam)
        self.adam = adam
        self.averaged = AveragedWeights(self.network, settings.averaging)
        self.sampling = torch.Generator(device=fabric.device)
        self.means = RunningMeans(fabric.world_size)
        self.threads, self.lengths, self.keyed = ThreadChoice(threads), examples.lengths, keyed

    def run(self) -> Position:
        """Train to the end, from the beginning or from the last checkpoint, and load the best weights."""
        folder = self.run_folder.checkpoints
        position = load_checkpoint(folder, self.network, self.adam, self.averaged) or Position()
        # What a killed run wrote after its last checkpoint will be written again.
        if self.fabric.is_global_zero:
            self.run_folder.truncate(position.records)
            remove_leftovers(self.run_folder.checkpoints)
        self.fabric.barrier()
        if late := self.rates.describe_late(sum(phase.epochs for phase in self.phases)):
            self.progress.note(late)
        with Interruption() as interruption:
            while position.phase < len(self.phases):
                position = self._train_phase(position, self.phases[position.phase], interruption)
                position = self._end_phase(position)
        return position

    def _train_phase(self, position: Position, phase: PhasePlan, interruption: Interruption) -> Position:
        batches = self.batches
        with self.progress.stage(phase.name, phase.epochs * batches) as advance:
            advance(position.epoch * batches + position.batch)
            while position.epoch < phase.epochs and not self._out_of_patience(position):
                # Each epoch of each phase has a shuffle of its own, which a resumed run finds again.
                epoch = self._count_epochs(position)
                plan = bucket_by_length(self.lengths, self.settings.batch_size, seed=self.seed, epoch=epoch)
                while position.batch < len(plan) and not self._out_of_patience(position):
                    index = plan[position.batch]
                    self.rates.set(self.adam, phase, position)
                    with self.threads.apply(int(self.lengths[index].sum())):
                        so_far = self._update(index, phase.name, position)
                    position = position.move(
                        batch=position.batch + 1, update=position.update + 1, so_far=so_far
                    )
                    self.averaged.add(position.epoch * batches + position.batch)
                    if position.update % self.settings.validate_every == 0 or position.batch == len(plan):
                        position = self._validate(position, phase)
                    advance(1, self.means.status(position.best, self.threads.describe()))
                    if self._ask_all_processes(interruption.asked):
                        self._stop(position)
                position = position.move(epoch=position.epoch + 1, batch=0)
        return position

    def _count_epochs(self, position: Position) -> int:
        return sum(phase.epochs for phase in self.phases[: position.phase]) + position.epoch

    def _update(self, index: Ints, phase: Phase, position: Position) -> RunningF1:
        """Update the weights on a batch, computed in parts; every document counts the same.

        Returns how well the samples of the run did so far, for the next update.
        """
        rank, processes = self.fabric.global_rank, self.fabric.world_size
        reseed(self.sampling, self.seed, position.update, rank)
        own = shard([index], rank, processes)[0]
        # In a batch of fewer documents than processes, extra ranks process one document with weight 0.
        weight = processes / len(index) if rank < len(index) else 0.0
        waiting = self.rates.list_waiting(position.update)
        parts, sums = np.array_split(own, min(self.settings.accumulate, len(own))), list[Tensor]()
        for number, part in enumerate(parts, start=1):
            with self.fabric.no_backward_sync(self.step, enabled=number < len(parts)):
                batch = self.examples.batch(part, self._count_epochs(position)).to(self.fabric.device)
                keys = derive_keys(self.seed, position.update, part).to(self.fabric.device)
                with hold_still(waiting):
                    losses = self.step(
                        batch, phase, self.sampling, position.so_far, keys if self.keyed else None
                    )
                self._check_finite("the loss", losses.total, index)
                loss = losses.total * len(part) * weight
                self.fabric.backward(loss + touch(waiting) if waiting and processes > 1 else loss)
            if weight:
                self.means.add(losses, len(part))
            sums += [] if losses.sums is None else [losses.sums * (weight > 0)]
        drop_gradients(waiting)
        norm = self.fabric.clip_gradients(
            self.step, self.optimizer, max_norm=self.settings.clip_norm, error_if_nonfinite=False
        )
        assert norm is not None  # only clipping by value has none
        self._check_finite("the gradient's norm", norm, index)
        self.optimizer.step()
        self.optimizer.zero_grad()
        if not sums:
            return position.so_far
        return position.so_far.after(self._sum_over_processes(sum(sums[1:], sums[0])))

    def _validate(self, position: Position, phase: PhasePlan) -> Position:
        """Measure on validation, keep the weights if they are the best so far, and write a checkpoint."""
        began = time.perf_counter()
        with self.averaged.apply():
            # All measure and believe the first process, so that all continue alike.
            score = float(self.fabric.broadcast(self.measure()))
            better = score > position.best
            if better and self.fabric.is_global_zero:
                save_weights(self._find_best_weights(position.update), self.network)
        position = position.move(records=position.records + 1, waited=position.waited + 1)
        if better:
            position = position.move(best=score, best_update=position.update, best_phase=phase.name, waited=0)
        if self.fabric.world_size > 1:
            self.means.totals = self._sum_over_processes(self.means.totals)
        if self.fabric.is_global_zero:
            self.run_folder.log(
                {
                    "phase": phase.name,
                    "epoch": position.epoch + 1,
                    "update": position.update,
                    "learning_rate": self.adam.param_groups[0]["lr"],
                    **self.means.record(),
                    "micro_f1": score,
                    "search": self.search,
                    "best_phase": position.best_phase,
                    "best_update": position.best_update,
                    "validation_seconds": round(time.perf_counter() - began, 3),
                    "workers": self.fabric.world_size,
                    "threads": self.threads.threads,
                    **({"threads_reason": self.threads.reason} if self.threads.reason else {}),
                }
            )
            self._save(position)
            # Remove what no checkpoint on disk refers to any more.
            for path in self.run_folder.checkpoints.glob("best-*.safetensors"):
                if path != self._find_best_weights(position.best_update):
                    path.unlink()
        self.means.clear()
        return position

    def _end_phase(self, position: Position) -> Position:
        """Load the best weights so far for the next phase, with a fresh optimiser."""
        self.fabric.barrier()
        if position.best_update >= 0:
            load_weights(self._find_best_weights(position.best_update), self.network)
        self.adam.state.clear()
        self.averaged.restart()
        position = position.move(phase=position.phase + 1, epoch=0, batch=0, waited=0)
        if self.fabric.is_global_zero:
            self._save(position)
            if position.phase < len(self.phases):
                copy_file(self.run_folder.checkpoints / LAST, self.run_folder.beginning)
        return position

    def _stop(self, position: Position) -> None:
        if self.fabric.is_global_zero:
            self._save(position)
        raise StoppedError(
            f"stopped after update {position.update:,}; checkpoint saved in {self.run_folder.path}; "
            "rerun with --resume"
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

    def _ask_all_processes(self, asked: bool) -> bool:
        """Say whether any process was asked to stop, so that all stop after the same update."""
        if self.fabric.world_size == 1:
            return asked
        return bool(self._sum_over_processes(torch.tensor(float(asked), device=self.fabric.device)) > 0)

    def _sum_over_processes(self, own: Tensor) -> Tensor:
        return cast("Tensor", self.fabric.all_reduce(own, reduce_op="sum"))

    def _save(self, position: Position) -> None:
        check_lock(self.run_folder.path)
        save_checkpoint(self.run_folder.checkpoints, position, self.network, self.adam, self.averaged)

    def _out_of_patience(self, position: Position) -> bool:
        return 0 < self.settings.patience <= position.waited

    def _find_best_weights(self, update: int) -> Path:
        return find_best_weights(self.run_folder.checkpoints, update)
