from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from seq2set.config import build_config
from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import InputError
from seq2set.core.progress import Silent
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.evaluation.measure import evaluate_tagger
from seq2set.inference.model_folder import load_model
from seq2set.inference.predictor import Predictor
from seq2set.labels.calibration import fit_sigmoid
from seq2set.labels.rules import make_global_rule
from seq2set.labels.thresholds import find_threshold
from seq2set.models.br import BinaryRelevance, train_br
from seq2set.models.linear.classifiers import fit_linear
from seq2set.models.linear.matrices import list_term_kinds
from seq2set.models.predictions import Request
from seq2set.models.tagger import Examples, get_fit_function
from seq2set.text.tfidf import TfidfFeatures, encode_blocks
from seq2set.text.vocabulary import Words
from seq2set.workflows.training_data import load_examples


def settings(*assignments: str, seed: int = 1):
    return build_config(model="br", assignments=[f"seed={seed}", "features.min_documents=1", *assignments])


def test_it_learns_what_the_words_show(br_run: RunFolder, small_corpus: PreparedCorpus) -> None:
    result = evaluate_tagger(load_model(br_run.path), small_corpus.split("test"))
    assert result.metrics["micro_f1"] > 0.95


def test_evidence_names_the_words_of_the_label(br_run: RunFolder) -> None:
    text = "The report said: Wheat and bushels of wheat, in a year of harvest."
    ((suggestion,),) = Predictor.open(br_run.path).predict([text], Request(explain=True, words_per_label=3))
    assert suggestion.label == "grain"
    assert {word.word.lower() for word in suggestion.evidence} == {"wheat", "bushels", "harvest"}
    for word in suggestion.evidence:
        assert text[word.start : word.end] == word.word
    weights = [word.weight for word in suggestion.evidence]
    assert weights == sorted(weights, reverse=True)
    assert 0 < sum(weights) <= 1 + 1e-6


def test_terms_without_a_letter_are_no_words() -> None:
    texts = ["wheat 1987 ."] * 3 + ["crude 1987 ."] * 3
    words = Words.build(
        texts, vocabulary_size=9, min_frequency=1, lowercase=True, unicode_form="NFC", strip_accents=False
    )
    features = TfidfFeatures.fit(words, list(encode_blocks(words, texts)), ngrams=2)
    matrix = features.transform(["1987 .", "wheat", "", "zzz 1987", "zzz . wheat"])
    # "1987", "." and "1987 ." are terms; a text of them alone has a feature, but no word.
    assert (np.diff(matrix.indptr) > 0).tolist() == [True, True, False, True, True]
    assert features.has_words(matrix).tolist() == [False, True, False, False, True]


def test_a_text_of_nothing_known(br_run: RunFolder) -> None:
    answers = Predictor.open(br_run.path).predict(["", "zzz qqq", " \n"], Request(explain=True, min_labels=1))
    assert [len(answer) for answer in answers] == [1, 1, 1]
    assert answers[0][0].evidence == ()


def test_the_same_seed_gives_the_same_model(tmp_path: Path, small_corpus: PreparedCorpus) -> None:
    learn, tune = load_examples(small_corpus.split("train")), load_examples(small_corpus.split("valid"))
    one, two = (
        train_br(settings(), learn, tune, RunFolder.start(tmp_path / name, settings()), Silent())
        for name in "ab"
    )
    assert np.array_equal(one.scorer.weights, two.scorer.weights)
    assert one.rule == two.rule


def test_no_seed_changes_the_model(tmp_path: Path, small_corpus: PreparedCorpus) -> None:
    """One training stands for all seeds, as the statistics of experiments take it."""
    learn, tune = load_examples(small_corpus.split("train")), load_examples(small_corpus.split("valid"))
    fitted = []
    for seed in (1, 2):
        config = settings("decision.rule=best", "linear.c=[1.0]", seed=seed)
        run = RunFolder.start(tmp_path / str(seed), config)
        tagger = train_br(config, learn, tune, run, Silent())
        fitted.append((tagger.rule, {path.name: path.read_bytes() for path in run.checkpoints.iterdir()}))
    assert len(fitted[0][1]) == 4  # on all documents, and without each of three folds
    assert fitted[0] == fitted[1]


def test_a_stopped_run_goes_on_to_the_same_result(tmp_path: Path, small_corpus: PreparedCorpus) -> None:
    learn, tune = load_examples(small_corpus.split("train")), load_examples(small_corpus.split("valid"))
    config = settings("linear.c=[0.01, 0.1, 1]")
    whole = train_br(config, learn, tune, RunFolder.start(tmp_path / "whole", config), Silent())

    class Stopper(Silent):
        stages = 0

        def stage(self, title, total=None):  # type: ignore[no-untyped-def]
            Stopper.stages += 1
            if Stopper.stages == 3:  # the features, the first C, and then the power goes
                raise KeyboardInterrupt
            return super().stage(title, total)

    run = RunFolder.start(tmp_path / "stopped", config)
    with pytest.raises(KeyboardInterrupt):
        train_br(config, learn, tune, run, Stopper())
    assert [record["c"] for record in run.records()] == [0.01]
    kept = run.checkpoints / "linear-c-0.01.safetensors"
    written = kept.read_bytes()
    kept.write_bytes(written[:-1] + bytes([written[-1] ^ 1]))
    with pytest.raises(InputError, match=r"0\.01\.safetensors is damaged \(its content is not what was"):
        train_br(config, learn, tune, RunFolder.start(run.path, config, resume=True), Silent())
    kept.write_bytes(written)
    stamp = (run.checkpoints / "linear-c-0.01.safetensors").stat().st_mtime_ns
    resumed = train_br(config, learn, tune, RunFolder.start(run.path, config, resume=True), Silent())
    assert (run.checkpoints / "linear-c-0.01.safetensors").stat().st_mtime_ns == stamp
    assert np.array_equal(resumed.scorer.weights, whole.scorer.weights)
    assert (resumed.rule, resumed.c) == (whole.rule, whole.c)
    assert [record["c"] for record in run.records()] == [
        record["c"] for record in RunFolder(tmp_path / "whole").records()
    ]


def test_the_threshold_can_be_given(tmp_path: Path, small_corpus: PreparedCorpus) -> None:
    learn, tune = load_examples(small_corpus.split("train")), load_examples(small_corpus.split("valid"))
    fixed = settings("decision.threshold=0.25", "linear.c=[1]")
    model = train_br(fixed, learn, tune, RunFolder.start(tmp_path / "fixed", fixed), Silent())
    assert model.rule == make_global_rule(0.25)
    own = settings('decision.threshold="boundary"', "linear.c=[1]")
    model = train_br(own, learn, tune, RunFolder.start(tmp_path / "own", own), Silent())
    # A margin of zero has the probability sigmoid(offset).
    assert model.rule.thresholds[0] == pytest.approx(1 / (1 + np.exp(-model.sigmoid.offset)), abs=1e-6)


def test_the_search_over_c_stops_when_it_no_longer_pays(tmp_path: Path, small_corpus: PreparedCorpus) -> None:
    learn, tune = load_examples(small_corpus.split("train")), load_examples(small_corpus.split("valid"))
    config = settings("linear.c=[10, 1, 100, 1000]")
    run = RunFolder.start(tmp_path / "run", config)
    model = train_br(config, learn, tune, run, Silent())
    tried = [(record["c"], record["micro_f1"]) for record in run.records()]
    assert [c for c, _ in tried] == sorted(c for c, _ in tried)
    assert tried[-1][1] <= max(f1 for _, f1 in tried[:-1])
    assert model.c == max(tried, key=lambda pair: pair[1])[0]


def test_labels_that_all_or_no_documents_have() -> None:
    features = csr_matrix(np.eye(3))
    targets = csr_matrix(np.array([[1, 0], [1, 0], [1, 0]]))
    done: list[int] = []
    scorer = fit_linear(settings(), features, targets, 1, done.append)
    assert scorer.margins(features).tolist() == [[1, -1]] * 3
    assert sum(done) == 2


def test_one_label_in_every_document(tmp_path: Path) -> None:
    texts = ["wheat", "corn", "barley", "rye"]
    config = settings("text.min_frequency=1")
    every = Examples(texts, [("grain",)] * 4)
    model = train_br(config, every, every, RunFolder.start(tmp_path / "run", config), Silent())
    assert [row.tolist() for row in model.infer(["any rye"], Request()).chosen] == [[0]]


@pytest.mark.parametrize("model", ["br", "cc", "lp"])
def test_training_counts_validation_labels_that_it_never_saw(
    model: str, small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    learn, tune = load_examples(small_corpus.split("train")), load_examples(small_corpus.split("valid"))
    tune = Examples(tune.texts, [(*labels, "whaling") for labels in tune.label_sets])
    config = build_config(model=model, assignments=["linear.c=[1]"])
    run = RunFolder.start(tmp_path / "run", config)
    tagger = get_fit_function(model)(config, learn, tune, run, Silent())
    (record,) = run.records()
    assert record["micro_f1"] == evaluate_tagger(tagger, tune).metrics["micro_f1"]
    # 32 documents miss one label each, so that recall is at most 1 - 32 / all labels.
    labels = sum(map(len, tune.label_sets))
    assert record["micro_recall"] <= (labels - 32) / labels


def test_sigmoid_and_threshold_are_those_of_the_validation_documents(tmp_path: Path) -> None:
    learn = Examples(
        ["wheat harvest", "crude barrels", "wheat crude", "bank"] * 5, [("a",), ("b",), ("a", "b"), ()] * 5
    )
    tune = Examples(
        ["wheat", "wheat bank", "crude", "harvest crude", "bank"], [("a",), (), ("b",), ("a",), ("b",)]
    )
    config = settings("linear.c=[1.0]")
    tagger = train_br(config, learn, tune, RunFolder.start(tmp_path, config), Silent())
    found = []
    for part in (tune, learn):
        margins, right = (
            tagger.scorer.margins(tagger.features.transform(part.texts)),
            tagger.labels.indicator(part.label_sets),
        )
        sigmoid = fit_sigmoid(margins, right.toarray())
        found.append((sigmoid, find_threshold(sigmoid(margins), right, "micro_f1").value))
    assert found[0][0] != found[1][0]
    assert found[0][1] != pytest.approx(found[1][1])
    assert tagger.sigmoid == found[0][0]
    assert tagger.rule.thresholds == pytest.approx((found[0][1],))


def test_the_kind_of_rule_is_chosen_for_the_metric(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    train, valid = (load_examples(small_corpus.split(name)) for name in ("train", "valid"))
    config = settings("decision.metric=macro_f1", "decision.rule=best")
    run = RunFolder.start(tmp_path / "run", config)
    tagger = train_br(config, train, valid, run, Silent())
    assert len(list(run.checkpoints.glob("linear-fold-*.safetensors"))) == 3
    plain_config = settings("decision.metric=macro_f1")
    plain = train_br(plain_config, train, valid, RunFolder.start(tmp_path / "plain", plain_config), Silent())
    chosen, fixed = (evaluate_tagger(one, valid).metrics["macro_f1"] for one in (tagger, plain))
    assert plain.rule.kind == "global"
    assert chosen >= fixed - 0.05
    # A run that was stopped after its folds reads them back, to the same rule.
    assert train_br(config, train, valid, run, Silent()).rule == tagger.rule


def test_terms_are_chosen_beside_c(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    train, valid = (load_examples(small_corpus.split(name)) for name in ("train", "valid"))
    config = build_config(preset="linear", model="br", assignments=["linear.c=[0.1, 1]"])
    run = RunFolder.start(tmp_path / "run", config)
    tagger = train_br(config, train, valid, run, Silent())
    records = run.records()
    assert list(dict.fromkeys(one["terms"] for one in records)) == ["words", "weighed", "together"]
    best = max(records, key=lambda one: one["micro_f1"])  # the first of equals
    assert (tagger.c, tagger.config.features) == (
        best["c"],
        list_term_kinds(config)[best["terms"]].features,
    )
    # What was better with a larger C is not tried with a smaller one again.
    words = [one for one in records if one["terms"] == "words"]
    least = max(words, key=lambda one: one["micro_f1"])["c"]
    assert all(one["c"] >= least for one in records if one not in words)
    assert len(list(run.checkpoints.glob(f"linear-fold-*-{best['terms']}-c-*.safetensors"))) == 3
    # A run that was stopped at its end reads all of it back, to the same model.
    again = train_br(config, train, valid, run, Silent())
    assert (again.rule, again.c, run.records()) == (tagger.rule, tagger.c, records)
    saved = BinaryRelevance.from_state(tagger.state())
    assert saved.features.transform(valid.texts).shape == tagger.features.transform(valid.texts).shape


def test_the_terms_that_are_compared() -> None:
    kinds = list_term_kinds(build_config(model="br", assignments=["features.ngrams=3"]))
    found = {name: (one.features.ngrams, one.features.run_weight) for name, one in kinds.items()}
    assert found == {"words": (1, 0), "weighed": (3, 0.5), "together": (3, 0)}


def test_a_balanced_rule_serves_rare_labels(tmp_path: Path) -> None:
    generator, noted = np.random.default_rng(3), Noted()
    train, valid = draw_rare(generator, 600), draw_rare(generator, 300)
    reached = {}
    for rule in ("global", "balanced"):
        config = settings(f"decision.rule={rule}", "linear.c=[0.3]")
        tagger = train_br(config, train, valid, RunFolder.start(tmp_path / rule, config), noted)
        reached[rule] = evaluate_tagger(tagger, valid).metrics
    assert [note.split()[0] for note in noted.notes] == ["micro_f1", "macro_f1"]
    assert reached["balanced"]["macro_f1"] > reached["global"]["macro_f1"] + 0.02
    assert reached["balanced"]["micro_f1"] >= reached["global"]["micro_f1"]


def draw_rare(generator: np.random.Generator, documents: int) -> Examples:
    """Draw texts of one frequent topic and six rare ones, whose words other texts have too."""
    texts, sets = [], []
    for number in range(documents):
        words = list(generator.choice(list("abcdefghijklm"), 6))
        labels = ["oil"] if generator.random() < 0.5 else []
        words += ["barrel"] * len(labels)
        rare = number // 8 % 6
        if number % 8 == 0:
            labels.append(f"rare{rare}")
        if number % 8 == 0 or generator.random() < 0.1:
            words.append(f"word{rare}")
        texts.append(" ".join(words))
        sets.append(labels)
    return Examples(texts, sets)


class Noted(Silent):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def draw_doubtful(generator: np.random.Generator, documents: int) -> Examples:
    """Draw texts of which one in five speaks of wheat, a quarter of those with the label; oil is surer."""
    texts, sets = [], []
    for number in range(documents):
        noise = list(generator.choice(list("abcdefghij"), 4))
        if number % 5 == 0:
            texts.append(" ".join(["wheat", *noise]))
            sets.append(["grain"] if generator.random() < 0.25 else [])
        else:
            sure = generator.random()
            texts.append(" ".join(["oil"] * (1 + (sure > 0.5)) + ["gas"] * (sure < 0.6) + noise))
            sets.append(["crude"] if generator.random() < (0.95 if sure > 0.5 else 0.3) else [])
    return Examples(texts, sets)


def test_the_better_of_cross_validated_and_tuned_rules_is_kept(tmp_path: Path) -> None:
    config = settings("decision.metric=macro_f1", "decision.rule=best", "linear.c=[1.0]")
    kept = []
    for seed in (0, 5):
        generator, noted = np.random.default_rng(seed), Noted()
        train, valid = draw_doubtful(generator, 400), draw_doubtful(generator, 40)
        run = RunFolder.start(tmp_path / str(seed), config)
        tagger = train_br(config, train, valid, run, noted)
        crossed, tuned = (float(one) for one in re.findall(r"\d\.\d{4}", noted.notes[-1]))
        reached = evaluate_tagger(tagger, valid).metrics["macro_f1"]
        # Validation has no part in cross-validated thresholds: they reach there exactly what was compared.
        assert (round(reached, 4) == crossed) == (crossed > tuned)
        kept.append(crossed > tuned)
        assert tagger.rule.kind == "per-label" or crossed <= tuned
    assert kept == [False, True]  # both happen
