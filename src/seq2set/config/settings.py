"""All settings of a run: what can be named, how it predicts, and the other sections put together.

A setting is written `section.name`, in TOML files and after `--set` alike. Its docstring in its section is
what the help and the documentation show.
"""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field

from seq2set.config.base import Positive, PositiveReal, Settings
from seq2set.config.learning import (
    LabelOrderSettings,
    LikelihoodSettings,
    ObjectiveSettings,
    SelfCriticalSettings,
    TrainingSettings,
    WarmStartSettings,
)
from seq2set.config.linear import ChainSettings, FeatureSettings, LinearSettings, PowersetSettings
from seq2set.config.networks import (
    CnnSettings,
    DecoderSettings,
    EncoderSettings,
    PriorSettings,
    SetDecoderSettings,
)
from seq2set.config.texts import DataSettings, TextSettings

ModelName = Literal["br", "cc", "lp", "cnn", "cnn-rnn", "seq2seq", "seq2set", "seq2set-simp"]
MODELS: tuple[str, ...] = get_args(ModelName)
"""The names of the models, as `--model` takes them."""

PresetName = Literal["compact", "paper-aapd", "paper-rcv1", "paper-small"]
PRESETS: tuple[str, ...] = get_args(PresetName)
"""The names of the presets, as `--preset` takes them."""

Metric = Literal["micro_f1", "macro_f1", "example_f1", "hamming_loss", "subset_accuracy"]


class SearchSettings(Settings):
    """How the decoder is searched for a set of labels."""

    name: Literal["greedy", "beam", "set-beam", "marginal"] = "greedy"
    """The search that prediction uses unless asked for another, of all models with a decoder; `beam` is
    what the SGM model, `seq2seq`, was published with."""
    width: Positive = 5
    """Hypotheses a document in beam searches."""
    samples: Positive = 24
    """Sampled sets a document in marginal search."""
    temperature: PositiveReal = 1.0
    """The temperature of the policy that marginal search samples from."""


class DecisionSettings(Settings):
    """How scores become a set of labels."""

    metric: Metric = "micro_f1"
    """The metric on the validation split that tuning looks at."""
    threshold: Annotated[float, Field(ge=0, le=1)] | Literal["tuned", "boundary"] = "tuned"
    """The score from which on a label is given: a number, `tuned` for the best on validation, or
    `boundary` for the classifier's own (a margin of zero)."""


class Config(Settings):
    """All settings of a run."""

    model: ModelName = "seq2set"
    """Which model to train."""
    preset: PresetName = "compact"
    """Which preset the settings started from."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 1
    """The seed of everything random in a run."""
    threads: Positive | Literal["auto"] = "auto"
    """How many CPU threads to use; `auto` takes all cores."""
    data: DataSettings = DataSettings()
    """The corpus that a run learns from."""
    text: TextSettings = TextSettings()
    """How a text becomes words."""
    features: FeatureSettings = FeatureSettings()
    """The TF-IDF features of the linear models."""
    linear: LinearSettings = LinearSettings()
    """The linear classifiers."""
    chain: ChainSettings = ChainSettings()
    """The classifier chains of `cc`."""
    powerset: PowersetSettings = PowersetSettings()
    """The label combinations of `lp`."""
    encoder: EncoderSettings = EncoderSettings()
    """The encoder: word vectors and a bidirectional LSTM."""
    cnn: CnnSettings = CnnSettings()
    """The convolution of `cnn` and `cnn-rnn`."""
    decoder: DecoderSettings = DecoderSettings()
    """The decoders: LSTMs that emit one label a step."""
    set_decoder: SetDecoderSettings = SetDecoderSettings()
    """What the set decoder has that the sequence decoder has not."""
    label_order: LabelOrderSettings = LabelOrderSettings()
    """The order of labels that the sequence decoder learns."""
    prior: PriorSettings = PriorSettings()
    """The linear prior: a linear model's scores on top of the set decoder's."""
    objective: ObjectiveSettings = ObjectiveSettings()
    """What training minimises."""
    warm_start: WarmStartSettings = WarmStartSettings()
    """Likelihood training before the self-critical phase."""
    self_critical: SelfCriticalSettings = SelfCriticalSettings()
    """The self-critical phase."""
    likelihood: LikelihoodSettings = LikelihoodSettings()
    """The one phase of `cnn`, `cnn-rnn` and `seq2seq`."""
    training: TrainingSettings = TrainingSettings()
    """The training loop."""
    search: SearchSettings = SearchSettings()
    """How the decoder is searched for a set of labels."""
    decision: DecisionSettings = DecisionSettings()
    """How scores become a set of labels."""
