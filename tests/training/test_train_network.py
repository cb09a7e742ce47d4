"""From examples to a tagger: devices, precision, threshold, and the corpus's label tree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from seq2set.config import build_config, load_config
from seq2set.config.run_folder import RunFolder, find_kept_weights
from seq2set.core.errors import ConfigError, InputError
from seq2set.core.progress import Silent
from seq2set.corpora.documents import Document
from seq2set.corpora.prepare import prepare
from seq2set.corpora.splits import SplitPlan
from seq2set.labels.thresholds import find_threshold
from seq2set.models.network import build_network
from seq2set.models.neural import NeuralTagger
from seq2set.models.predictions import Request
from seq2set.models.tagger import Examples
from seq2set.nn.decoding.rollout import roll_out_greedily, sample
from seq2set.nn.decoding.teacher_forcing import score_sequences
from seq2set.nn.encoders import bilstm as encoder
from seq2set.objectives.rewards import f1
from seq2set.text.batches import bucket_by_length
from seq2set.text.vocabulary import UNK, Words
from seq2set.training import train_network as networks
from seq2set.training.data_parallel import start_fabric
from seq2set.training.examples import encode_examples
from seq2set.training.train_network import train_network
from seq2set.training.trainer import reseed
from seq2set.workflows.training_data import load_training_data
from tiny_networks import tiny_config, tiny_examples, trained


@pytest.mark.parametrize(
    ("device", "sentence"),
    [
        ("cuda", "training.device is 'cuda', but there is no CUDA device here; use 'cpu' or 'auto'"),
        ("tpu", "training.device is 'tpu'; it must be 'auto', 'cpu' or 'cuda'"),
    ],
)
def test_a_device_that_is_not_there(monkeypatch: pytest.MonkeyPatch, device: str, sentence: str) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match=sentence):
        start_fabric(tiny_config(f"training.device={device}"))


def test_the_device_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert start_fabric(tiny_config("training.device=auto")).device.type == "cpu"


def test_no_threads_are_refused() -> None:
    with pytest.raises(ConfigError, match="threads is 0; it must be"):
        build_config(assignments=["threads=0"])


def test_no_epochs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="warm_start.epochs and self_critical.epochs are 0; one .* be >= 1"):
        trained(tmp_path, tiny_config("warm_start.epochs=0"))


@pytest.mark.parametrize("phase", ["warm_start", "self_critical"])
def test_one_phase_is_enough(tmp_path: Path, phase: str) -> None:
    other = "self_critical" if phase == "warm_start" else "warm_start"
    trained(tmp_path, tiny_config(f"{phase}.epochs=1", f"{other}.epochs=0"))
    assert {record["phase"] for record in RunFolder(tmp_path).records()} == {phase.replace("_", "-")}


@pytest.mark.parametrize("model", ["seq2set", "seq2set-simp"])
def test_without_a_warm_start_the_policy_gradient_begins_from_random_weights(
    tmp_path: Path, model: str
) -> None:
    settings = ("warm_start.epochs=0", "self_critical.epochs=1", "training.batch_size=20")
    config = tiny_config(*settings, "self_critical.learning_rate=1e-12", "objective.lambda=0.8", model=model)
    tagger = trained(tmp_path, config)  # one update, too small to move anything
    (record,) = RunFolder(tmp_path).records()
    torch.manual_seed(config.seed)
    network = build_network(config, len(tagger.words), 4, tagger.network.max_labels)
    for name, value in tagger.network.state_dict().items():
        assert torch.allclose(value, network.state_dict()[name], atol=1e-9)
    examples = encode_examples(tiny_examples(), config, tagger.words, tagger.labels, None)
    order = bucket_by_length(examples.lengths, 20, seed=config.seed, epoch=0)[0]
    batch, sampling = examples.batch(order), torch.Generator()
    reseed(sampling, config.seed, 0)
    policies = network(batch.ids, batch.lengths)
    drawn = sample(policies.final, generator=sampling, max_steps=network.max_labels)
    best = roll_out_greedily(policies.final, max_steps=network.max_labels)
    advantage = f1(drawn.masks(4)[:, 0], batch.gold) - f1(best.masks(4), batch.gold)
    loss = -(advantage * drawn.log_prob[:, 0]).mean().item()  # eq. 10
    if model == "seq2set":
        likelihood = -score_sequences(policies.sequence, batch.sequences).log_prob.mean().item()
        assert likelihood > 1
        loss = 0.2 * likelihood + 0.8 * loss  # eq. 14
    assert record["phase"] == "self-critical"
    assert abs(loss) > 0.01
    assert record["loss"] == pytest.approx(loss, abs=1e-5)


def test_half_precision_learns_the_same(tmp_path: Path) -> None:
    settings = ["warm_start.epochs=15", "training.decay=1.0", "self_critical.epochs=1"]
    scores = []
    for precision in ("32-true", "bf16-mixed"):
        tagger = trained(tmp_path / precision, tiny_config(*settings, f"training.precision={precision}"))
        assert all(weight.dtype == torch.float32 for weight in tagger.network.parameters())
        losses = [record["loss"] for record in RunFolder(tmp_path / precision).records()]
        scores.append((losses[0], losses[14]))
    assert scores[0][1] < scores[0][0] / 2
    assert scores[1] == pytest.approx(scores[0], rel=0.1)
    assert scores[1] != scores[0]


@pytest.mark.parametrize(("model", "notes"), [("seq2set-simp", 1), ("cnn", 0)])
def test_a_cpu_without_a_half_precision_lstm_runs_it_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, notes: int
) -> None:
    monkeypatch.setattr(encoder, "has_bf16_lstm", lambda: False)
    kinds = set()
    real = torch.lstm
    monkeypatch.setattr(torch, "lstm", lambda *given: kinds.add(given[0].dtype) or real(*given))
    said: list[str] = []

    class Notes(Silent):
        def note(self, sentence: str) -> None:
            said.append(sentence)

    config = tiny_config("training.precision=bf16-mixed", "self_critical.epochs=1", model=model)
    learn = tiny_examples()
    train_network(config, learn, learn, RunFolder.start(tmp_path, config), Notes())
    sentence = (
        "training.precision is 'bf16-mixed', but this CPU cannot run an LSTM in bfloat16: the encoder's LSTM "
        "runs in 32 bits"
    )
    assert said.count(sentence) == notes
    assert kinds == ({torch.float32} if notes else set())


def test_whether_there_is_a_half_precision_lstm_is_tried_without_a_trace() -> None:
    encoder.has_bf16_lstm.cache_clear()
    before = torch.get_rng_state()
    with torch.inference_mode():
        assert encoder.has_bf16_lstm() in (True, False)
    assert torch.equal(before, torch.get_rng_state())
    try:
        with torch.autocast("cpu", torch.bfloat16):
            torch.nn.LSTM(3, 2)(torch.ones(4, 2, 3))[0].sum().backward()
        works = True
    except RuntimeError:
        works = False
    assert encoder.has_bf16_lstm() == works


def test_the_threshold_is_tuned_given_or_the_middle(tmp_path: Path) -> None:
    for wanted, expected in (("boundary", 0.5), ("0.3", 0.3)):
        tagger = trained(tmp_path / wanted, tiny_config(f"decision.threshold={wanted}"))
        assert tagger.rule.thresholds == (expected,)
    config, examples = tiny_config("warm_start.epochs=8", "training.decay=1.0"), tiny_examples(15, seed=9)
    tuned = trained(tmp_path / "tuned", config, valid=examples)
    actual = tuned.labels.indicator(examples.label_sets).toarray()
    scores = tuned.infer(examples.texts, Request(search="marginal")).scores

    def reached(threshold: float) -> float:
        given = scores >= np.float32(threshold)
        return float(2 * (given & actual).sum() / (given.sum() + actual.sum()))

    assert reached(tuned.rule.thresholds[0]) == max(reached(value) for value in np.unique(scores))
    assert reached(tuned.rule.thresholds[0]) > reached(0.5) - 1e-9
    learnt = tiny_examples()
    known = tuned.infer(learnt.texts, Request(search="marginal")).scores
    by_heart = find_threshold(known, tuned.labels.indicator(learnt.label_sets), "micro_f1").value
    assert reached(by_heart) < reached(tuned.rule.thresholds[0])  # the training documents would say another


def test_words_are_those_of_the_training_documents(tmp_path: Path) -> None:
    valid = tiny_examples(12, seed=2)
    valid = Examples([f"{text} zebra" for text in valid.texts], valid.label_sets, valid.ids)
    for name, settings in (("plain", ()), ("prior", ("prior.enabled=true",))):
        config = tiny_config(*settings)
        tagger = trained(tmp_path / name, config, valid=valid)
        ((before, strange),) = tagger.words.encode(["wheat zebra"])
        assert strange == UNK != before
        assert len(tagger.words) == len(Words.build(tiny_examples().texts, **config.text.model_dump()))


def test_a_model_names_the_terms_that_its_prior_chose(tmp_path: Path) -> None:
    learn = tiny_examples()
    order = [text.split() for text in learn.texts]
    pairs = Examples(
        [
            f"wheat oil {rest[0]}" if number % 2 else f"oil wheat {rest[0]}"
            for number, rest in enumerate(order)
        ],
        [("grain",) if number % 2 else ("oil",) for number in range(len(order))],
    )
    asked = tiny_config("prior.enabled=true", "prior.terms=best", "features.ngrams=1")
    tagger = train_network(asked, pairs, pairs, RunFolder.start(tmp_path / "run", asked), Silent())
    assert (tagger.config.features.ngrams, tagger.config.features.run_weight) == (2, 0.5)
    again = NeuralTagger.from_state(tagger.state())
    texts = ["wheat oil", "oil wheat"]
    found = [one.infer(texts, Request(search="marginal")).scores for one in (tagger, again)]
    assert np.array_equal(*found)
    assert load_config(tmp_path / "run/config.toml") == asked  # so that a run goes on as it was begun


def test_the_corpus_gives_the_label_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [
        Document(str(number), f"some words here {number}", ("root", "leaf")[: 1 + number % 2])
        for number in range(8)
    ]
    documents += [Document(str(number), f"other words {number}", ("leaf",)) for number in range(8, 40)]
    notes = {"tree": {"root": None, "middle": "root", "leaf": "middle"}}
    plan = SplitPlan("random", 0.2, 0.2, 1)
    corpus = prepare(documents, tmp_path / "c", name="c", source="s", licence="n", plan=plan, notes=notes)
    learn, tune = load_training_data(corpus, Silent())
    assert learn.depths == tune.depths == {"root": 0, "middle": 1, "leaf": 2}

    seen = []
    real = networks.encode_examples
    monkeypatch.setattr(networks, "encode_examples", lambda *given: seen.append(real(*given)) or seen[-1])
    config = tiny_config("label_order.kind=tree")
    tagger = train_network(config, learn, tune, RunFolder.start(tmp_path / "run", config), Silent())
    assert tagger.labels.names == ("leaf", "root")  # the leaf is the more frequent one
    pairs = [row.tolist() for row in seen[0].sequences if len(row) == 2]
    assert pairs
    assert all(row == [1, 0] for row in pairs)


def test_a_seed_gives_the_same_network_twice(tmp_path: Path) -> None:
    settings = ("encoder.dropout=0.3", "self_critical.epochs=1", "prior.enabled=true")
    weights = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        torch.rand(len(weights))  # whatever happened before
        tagger = trained(tmp_path / name, tiny_config(*settings, f"seed={seed}"))
        weights.append(torch.cat([value.flatten() for value in tagger.network.state_dict().values()]))
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def micro_f1(tagger: NeuralTagger, valid: Examples, request: Request) -> float:
    """Count a tagger's sets against all labels of the documents, known to it or not."""
    chosen = tagger.infer(valid.texts, request).chosen
    given = [set(tagger.labels.decode(row)) for row in chosen]
    right = sum(len(one & set(true)) for one, true in zip(given, valid.label_sets, strict=True))
    return 2 * right / (sum(map(len, given)) + sum(map(len, valid.label_sets)))


def test_validation_scores_the_search_in_use(tmp_path: Path) -> None:
    valid, scores = tiny_examples(40, seed=9), {}
    for search in ("greedy", "beam", "marginal"):
        settings = ("warm_start.epochs=4", "training.decay=1.0", f"search.name={search}")
        tagger = trained(tmp_path / search, tiny_config(*settings), valid=valid)
        best = max(RunFolder(tmp_path / search).records(), key=lambda look: look["micro_f1"])
        assert best["search"] == search
        # The marginals' threshold is the one that was tuned on the same documents.
        assert best["micro_f1"] == pytest.approx(micro_f1(tagger, valid, Request()), abs=1e-9)
        scores[search] = best["micro_f1"]
    assert len({round(score, 6) for score in scores.values()}) == 3


def test_weights_are_kept_by_the_search_in_use(tmp_path: Path) -> None:
    """Of all looks the kept one is the best by marginals, whatever greedy decoding would say."""
    settings = ["warm_start.epochs=6", "training.validate_every=1", "encoder.dropout=0.4"]
    kept = {}
    for search in ("greedy", "marginal"):
        config = tiny_config(*settings, f"search.name={search}")
        trained(tmp_path / search, config, valid=tiny_examples(40, seed=9))
        kept[search] = find_kept_weights(RunFolder(tmp_path / search).records())["update"]
    losses = [
        [look["loss"] for look in RunFolder(tmp_path / search).records()] for search in ("greedy", "marginal")
    ]
    assert losses[0] == losses[1]  # looking changes nothing but what is kept
    assert kept["greedy"] != kept["marginal"]


@pytest.mark.parametrize("search", ["greedy", "marginal"])
def test_validation_counts_labels_that_training_never_saw(tmp_path: Path, search: str) -> None:
    valid = tiny_examples(40, seed=9)
    strange = Examples(valid.texts, [(*labels, "new", "newer") for labels in valid.label_sets], valid.ids)
    config = tiny_config("warm_start.epochs=4", "training.decay=1.0", f"search.name={search}")
    plain = trained(tmp_path / "plain", config, valid=valid)
    other = trained(tmp_path / "strange", config, valid=strange)
    seen = [
        max(look["micro_f1"] for look in RunFolder(tmp_path / one).records()) for one in ("plain", "strange")
    ]
    assert seen[0] == pytest.approx(micro_f1(plain, valid, Request()), abs=1e-9)
    assert seen[1] == pytest.approx(micro_f1(other, strange, Request()), abs=1e-9)
    assert seen[1] < seen[0] - 0.1
