"""One table for each kind of named thing: models, encoders, searches, rewards, metrics and presets.

Pure data. Names in help, validation, JSON, tables, plots, pages and reports come from the rows, and so do the
tests that every model, encoder, search, reward and metric must pass. An implementation is named as
`module:name` and imported when it is first used. docs/extending.md shows how to add a row of each kind.

Corpora, file formats, studies and benchmarks have tables of their own, where they live. These are in one
file, long as it is, since rows name each other: a model its encoder, a reward its metric, a preset its base.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from seq2set.core.names import find_named


class Style(NamedTuple):
    """How a model looks in plots: colours that people with any colour vision can tell apart, dash, marker."""

    colour: str
    dash: str
    marker: str


class Model(NamedTuple):
    """A model: where its code is, what it reads, and how it appears."""

    title: str
    """its name in tables and plots"""
    summary: str
    family: Literal["linear", "likelihood", "set"]
    """fitted by liblinear; a network trained by likelihood; a network with a self-critical phase too"""
    sections: frozenset[str]
    """the sections of the settings that it reads, of those that not every model reads"""
    style: Style
    tagger: str = "seq2set.models.neural:NeuralTagger"
    """the class that restores a saved model"""
    fit: str = "seq2set.training.train_network:train_network"
    """the function that trains one"""
    network: str = ""
    """of a network: `build(config, words, labels, max_labels) -> Network`"""
    encoder: str = ""
    """of a network: the encoder that it always has; without one it has that of the setting `encoder.kind`"""
    onnx: str = ""
    """of a network: the class that makes its ONNX graphs and runs them; without one it cannot be exported"""
    is_baseline: bool = True
    seeded_by: Mapping[str, tuple[str, ...]] | None = None
    """of a linear model: the values of settings under which the seed matters; without any it never does"""
    learns_lessons: bool = True
    """whether it can learn from a teacher how likely labels are, see seq2set.labels.lessons"""


class EncoderKind(NamedTuple):
    """What reads a text for a network."""

    summary: str
    build: str
    """`build(config, tokens) -> Encoder`, where `tokens` is the size of the vocabulary"""
    sections: frozenset[str] = frozenset()
    """the sections of the settings that it reads, beside `encoder`"""
    tokens: str = ""
    """`open(config) -> OwnTokens`: how a text becomes its tokens; without one they are words"""
    graph: str = ""
    """`add(graph) -> EncoderValues`: the same as an ONNX graph; without one it cannot be exported"""


class Search(NamedTuple):
    """A way to search a decoder for a set of labels."""

    summary: str
    find: str
    """`find(policy, settings, most) -> SearchResult`"""
    decides: bool
    """whether it gives a set by itself; otherwise a threshold decides on the scores that it gives"""
    setting: str = ""
    """the search setting that says how many hypotheses it keeps per document; none: one"""
    wider: int = 1
    """how many times as many it really keeps"""


class Reward(NamedTuple):
    """What a sampled set is rewarded by in self-critical training."""

    summary: str
    of: str
    """`of(predicted, actual) -> reward` on indicator tensors (.., L)"""
    metric: str = ""
    """the metric that it pays for, where there is one"""
    needs_run: bool = False
    """whether it also takes `so_far`, the running values of the training"""


class Metric(NamedTuple):
    """A measure of label sets, computed from counts that add up over batches."""

    title: str
    summary: str
    of: str
    """`of(counts) -> float`, see seq2set.labels.metrics.Counts"""
    short: str = ""
    """its heading in narrow tables"""
    better: Literal["higher", "lower"] = "higher"
    digits: int = 3
    in_paper: bool = False
    """whether the paper's tables have it"""
    shown: bool = True
    """whether terminal, report, model card and page show it; JSON has every metric"""
    tunable: bool = False
    """whether thresholds and settings can be tuned for it"""
    of_totals: bool = False
    """whether `of` takes arrays of totals too, as `seq2set.labels.metrics.CutTotals` has them"""
    label_thresholds: str = ""
    """`find(choice) -> thresholds`, see seq2set.labels.label_thresholds.LabelChoice; none: not per label"""
    is_macro: bool = False
    """whether it is tuned as a mean over labels, in which rare ones count as much as others"""


class Preset(NamedTuple):
    """A file of settings under config/presets."""

    summary: str
    base: str = ""
    """the preset that its settings are laid over, if any"""
    adds_vectors: bool = False
    """whether it adds the vectors of a pretrained encoder to that one"""


class Runtime(NamedTuple):
    """What runs a model that is in use."""

    summary: str


_LINEAR = frozenset({"features", "linear"})
_NETWORK = frozenset({"encoder", "training", "search"})
_DECODER = _NETWORK | {"decoder", "label_order"}
_SET = _DECODER | _LINEAR | {"set_decoder", "prior", "objective", "warm_start", "self_critical"}
_ONNX_SET = "seq2set.inference.onnx_networks:OnnxSetNetwork"

MODELS: dict[str, Model] = {
    "br": Model(
        "BR",
        "Binary relevance: one linear classifier per label on TF-IDF features",
        "linear",
        _LINEAR,
        Style("#009E73", "--", "D"),
        "seq2set.models.br:BinaryRelevance",
        "seq2set.models.br:train_br",
    ),
    "cc": Model(
        "CC",
        "Classifier chains: linear classifiers on TF-IDF features, each of which sees the labels before it",
        "linear",
        _LINEAR | {"chain"},
        Style("#E69F00", ":", "v"),
        "seq2set.models.cc:ClassifierChains",
        "seq2set.models.cc:train_cc",
        seeded_by={"chain.order": ("random", "ensemble")},
        learns_lessons=False,
    ),
    "lp": Model(
        "LP",
        "Label powerset: one linear classifier per label combination on TF-IDF features",
        "linear",
        _LINEAR | {"powerset"},
        Style("#56B4E9", ":", "<"),
        "seq2set.models.lp:LabelPowerset",
        "seq2set.models.lp:train_lp",
        learns_lessons=False,
    ),
    "cnn": Model(
        "CNN",
        "CNN: convolution of several widths over the words, and one sigmoid per label",
        "likelihood",
        _NETWORK | {"cnn", "likelihood"},
        Style("#CC79A7", "-.", "P"),
        network="seq2set.models.cnn:build_cnn",
        encoder="convolution",
        onnx="seq2set.inference.onnx_networks:OnnxCnn",
    ),
    "cnn-rnn": Model(
        "CNN-RNN",
        "CNN-RNN: convolution over the words starts a recurrent network that emits one label after another",
        "likelihood",
        _DECODER | {"cnn", "likelihood"},
        Style("#666666", "-.", "X"),
        network="seq2set.models.cnn_rnn:build_cnn_rnn",
        encoder="convolution",
        onnx="seq2set.inference.onnx_networks:OnnxCnnRnn",
    ),
    "seq2seq": Model(
        "Seq2Seq",
        "Seq2Seq (SGM): an encoder and an attention decoder trained by likelihood on ordered labels",
        "likelihood",
        _DECODER | {"likelihood"},
        Style("#000000", "--", "^"),
        network="seq2set.models.seq2set:build_simplified",
        onnx=_ONNX_SET,
    ),
    "seq2set-simp": Model(
        "Seq2Set (simp.)",
        "Seq2Set, simplified: an encoder and a set decoder trained by self-critical policy gradient",
        "set",
        _SET,
        Style("#0072B2", "-", "s"),
        network="seq2set.models.seq2set:build_simplified",
        onnx=_ONNX_SET,
        is_baseline=False,
    ),
    "seq2set": Model(
        "Seq2Set",
        "Seq2Set: an encoder, a sequence decoder, and a set decoder trained by self-critical policy gradient",
        "set",
        _SET,
        Style("#D55E00", "-", "o"),
        network="seq2set.models.seq2set:build_seq2set",
        onnx=_ONNX_SET,
        is_baseline=False,
    ),
}
"""The models in the order of the paper's tables."""

ENCODERS: dict[str, EncoderKind] = {
    "bilstm": EncoderKind(
        "word vectors and a bidirectional LSTM, as in the paper",
        "seq2set.nn.encoders.bilstm:build_bilstm",
        graph="seq2set.inference.graphs.encoders:add_bilstm",
    ),
    "convolution": EncoderKind(
        "word vectors and filters over windows of words, sized by the section `cnn`",
        "seq2set.nn.encoders.convolution:build_convolution",
        frozenset({"cnn"}),
        graph="seq2set.inference.graphs.encoders:add_convolution",
    ),
    "transformer": EncoderKind(
        "a pretrained transformer on sub-words, as it is or tuned; `encoder.pretrained` names it",
        "seq2set.nn.encoders.transformer:build_transformer",
        tokens="seq2set.nn.pretrained.subwords:open_subwords",
    ),
}

SEARCHES: dict[str, Search] = {
    "greedy": Search(
        "the likeliest label at each step", "seq2set.nn.decoding.searches:find_greedy", decides=True
    ),
    "beam": Search(
        "the likeliest of several sequences",
        "seq2set.nn.decoding.searches:find_beam",
        decides=True,
        setting="width",
    ),
    "set-beam": Search(
        "the likeliest of several sets, whose orders count together (approximate)",
        "seq2set.nn.decoding.searches:find_set_beam",
        decides=True,
        setting="width",
        wider=4,
    ),
    "marginal": Search(
        "each label's probability over many sampled sets, for a threshold to decide",
        "seq2set.nn.decoding.searches:find_marginals",
        decides=False,
        setting="samples",
    ),
}

SCORING = "marginal"
"""The search whose scores a rule decides, and the name of those that models without a decoder give"""

REWARDS: dict[str, Reward] = {
    "f1": Reward("the F1 of the set, as in the paper", "seq2set.objectives.rewards:f1", "example_f1"),
    "hamming": Reward("1 - hamming loss", "seq2set.objectives.rewards:hamming", "hamming_loss"),
    "jaccard": Reward("shared labels over all labels", "seq2set.objectives.rewards:jaccard"),
    "micro_f1": Reward(
        "what the set adds to the micro-F1 of the run so far",
        "seq2set.objectives.rewards:micro_f1",
        "micro_f1",
        needs_run=True,
    ),
    "subset_accuracy": Reward(
        "1 for exactly the true set, else 0", "seq2set.objectives.rewards:subset_accuracy", "subset_accuracy"
    ),
}

PARTS: dict[str, Mapping[str, Any]] = {"encoder": ENCODERS, "search": SEARCHES, "reward": REWARDS}
"""What a model is made of, by what JSON, model card and report call it"""

_METRICS = "seq2set.labels.metrics:"

METRICS: dict[str, Metric] = {
    "hamming_loss": Metric(
        "hamming loss",
        "share of wrong decisions; lower is better",
        _METRICS + "hamming_loss",
        "HL",
        "lower",
        4,
        in_paper=True,
        tunable=True,
        of_totals=True,
        label_thresholds="seq2set.labels.label_thresholds:minimise_hamming_loss",
    ),
    "micro_precision": Metric(
        "micro-precision",
        "share of given labels that are right",
        _METRICS + "micro_precision",
        "P",
        in_paper=True,
    ),
    "micro_recall": Metric(
        "micro-recall", "share of true labels that are given", _METRICS + "micro_recall", "R", in_paper=True
    ),
    "micro_f1": Metric(
        "micro-F1",
        "precision and recall in one, over all decisions",
        _METRICS + "micro_f1",
        "F1",
        in_paper=True,
        tunable=True,
        of_totals=True,
        label_thresholds="seq2set.labels.label_thresholds:maximise_micro_f1",
    ),
    "macro_precision": Metric(
        "macro-precision", "mean precision of all labels", _METRICS + "macro_precision", shown=False
    ),
    "macro_recall": Metric(
        "macro-recall", "mean recall of all labels", _METRICS + "macro_recall", shown=False
    ),
    "macro_f1": Metric(
        "macro-F1",
        "every label counts the same",
        _METRICS + "macro_f1",
        "macro-F1",
        tunable=True,
        label_thresholds="seq2set.labels.label_thresholds:maximise_macro_f1",
        is_macro=True,
    ),
    "example_f1": Metric(
        "example F1",
        "every document counts the same",
        _METRICS + "example_f1",
        "example F1",
        tunable=True,
        label_thresholds="seq2set.labels.label_thresholds:climb_example_f1",
    ),
    "subset_accuracy": Metric(
        "subset accuracy",
        "documents with exactly the true set",
        _METRICS + "subset_accuracy",
        "subset",
        tunable=True,
        label_thresholds="seq2set.labels.label_thresholds:climb_subset_accuracy",
    ),
}
"""The metrics in the order of the paper's tables, then the others."""

PRESETS: dict[str, Preset] = {
    "compact": Preset("trains 10,000 documents in minutes on a laptop CPU; with options beyond the paper"),
    "linear": Preset(
        "compact, for --model br: terms and rule chosen on validation, for rare labels too", "compact"
    ),
    "paper-aapd": Preset("the paper's sizes for AAPD"),
    "paper-rcv1": Preset("the paper's sizes for RCV1-V2"),
    "paper-small": Preset("the paper's method at sizes that a CPU trains overnight"),
    "pretrained": Preset(
        "compact, which also reads the vectors of a small pretrained encoder: `make weights`", "compact", True
    ),
    "best": Preset(
        "pretrained, three networks together: three times its training and prediction", "pretrained"
    ),
}

RUNTIMES: dict[str, Runtime] = {
    "auto": Runtime("torch where it is installed, else ONNX Runtime"),
    "torch": Runtime("torch, on the model's weights"),
    "onnx": Runtime("ONNX Runtime, on the graphs that `seq2set export` makes; imports no torch"),
}


def find_model(name: str) -> Model:
    """Return a model's row, or say which models there are."""
    return find_named("model", name, MODELS)


def reads(model: str, setting: str, encoder: str = "") -> bool:
    """Say whether a model, with this encoder if it can be chosen, reads a setting such as `cnn.filters`."""
    row, section = find_model(model), setting.partition(".")[0]
    if setting == "encoder.kind":
        return "encoder" in row.sections and not row.encoder
    if setting == "ensemble":
        return bool(row.network)
    chosen = ENCODERS.get(encoder) if "encoder" in row.sections and not row.encoder else None
    optional = any(section in one.sections for one in MODELS.values())
    return not optional or section in row.sections or (chosen is not None and section in chosen.sections)


def describe_parts(names: Mapping[str, str]) -> dict[str, str]:
    """Say of each part of a model, given by name, what it is."""
    return {part: f"{name}: {PARTS[part][name].summary}" for part, name in names.items()}


def find_scoring_search(name: str) -> str:
    """Return the search whose scores a rule decides for a model of this one: itself, if it gives no set."""
    return SCORING if SEARCHES[name].decides else name


def is_better(value: float, than: float, metric: str) -> bool:
    """Say whether a value of a metric beats another."""
    return value < than if METRICS[metric].better == "lower" else value > than


def list_tunable() -> dict[str, Metric]:
    """Return the metrics that thresholds and settings can be tuned for."""
    return {name: row for name, row in METRICS.items() if row.tunable}


def list_shown() -> dict[str, Metric]:
    """Return the metrics that terminal, report, model card and page show."""
    return {name: row for name, row in METRICS.items() if row.shown}
