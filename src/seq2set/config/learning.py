"""How networks learn: the order of labels, the objectives, the phases and the loop."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from seq2set.config.base import NotNegative, Positive, PositiveReal, Settings, Share


class LabelOrderSettings(Settings):
    """The order of labels that the sequence decoder learns."""

    kind: Literal["descending", "ascending", "tree", "given", "shuffled"] = "descending"
    """By training frequency, parents before children, as given, or shuffled for each document."""
    given: tuple[str, ...] = ()
    """The labels in their order, where it is given; labels that are not named come last."""


class ObjectiveSettings(Settings):
    """What training minimises."""

    lambda_: Share = Field(default=0.95, alias="lambda")
    """The weight of the set decoder's loss; the rest is the sequence decoder's."""
    reward: Literal["f1", "hamming", "jaccard", "micro_f1", "subset_accuracy"] = "f1"
    """What a sampled set is rewarded by."""
    baseline: Literal["greedy", "leave-one-out"] = "greedy"
    """What a reward is compared with: the greedy set's, or the mean of the document's other samples."""
    samples: Positive = 1
    """Sampled sets a document."""
    temperature: PositiveReal = 1.0
    """The temperature of the policy that the self-critical phase trains. Below 1, samples stay near the
    greedy set, and learning changes what greedy decoding gives rather than how sharp the policy is."""
    likelihood_share: Share = 0.0
    """The share of likelihood mixed into the set decoder's loss."""


class WarmStartSettings(Settings):
    """Likelihood training before the self-critical phase."""

    epochs: NotNegative = 10
    """Epochs of it."""
    learning_rate: PositiveReal = 3e-4
    """Adam's learning rate at the beginning."""
    likelihood: Literal["ordered", "order-free"] = "ordered"
    """What the set decoder learns: the label order, or any label that is still right."""


class SelfCriticalSettings(Settings):
    """The self-critical phase."""

    epochs: NotNegative = 5
    """Epochs of it."""
    learning_rate: PositiveReal = 3e-4
    """Adam's learning rate at the beginning."""


class LikelihoodSettings(Settings):
    """The one phase of the models that learn by likelihood alone: `cnn`, `cnn-rnn` and `seq2seq`."""

    epochs: Positive = 10
    """Epochs of it."""
    learning_rate: PositiveReal = 1e-3
    """Adam's learning rate at the beginning."""
    decay: Annotated[float, Field(gt=0, le=1)] = 0.7
    """What the learning rate is multiplied by after every epoch."""


class TrainingSettings(Settings):
    """The training loop."""

    batch_size: Positive = 64
    """Documents an update."""
    accumulate: Positive = 1
    """In how many parts a batch is computed, to save memory."""
    decay: Annotated[float, Field(gt=0, le=1)] = 0.5
    """What the learning rate is multiplied by after every epoch of the warm start and of the self-critical
    phase."""
    clip_norm: PositiveReal = 10.0
    """The largest norm of a gradient."""
    validate_every: Positive = 100
    """Updates between looks at the validation split."""
    patience: NotNegative = 0
    """End a phase after so many looks without a better score; 0 never does."""
    averaging: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """How much of the running average of a phase's weights stays after an update, such as 0.98; validation
    looks at the average, and keeps it. 0 takes the weights as they are."""
    device: str = "auto"
    """Where to train: auto, cpu, cuda."""
    precision: Literal["32-true", "bf16-mixed"] = "32-true"
    """The numbers to compute with."""
    tensorboard: bool = False
    """Write the history's numbers for TensorBoard too, into the run's folder `tensorboard`; needs the extra
    `track`."""
