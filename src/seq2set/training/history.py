"""What a run records between two validations, and the same numbers as event files for TensorBoard."""

from __future__ import annotations

import shutil
import time
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seq2set.config import Config
from seq2set.config.run_folder import RunFolder, Watch
from seq2set.core.errors import import_extra
from seq2set.core.files import report_output_errors

if TYPE_CHECKING:  # it needs torch, which linear models do without
    from seq2set.training.step import Losses


class RunningMeans:
    """The mean losses and the speed since the last validation.

    `totals` are sums of this process until the trainer adds up those of all.
    """

    def __init__(self, processes: int = 1):
        self.processes = processes
        self.clear()

    def clear(self) -> None:
        """Start again."""
        import torch

        # documents, loss, documents that were rewarded, reward, signal
        self.totals = torch.zeros(5, dtype=torch.float64)
        self.began = time.perf_counter()

    def add(self, losses: Losses, documents: int) -> None:
        """Count a batch."""
        values = [documents, losses.total.item() * documents, 0.0, 0.0, 0.0]
        if losses.reward is not None and losses.signal is not None:
            values[2:] = [documents, losses.reward.item() * documents, losses.signal.item() * documents]
        self.totals += self.totals.new_tensor(values)

    def record(self) -> dict[str, float]:
        """Return the means and the speed for the history."""
        seconds = time.perf_counter() - self.began
        documents, loss, rewarded, reward, signal = self.totals.tolist()
        values = {"loss": loss / max(1, documents)}
        if rewarded:
            values |= {"reward": reward / rewarded, "signal": signal / rewarded}
        speed = round(documents / max(seconds, 1e-9), 2)
        return values | {"seconds": round(seconds, 3), "documents_per_second": speed}

    def status(self, best: float, threads: str = "") -> str:
        """Describe it in a few words for a progress bar; the other processes are as fast as this one."""
        now, some = self.record(), bool(self.totals[0])
        parts = [f"loss {now['loss']:.3f}"] if some else []
        parts += [f"reward {now['reward']:.3f}"] if "reward" in now else []
        parts += [f"validation F1 {best:.4f}"] if best >= 0 else []
        speed = f"{now['documents_per_second'] * self.processes:.0f} documents/s"
        among = f" in {self.processes} processes" if self.processes > 1 else ""
        parts += [speed + among] if some else []
        return ", ".join([*parts, threads] if threads else parts)


class TensorBoardWriter:
    """Keeps the folder `tensorboard` of a run up to date.

    The first record that a process adds writes the whole history, which a resumed run has cut back to its
    last checkpoint: so no point is written twice, and none that the run went back behind.
    """

    def __init__(self, run: RunFolder, watch: Watch | None = None):
        # Asked for before the training begins, not after its first hour.
        import_extra("tensorboard", "track")
        self.run, self.folder, self.watch = run, run.path / "tensorboard", watch
        self.writer: Any = None

    def __call__(self, number: int, record: dict[str, Any]) -> None:
        """Write one record, the first time also those before it, and tell who watches."""
        with report_output_errors(self.folder):
            if self.writer is None:
                if self.folder.is_dir():
                    shutil.rmtree(self.folder)
                self.writer = import_extra("torch.utils.tensorboard", "track").SummaryWriter(str(self.folder))
                for earlier, known in enumerate(self.run.records()[: number - 1], start=1):
                    self._write(earlier, known)
            self._write(number, record)
            # What the run writes next is a checkpoint, behind which a resumed run never starts.
            self.writer.flush()
        if self.watch is not None:
            self.watch(number, record)

    def _write(self, number: int, record: dict[str, Any]) -> None:
        """Write the numbers of a record, in curves named `phase/what`, over updates where it counts them."""
        step = record.get("update", number)
        for name, value in record.items():
            if isinstance(value, Real) and name not in ("update", "best_update"):
                self.writer.add_scalar(f"{record['phase']}/{name}", float(value), step)


def add_tensorboard(config: Config, folder: Path, watch: Watch | None) -> Watch | None:
    """Write for TensorBoard before telling who watches a run already, where the settings ask for it."""
    return TensorBoardWriter(RunFolder(folder), watch) if config.training.tensorboard else watch
