"""A trained model's rule, tuned and put into its folder."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import numpy as np
import pytest

from seq2set.config import build_config
from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import CorpusError, InputError, UnknownNameError
from seq2set.core.progress import Silent
from seq2set.corpora.documents import Document
from seq2set.corpora.prepare import prepare
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.splits import SplitPlan
from seq2set.evaluation.measure import evaluate_tagger
from seq2set.inference.model_folder import load_model, renew_model
from seq2set.inference.predictor import Predictor
from seq2set.labels.best_rule import find_best_rule, score_rule
from seq2set.labels.metrics import Counts
from seq2set.labels.rules import Rule, make_global_rule, make_top_rule
from seq2set.models.predictions import Request
from seq2set.tuning.decision_rules import tune_rule
from seq2set.tuning.tunable_model import undo_rule
from seq2set.workflows.evaluate import evaluate
from seq2set.workflows.train import train
from tiny_networks import tiny_config

DRAW = random.Random(2)
WORDS = {"grain": "wheat", "oil": "crude", "trade": "tariff", "money": "bank"}
NOISE = [(" ".join(DRAW.choices([*WORDS.values()], k=4)), DRAW.choice([*WORDS])) for _ in range(40)]
"""Texts whose words say nothing about their labels"""


NOTHING = make_global_rule(float(np.nextafter(np.float32(1), np.float32(2))))
"""A rule that every other one is better than"""


class Notes(Silent):
    """Remembers what was said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, sentence: str) -> None:
        self.said.append(sentence)


@pytest.fixture
def model(br_run: RunFolder, tmp_path: Path) -> Path:
    """A copy of the model that a test may change, with a rule that gives no label at all."""
    folder = Path(shutil.copytree(br_run.model, tmp_path / "copy" / "model"))
    give(folder, NOTHING)
    return folder


def give(folder: Path, rule: Rule) -> None:
    """Put a rule into a model folder, whether it is good or not."""
    saved = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    facts = saved["facts"] | {"rule": rule.to_dict()}
    renew_model(folder, facts=facts, metadata=saved["about"], card="")


@pytest.mark.parametrize("kind", ["global", "top-k", "per-label"])
def test_the_folder_then_decides_by_the_rule_found(
    kind: str, model: Path, small_corpus: PreparedCorpus
) -> None:
    before = load_model(model)
    part = small_corpus.split("valid")
    scores = before.infer(part.texts(), Request()).scores
    expected = find_best_rule(kind, scores, before.labels.indicator(part.labels()), "macro_f1")
    measured = evaluate(model, split="valid").result.metrics
    tuned = tune_rule(model.parent, kind=kind, metric="macro_f1")
    assert (tuned.kind, tuned.rule, tuned.documents) == (kind, expected.rule, len(part))
    assert tuned.before == measured
    assert tuned.after["macro_f1"] == pytest.approx(expected.score)
    assert load_model(model).rule == expected.rule
    report = evaluate(model, split="valid")
    assert report.result.metrics == tuned.after
    assert report.summary()["rule"] == expected.rule.to_dict()


@pytest.mark.parametrize("kind", ["global", "top-k", "per-label"])
def test_figures_count_documents_without_a_known_word_as_evaluate_does(
    kind: str, model: Path, tmp_path: Path
) -> None:
    rows = "wheat harvest,grain\nzebra,oil\n42,trade\ncrude barrels,oil\n" * 5
    (tmp_path / "some.csv").write_text("text,labels\n" + rows, encoding="utf-8")
    tuned = tune_rule(model, kind=kind, data=str(tmp_path / "some.csv"))
    again = evaluate(model, data=str(tmp_path / "some.csv"), include_seen=True)
    assert again.result.metrics == tuned.after
    assert tuned.after["micro_recall"] == 0.5


def test_the_number_of_labels_is_the_best_for_what_prediction_gives(model: Path, tmp_path: Path) -> None:
    rows = "wheat harvest,grain\n" * 6 + "zebra,money;grain;oil;trade\n" * 6
    (tmp_path / "some.csv").write_text("text,labels\n" + rows, encoding="utf-8")
    assert tune_rule(model, kind="top-k", data=str(tmp_path / "some.csv")).rule == make_top_rule(1)


def test_documents_without_a_known_word_alone_are_refused(model: Path, tmp_path: Path) -> None:
    (tmp_path / "some.csv").write_text("text,labels\n" + "zebra,grain\n" * 9, encoding="utf-8")
    with pytest.raises(
        CorpusError, match="knows no word of these 9 documents, so that there is nothing to tune"
    ):
        tune_rule(model, data=str(tmp_path / "some.csv"))


def test_all_else_in_the_folder_stays(br_run: RunFolder, model: Path) -> None:
    tune_rule(model, kind="top-k")
    for name in ("model.safetensors", "tokenizer.json", "labels.json"):
        assert (model / name).read_bytes() == (br_run.model / name).read_bytes()
    assert {path.name for path in model.iterdir()} == {path.name for path in br_run.model.iterdir()}
    old, new = (json.loads((one / "config.json").read_text()) for one in (br_run.model, model))
    assert new["settings"] == old["settings"]
    assert {**new["facts"], "rule": None} == {**old["facts"], "rule": None}
    assert new["about"]["corpus"] == old["about"]["corpus"]


def test_the_card_tells_of_it(model: Path) -> None:
    tuned = tune_rule(model, kind="top-k", metric="hamming_loss")
    card = (model / "README.md").read_text(encoding="utf-8")
    assert f"| rule | {tuned.rule.describe()} |" in card
    assert (
        "The decision rule was tuned after the training for the best hamming loss on small, valid, "
        f"{tuned.documents} documents: {tuned.before['hamming_loss']:.4f} before, "
        f"{tuned.after['hamming_loss']:.4f} after.\n" in card
    )
    assert f"| micro-F1 | {tuned.after['micro_f1']:.4f} |" in card
    assert Predictor.open(model).metadata["validation"] == tuned.after


def test_other_documents_leave_the_validation_figures_alone(model: Path, tmp_path: Path) -> None:
    validation = Predictor.open(model).metadata["validation"]
    rows = "".join(f"wheat harvest {number},grain\n" for number in range(7)) + "crude oil,whaling\n"
    (tmp_path / "own.csv").write_text("text,labels\n" + rows, encoding="utf-8")
    tuned = tune_rule(model, kind="global", data=str(tmp_path / "own.csv"))
    assert tuned.documents == 8
    # No model can give a label that it does not know: it is missed, as in evaluate.
    measured = evaluate(model, data=str(tmp_path / "own.csv"), include_seen=True)
    assert tuned.after == measured.result.metrics
    assert tuned.after["micro_recall"] < 1
    assert Predictor.open(model).metadata["validation"] == validation
    assert "on own, all, 8 documents" in (model / "README.md").read_text(encoding="utf-8")
    assert "The figures above are without that rule." in (model / "README.md").read_text(encoding="utf-8")


def test_it_says_what_was_tried_and_which_labels_are_too_rare(model: Path, tmp_path: Path) -> None:
    notes = Notes()
    tuned = tune_rule(model, progress=notes)
    assert notes.said[0].startswith("on documents held out in turn: global ")
    assert tuned.kind == "global"  # these texts are so easy that nothing does better
    documents = [Document(str(n), "wheat harvest", ("grain",), "valid") for n in range(6)]
    documents += [Document("t", "crude", ("oil",), "train"), Document("v", "crude", ("oil",), "valid")]
    folder = tmp_path / "few"
    prepare(documents, folder, name="few", source="", licence="", plan=SplitPlan("given", valid=0))
    notes = Notes()
    give(model, NOTHING)
    tune_rule(model, kind="per-label", data=str(folder), progress=notes)
    assert notes.said == [
        "labels in fewer than 5 of the documents: 3 of 4; they take the threshold that is best for all "
        "labels together"
    ]


def test_what_the_training_set_aside_is_tuned_on(tmp_path: Path) -> None:
    documents = [
        Document(str(n), f"{'wheat' if n % 2 else 'crude'} {n}", ("grain" if n % 2 else "oil",), "train")
        for n in range(40)
    ]
    folder = tmp_path / "corpus"
    prepare(documents, folder, name="own", source="", licence="", plan=SplitPlan("given", valid=0))
    config = build_config(model="br", assignments=[f'data.corpus="{folder}"', "features.min_documents=1"])
    run = train(config, tmp_path / "run")
    tuned = tune_rule(run.path, kind="global")
    assert tuned.documents == 4
    assert tuned.before == Predictor.open(run.path).metadata["validation"]
    copy = shutil.copytree(folder, tmp_path / "elsewhere" / "copy")
    assert tune_rule(run.path, kind="global", data=str(copy)).documents == 4  # recognised as its own
    other = tmp_path / "elsewhere" / "corpus"
    prepare(documents[1:], other, name="own", source="", licence="", plan=SplitPlan("given", valid=0))
    with pytest.raises(
        CorpusError,
        match=r"corpus: the split 'valid' is empty, so there is nothing to tune on; prepare the corpus with "
        r"one \(seq2set data prepare --valid 0.1\), or name a file with --data, which is taken whole",
    ):
        tune_rule(run.path, data=str(other))


def test_a_balanced_rule_is_taken_for_its_macro_f1(model: Path, small_corpus: PreparedCorpus) -> None:
    tagger, part, notes = load_model(model), small_corpus.split("valid"), Notes()
    scores, right = tagger.infer(part.texts(), Request()).scores, tagger.labels.indicator(part.labels())
    frequencies = tagger.labels.frequencies
    expected = find_best_rule("balanced", scores, right, "micro_f1", frequencies=frequencies)
    tuned = tune_rule(model, kind="balanced", progress=notes)
    assert (tuned.rule, load_model(model).rule, tuned.kept) == (expected.rule, expected.rule, False)
    assert tuned.after["macro_f1"] > tuned.before["macro_f1"]
    assert "per-frequency" in notes.said[0]
    # One that is too good on these documents to be beaten stays.
    give(model, make_global_rule(0.5))
    kept = tune_rule(model, kind="balanced", progress=notes)
    assert kept.kept == (kept.before["macro_f1"] == 1)
    assert not kept.kept or "is not better: macro_f1" in notes.said[-1]


def test_a_network_is_decided_by_a_balanced_rule(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    place = f'data.corpus="{small_corpus.folder}"'
    config = tiny_config(
        place, 'decision.rule="balanced"', "decision.calibrate=false", 'search.name="marginal"'
    )
    tagger = load_model(train(config, tmp_path / "run").model)
    part = small_corpus.split("valid")
    scores = tagger.infer(part.texts(), Request(search="marginal")).scores
    right, frequencies = tagger.labels.indicator(part.labels()), tagger.labels.frequencies
    expected = find_best_rule("balanced", scores, right, "micro_f1", frequencies=frequencies)
    assert tagger.rule == expected.rule


def test_a_decoder_is_decided_in_one_search_only(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    config = tiny_config(f'data.corpus="{small_corpus.folder}"', "warm_start.epochs=3", model="seq2set-simp")
    run, notes = train(config, tmp_path / "run"), Notes()
    give(run.model, NOTHING)
    validation = Predictor.open(run.path).metadata["validation"]
    tuned = tune_rule(run.path, kind="top-k", progress=notes)
    assert notes.said == [
        "the model searches by 'greedy', which needs no rule; pass --search marginal to evaluate and predict "
        "by this one"
    ]
    tagger = load_model(run.model)
    assert Predictor.open(run.path).metadata["validation"] == validation
    found = evaluate_tagger(tagger, small_corpus.split("valid"), Request(search="marginal"))
    assert found.metrics == tuned.after
    greedy = evaluate(run.path, split="valid")
    assert (greedy.summary()["rule"], greedy.summary()["threshold"]) == (None, None)


def test_wrong_names_are_found_before_the_work(model: Path) -> None:
    stamps = {path: path.stat().st_mtime_ns for path in model.iterdir()}
    with pytest.raises(UnknownNameError, match="kind 'topk' is not known, did you mean 'top-k'?"):
        tune_rule(model, kind="topk")
    with pytest.raises(UnknownNameError, match="metric 'micro' is not known, did you mean 'micro_f1'?"):
        tune_rule(model, metric="micro")
    assert {path: path.stat().st_mtime_ns for path in model.iterdir()} == stamps


def test_tuned_twice_it_is_the_same(model: Path) -> None:
    first = tune_rule(model, kind="per-label")
    second = tune_rule(model, kind="per-label")
    assert second.rule == first.rule
    assert second.before == first.after
    assert np.isclose(second.after["micro_f1"], first.after["micro_f1"])


def test_a_rule_that_is_worse_is_not_stored(model: Path) -> None:
    best = tune_rule(model, kind="global").rule
    before, notes = (model / "config.json").read_bytes(), Notes()
    tuned = tune_rule(model, kind="top-k", progress=notes)
    assert (tuned.kept, tuned.rule) == (True, best)
    # Every tenth document has no label and every third two: whatever k is, some documents get it wrong.
    assert tuned.before["micro_f1"] == tuned.after["micro_f1"] == 1
    assert notes.said[0].startswith(
        "a rule that gives the best label of each text is not better: micro_f1 0.8"
    )
    assert "where the present rule has" in notes.said[0]
    assert (model / "config.json").read_bytes() == before


def test_a_rule_that_only_fits_the_documents_it_was_tuned_on_is_not_stored(
    model: Path, tmp_path: Path
) -> None:
    # Words and labels are drawn apart: what thresholds of their own gain is chance.
    rows = [f"{words} {n},{label}" for n, (words, label) in enumerate(NOISE)]
    (tmp_path / "noise.csv").write_text("text,labels\n" + "\n".join(rows) + "\n", encoding="utf-8")
    give(model, make_global_rule(0.0))  # gives all labels: micro-F1 2 / (4 + 1)
    tuned = tune_rule(model, kind="per-label", data=str(tmp_path / "noise.csv"))
    scores = load_model(model).infer([row.split(",")[0] for row in rows], Request()).scores
    labels = load_model(model).labels.indicator([(label,) for _, label in NOISE])
    found = find_best_rule("per-label", scores, labels, "micro_f1")
    assert found.score > 0.4 > found.held_out["per-label"]
    assert (tuned.kept, tuned.before["micro_f1"]) == (True, 0.4)
    assert load_model(model).rule == make_global_rule(0.0)


def test_a_rule_tuned_on_these_documents_is_judged_as_its_kind_is_on_others() -> None:
    draw = np.random.default_rng(4)
    scores, actual = draw.random((30, 3)).astype(np.float32), draw.random((30, 3)) < 0.4
    tuned = find_best_rule("per-label", scores, actual, "micro_f1")
    assert score_rule(tuned.rule, scores, actual, "micro_f1") == tuned.held_out["per-label"] < tuned.score
    # Any other rule was not made here, and its figure is what it reaches: the best two of three labels.
    expected = Counts.of(make_top_rule(2).decide(scores), actual).metrics()["micro_f1"]
    assert score_rule(make_top_rule(2), scores, actual, "micro_f1") == expected


def test_the_labels_figures_are_renewed_with_the_others(model: Path) -> None:
    tuned = tune_rule(model, kind="top-k")
    metadata = Predictor.open(model).metadata
    mean = np.mean([row["f1"] for row in metadata["per_label"]])
    assert mean == pytest.approx(tuned.after["macro_f1"])
    assert metadata["validation"]["macro_f1"] == tuned.after["macro_f1"]


def test_a_dry_run_stores_nothing(model: Path) -> None:
    before = {path.name: path.read_bytes() for path in model.iterdir()}
    tuned = tune_rule(model, kind="global", dry_run=True)
    assert not tuned.kept
    assert tuned.after["micro_f1"] > tuned.before["micro_f1"] == 0
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before


def test_the_rule_before_is_given_back(model: Path) -> None:
    first = Predictor.open(model).metadata
    tune_rule(model, kind="global")
    assert load_model(model).rule != NOTHING
    assert undo_rule(model) == NOTHING == load_model(model).rule
    assert Predictor.open(model).metadata == first
    with pytest.raises(InputError, match="was not tuned since .*; there is no rule to go back to"):
        undo_rule(model)


def test_one_rule_is_kept_however_often_a_model_is_tuned(model: Path) -> None:
    tune_rule(model, kind="global")
    tuned = Predictor.open(model).metadata["tuned"]
    give(model, make_top_rule(4))
    tune_rule(model, kind="global", metric="macro_f1")
    assert "before_tuning" not in Predictor.open(model).metadata["before_tuning"]
    assert undo_rule(model) == make_top_rule(4)
    assert Predictor.open(model).metadata["tuned"] == tuned


@pytest.mark.parametrize("name", ["br", "seq2set-simp"])
def test_training_and_tuning_hold_groups_out_together(name: str, tmp_path: Path) -> None:
    texts = [(f"{text} {number % 7}", label) for number, (text, label) in enumerate(NOISE * 2)]
    documents = [
        Document(f"{number}-{copy}", text, (label,), "train" if number < 50 else "valid", f"group {number}")
        for number, (text, label) in enumerate(texts)
        if number < 50 or text not in dict(texts[:50])  # which would not be tuned on
        for copy in range(3)
    ]
    plan = SplitPlan("given")
    corpus = prepare(documents, tmp_path / "c", name="c", source="", licence="", plan=plan)
    config = tiny_config(
        f'data.corpus="{corpus.folder}"', "decision.rule=best", "decision.calibrate=false", model=name
    )
    run = train(config, tmp_path / "run", progress=(notes := Notes()))
    tagger, part = load_model(run.model), corpus.split("valid")
    scores = tagger.infer(part.texts(), Request(search="marginal")).scores
    given = scores, tagger.labels.indicator(part.labels()), "micro_f1"
    frequencies = tagger.labels.frequencies
    alone = find_best_rule("best", *given, frequencies=frequencies)
    together = find_best_rule("best", *given, frequencies=frequencies, groups=part.groups())
    assert together.held_out != alone.held_out
    tune_rule(run.path, dry_run=True, progress=notes)
    listed = ", ".join(f"{kind} {value:.4f}" for kind, value in together.held_out.items())
    assert f"on documents held out in turn: {listed}" in notes.said
    if name == "br":
        best = f"{together.held_out[together.kind]:.4f} by the best of the other rules ({together.kind})"
        assert any(best in one for one in notes.said)
    else:
        assert tagger.rule == together.rule != alone.rule
