"""What happened since the last look at the validation split."""

from __future__ import annotations

import time

from seq2set.training.step import Losses


class Tally:
    """Running means of the losses, and speed."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Begin anew."""
        self.loss = self.reward = self.signal = 0.0
        self.documents = self.rewarded = 0
        self.began = time.perf_counter()

    def add(self, losses: Losses, documents: int) -> None:
        """Count a batch."""
        self.loss += losses.total.item() * documents
        self.documents += documents
        if losses.reward is not None and losses.signal is not None:
            self.reward += losses.reward.item() * documents
            self.signal += losses.signal.item() * documents
            self.rewarded += documents

    def record(self) -> dict[str, float]:
        """Return the means and the speed for the history."""
        seconds = time.perf_counter() - self.began
        values = {"loss": self.loss / max(1, self.documents)}
        if self.rewarded:
            values |= {"reward": self.reward / self.rewarded, "signal": self.signal / self.rewarded}
        speed = round(self.documents / max(seconds, 1e-9), 2)
        return values | {"seconds": round(seconds, 3), "documents_a_second": speed}

    def status(self, best: float) -> str:
        """Describe it in a few words for a progress bar."""
        now = self.record()
        parts = [f"loss {now['loss']:.3f}"] if self.documents else []
        parts += [f"reward {now['reward']:.3f}"] if "reward" in now else []
        parts += [f"validation F1 {best:.4f}"] if best >= 0 else []
        parts += [f"{now['documents_a_second']:.0f} documents/s"] if self.documents else []
        return ", ".join(parts)
