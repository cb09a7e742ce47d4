"""Every setting of a run: frozen sections whose types say what is allowed and whose docstrings are the help.

A setting is written `section.name`, in TOML files and after `--set` alike. Sections stand in the order of a
document's way: data and text, the linear models, the networks, their training, and how they predict. All are
in this one long file since it is read like a table: whoever looks for a setting need not know its section.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from seq2set.config.catalog import ENCODERS, METRICS, MODELS, PRESETS, REWARDS, SEARCHES
from seq2set.core.names import OneOf

Positive = Annotated[int, Field(ge=1)]
NotNegative = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Size = Annotated[int, Field(ge=1, le=65_536)]
"""Of a layer: more would not fit into the memory of any machine"""
Layers = Annotated[int, Field(ge=1, le=64)]
Several = Annotated[int, Field(ge=1, le=10_000)]
"""Of what is held in memory at a time, or started"""
Batch = Annotated[int, Field(ge=1, le=65_536)]
"""Of documents that are computed together"""
Words = Annotated[int, Field(ge=1, le=1_000_000)]
"""Of one text: more stand in no document, and in no memory at a time"""
Entries = Annotated[int, Field(ge=1, le=100_000_000)]
"""Of a table of words, terms or labels that are kept: far more than there are"""
PositiveReal = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Settings(BaseModel):
    """What all sections share: frozen, no unknown keys."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_default=True,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
    )


class DataSettings(Settings):
    """The corpus that a run learns from, and how its files are read."""

    corpus: str = ""
    """A prepared folder, the name of a known corpus, a file, or a folder in the AAPD layout."""
    text: str = "text"
    """The column that holds the text; several have commas between; `doc.body` is a key inside a column."""
    labels: str = "labels"
    """The column that holds the labels; `tags[].name` is a key of each object of a list."""
    label_columns: str = ""
    """Columns of zeros and ones that are called after labels, with commas between or a pattern (`is_*`)."""
    id: str = "id"
    """The column that holds the documents' identifiers; counted where it is absent or this is empty."""
    separator: Annotated[str, Field(min_length=1)] = "auto"
    """What stands between the labels of one document, where they are one text; `auto` finds `;`, `|`, line
    ends and commas."""
    delimiter: str = ""
    """What stands between the cells of a CSV or TSV file; by default what the header suggests."""
    sheet: str = ""
    """The sheet of an Excel file; by default the first."""
    strip_html: bool = False
    """Remove HTML tags from texts, and replace entities by their characters."""
    plain_quotes: bool = False
    """Take quotation marks in CSV and TSV files for letters, not for marks around cells."""
    group: str = ""
    """The column whose equal values belong together, such as one author's; groups are never split."""
    split: str = "auto"
    """The column that names each document's split; `auto` takes one called `split`, `subset`, `set` or
    `partition` whose values all name a split, and nothing (`""`) splits anew."""
    valid: str | int | float = ""
    """Validation documents of plain files: a number, a share such as 0.1, or the file that holds them."""
    test: str | int | float = ""
    """Test documents of plain files: a number (0 for none), a share, or the file that holds them."""
    keep_missing: bool = False
    """Take `NaN`, `None`, `N/A` and the like, and cells of `NA` alone, for labels, not for missing ones."""
    encoding: str = "utf-8"
    """The character encoding of text files."""


class TextSettings(Settings):
    """How a text becomes words."""

    unit: Literal["word", "character"] = "word"
    """What a text is cut into; characters suit scripts without spaces, misspellings and codes, with
    `features.ngrams` of 3 to 5. Letters of Chinese, Japanese and Thai are words in any case."""
    lowercase: bool = True
    """Fold upper case to lower case."""
    unicode_form: Literal["NFC", "NFKC", "none"] = "NFKC"
    """The Unicode normal form that texts are brought to."""
    strip_accents: bool = False
    """Remove accents, so that `é` and `e` are one letter."""
    vocabulary_size: Entries = 100_000
    """How many words are known, the most frequent ones of the training split; the rest is `unk`."""
    min_frequency: Positive = 2
    """How often a word must occur in the training split to be known."""


class FeatureSettings(Settings):
    """The TF-IDF features of the linear models."""

    ngrams: Annotated[int, Field(ge=1, le=5)] = 2
    """The longest run of words that counts as one term."""
    min_documents: Positive = 2
    """In how many training documents a term must occur."""
    max_terms: Entries = 200_000
    """How many terms are kept, those that occur in the most documents."""
    sublinear: bool = True
    """Use 1 + log(count) instead of a term's count."""
    run_weight: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """What runs of several words weigh beside single words, each kind brought to a length of its own; 0
    brings all terms to one length together, in which the runs, being many and rare, weigh most."""
    vectors: str = ""
    """A pretrained encoder whose vectors of the texts stand beside the terms: a folder, a name in the cache,
    an installed package that carries one, or a hub's `owner/name`; none by default. Needs the extra
    `pretrained`."""
    vector_words: Words = 100
    """How many words of a text the encoder reads, in windows that overlap; the rest is left out of the
    vector, and how much that is is said."""
    vector_scale: PositiveReal = 0.02
    """What the standardised vectors are multiplied by: the larger, the more they weigh beside the terms."""


class LinearSettings(Settings):
    """The linear classifiers: one per label."""

    c: Annotated[tuple[PositiveReal, ...], Field(min_length=1)] = (0.1, 0.3, 1.0, 3.0, 10.0)
    """Values of the inverse regularisation strength to try, in ascending order, until the next one does
    no better on validation; the best is kept."""
    terms: Literal["given", "best"] = "given"
    """What `br` reads: the terms that the section features describe, or what is best on validation of words
    alone, runs of words that weigh half as much (`features.run_weight=0.5`), and both together."""
    tolerance: PositiveReal = 0.01
    """When the optimiser stops: smaller is more exact and slower. At 0.1 the classifiers still depend on the
    order in which the optimiser happened to visit the documents."""


class ChainSettings(Settings):
    """The classifier chains of `cc`."""

    order: Literal["frequency", "random", "ensemble"] = "frequency"
    """The order of the labels in a chain: by descending training frequency, drawn at random, or an ensemble
    of random chains whose scores are averaged."""
    chains: Several = 5
    """How many chains an ensemble has."""


class PowersetSettings(Settings):
    """The label combinations of `lp`: one class each."""

    max_combinations: Entries = 5_000
    """How many combinations are kept, the most frequent ones; a document of another counts for the largest
    kept part of its labels, or not at all where there is none."""
    min_documents: Positive = 1
    """How many training documents a combination must have to be kept."""
    max_features: Entries = 30_000
    """How many terms are kept, those that occur in the most documents; with many combinations, more would
    not fit into memory."""


class EncoderSettings(Settings):
    """The encoder that reads the words of a text."""

    kind: Annotated[str, OneOf(ENCODERS)] = "bilstm"
    """The encoder of `seq2seq`, `seq2set-simp` and `seq2set`; `cnn` and `cnn-rnn` have the convolution."""
    words: Entries = 50_000
    """How many of the known words have a vector, the most frequent ones; the rest is `unk` to it."""
    embedding: Size = 256
    """Size of a word vector."""
    hidden: Size = 256
    """Hidden units of the encoder; of `bilstm` per direction."""
    layers: Layers = 2
    """Layers of the encoder."""
    dropout: Share = 0.3
    """The share of units that training drops."""
    max_words: Words = 500
    """How many words of a text are read; the rest is ignored."""
    pretrained: str = ""
    """The pretrained encoder that `transformer` reads with, in windows that overlap: a folder, a name in the
    cache, an installed package that carries one, or a hub's `owner/name`. Needs the extra `pretrained`."""
    tune: Literal["none", "all"] | Layers = "none"
    """How many of its layers learn, from the top: `all`, and its sub-word vectors too, or `none`. Where it
    stays as it is, a saved model names it; else it has all its weights."""
    learning_rate: PositiveReal = 5e-5
    """Adam's learning rate of its top layer in every phase; the phase's own is that of the rest."""
    layer_decay: Annotated[float, Field(gt=0, le=1)] = 0.9
    """What its learning rate is multiplied by from a layer to the one below."""
    warm_up: Share = 0.1
    """In which share of a phase's updates its learning rate rises, from next to nothing."""
    unfreeze_every: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """After how many epochs, counted over all phases, a further layer begins to learn, from the top down to
    the sub-word vectors; 0 lets all that learn do so from the beginning."""
    cache_gigabytes: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 20.0
    """How much of the cache the states of an encoder that stays as it is may take, with those of earlier
    trainings, of which the oldest leave; 0 computes them again in every epoch."""


class CnnSettings(Settings):
    """The convolution of `cnn`, `cnn-rnn` and `encoder.kind`; word vectors are the encoder's settings."""

    widths: Annotated[tuple[Layers, ...], Field(min_length=1, max_length=64)] = (3, 4, 5)
    """How many words in a row the filters look at."""
    filters: Size = 128
    """Filters of each width."""
    dropout: Share = 0.5
    """The share of the filters' responses that training drops."""


class DecoderSettings(Settings):
    """The decoders: LSTMs that emit one label per step."""

    embedding: Size = 256
    """Size of a label vector."""
    hidden: Size = 512
    """Hidden units."""
    layers: Layers = 2
    """Layers of the LSTM."""
    attention: Annotated[int, Field(ge=0, le=65_536)] = 0
    """Units of each attention; 0 takes as many as hidden units."""
    dropout: Share = 0.3
    """The share of units that training drops."""
    global_embedding: bool = False
    """Let each step read all labels that were likely in the last one, not only the one emitted (SGM)."""


class SetDecoderSettings(Settings):
    """What the set decoder has that the sequence decoder has not."""

    train_sequence_decoder: bool = False
    """Let the set decoder's loss flow into the sequence decoder as well."""


class PriorSettings(Settings):
    """The linear prior: a linear model's scores on top of the set decoder's."""

    enabled: bool = False
    """Whether there is one; models other than `seq2set` and `seq2set-simp` ignore it."""
    terms: Literal["given", "best"] = "given"
    """What it reads: the terms that the section features describe, or the kind of terms, of those that
    `linear.terms` compares, and the value of `linear.c` that are best on a fold of the training documents."""
    c: PositiveReal = 1.0
    """The inverse regularisation strength of its classifiers, where the terms are given."""
    folds: Annotated[int, Field(ge=2, le=1_000)] = 4
    """In how many parts the training documents are split, each scored by a model that did not see it."""
    labels: Entries = 1000
    """How many labels have a classifier, the most frequent ones; each of the rest begins at its share of
    the training documents. Time and memory grow with it, while there is little to learn of rare labels."""


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
    reward: Annotated[str, OneOf(REWARDS)] = "f1"
    """What a sampled set is rewarded by."""
    baseline: Literal["greedy", "leave-one-out"] = "greedy"
    """What a reward is compared with: the greedy set's, or the mean of the document's other samples."""
    samples: Several = 1
    """Sampled sets per document."""
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

    batch_size: Batch = 64
    """Documents per update."""
    accumulate: Batch = 1
    """In how many parts a batch is computed, to save memory."""
    decay: Annotated[float, Field(gt=0, le=1)] = 0.5
    """What the learning rate is multiplied by after every epoch of the warm start and of the self-critical
    phase."""
    clip_norm: PositiveReal = 10.0
    """The largest norm of a gradient."""
    validate_every: Positive = 100
    """Updates between validations."""
    patience: NotNegative = 0
    """End a phase after this many validations without a better score; 0 never does."""
    averaging: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """How much of the running average of a phase's weights stays after an update, such as 0.98; it is the
    average that is validated and kept. 0 takes the weights as they are."""
    device: str = "auto"
    """Where to train: auto, cpu, cuda."""
    precision: Literal["32-true", "bf16-mixed"] = "32-true"
    """The numbers to compute with."""
    tensorboard: bool = False
    """Write the history's numbers for TensorBoard too, into the run's folder `tensorboard`; needs the extra
    `track`."""


class SearchSettings(Settings):
    """How the decoder is searched for a set of labels."""

    name: Annotated[str, OneOf(SEARCHES)] = "greedy"
    """The search that prediction uses unless asked for another, of all models with a decoder; `beam` is
    what the SGM model, `seq2seq`, was published with."""
    width: Several = 5
    """Hypotheses per document in beam searches."""
    samples: Several = 24
    """Sampled sets per document in marginal search."""
    temperature: PositiveReal = 1.0
    """The temperature of the policy that marginal search samples from."""


class DecisionSettings(Settings):
    """How scores become a set of labels."""

    metric: Annotated[str, OneOf(METRICS, lambda row: row.tunable)] = "micro_f1"
    """The metric on the validation split that thresholds are tuned for."""
    rule: Literal["global", "best", "balanced"] = "global"
    """Which rules are tried where the threshold is tuned: one threshold for all labels, or every kind, of
    which `best` keeps the best on held-out validation documents, and `balanced` the one of the highest
    macro-F1 of those that are not worse there than one threshold; `br` also tries thresholds per label that
    are cross-validated on training documents."""
    threshold: Annotated[float, Field(ge=0, le=1)] | Literal["tuned", "boundary"] = "tuned"
    """The score from which on a label is given: a number, `tuned` for the best on validation, or
    `boundary` for the classifier's own (a margin of zero). A number is one of the scores before they are
    calibrated: the model decides alike with and without."""
    calibrate: bool = True
    """Calibrate scores on validation at the end of training, so that they are probabilities."""


class Config(Settings):
    """All settings of a run."""

    model: Annotated[str, OneOf(MODELS)] = "seq2set"
    """Which model to train."""
    preset: Annotated[str, OneOf(PRESETS)] = "compact"
    """Which preset the settings started from."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 1
    """The seed of everything random in a run."""
    ensemble: Annotated[int, Field(ge=1, le=100)] = 1
    """How many networks are trained, with this seed and the ones after it; their scores are averaged. Needs
    the search `marginal` where there is a decoder. Linear models have no use for it."""
    threads: Several | Literal["auto"] = "auto"
    """How many CPU threads a process uses; `auto` takes one, or all cores where a network trains in one
    process and is seen to be faster with them."""
    workers: Several | Literal["auto"] = "auto"
    """How many processes train a network, or fit linear classifiers, together; `auto` takes one per core
    where there is enough to do, and as many as `threads` for classifiers, or one for a network, where that is
    a number."""
    # What a section holds stands at its class.
    data: DataSettings = DataSettings()
    text: TextSettings = TextSettings()
    features: FeatureSettings = FeatureSettings()
    linear: LinearSettings = LinearSettings()
    chain: ChainSettings = ChainSettings()
    powerset: PowersetSettings = PowersetSettings()
    encoder: EncoderSettings = EncoderSettings()
    cnn: CnnSettings = CnnSettings()
    decoder: DecoderSettings = DecoderSettings()
    set_decoder: SetDecoderSettings = SetDecoderSettings()
    label_order: LabelOrderSettings = LabelOrderSettings()
    prior: PriorSettings = PriorSettings()
    objective: ObjectiveSettings = ObjectiveSettings()
    warm_start: WarmStartSettings = WarmStartSettings()
    self_critical: SelfCriticalSettings = SelfCriticalSettings()
    likelihood: LikelihoodSettings = LikelihoodSettings()
    training: TrainingSettings = TrainingSettings()
    search: SearchSettings = SearchSettings()
    decision: DecisionSettings = DecisionSettings()

    def name_parts(self, search: str = "") -> dict[str, str]:
        """Name the encoder, the search (this one, if any is asked for) and the reward that the model has."""
        row = MODELS[self.model]
        encoder = {"encoder": row.encoder or self.encoder.kind} if row.network else {}
        decoder = {"search": search or self.search.name} if "decoder" in row.sections else {}
        return encoder | decoder | ({"reward": self.objective.reward} if "objective" in row.sections else {})
