"""A trained model's scores, calibrated, and the labels that may be accepted by them; by every face."""

from __future__ import annotations

import csv
import json
import random
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from seq2set.config import build_config
from seq2set.core.errors import InputError
from seq2set.core.progress import Silent
from seq2set.corpora.documents import Document
from seq2set.corpora.prepare import prepare
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.splits import SplitPlan
from seq2set.evaluation.measure import evaluate_tagger
from seq2set.inference.model_folder import load_model, read_confidence, read_metadata
from seq2set.labels.calibration import Sigmoid
from seq2set.labels.confidence.acceptance import UNCALIBRATED
from seq2set.labels.rules import Rule, make_expected_rule, make_top_rule
from seq2set.models.predictions import Request
from seq2set.tuning.calibrated_scores import accept_labels, calibrate_model
from seq2set.tuning.decision_rules import tune_rule
from seq2set.tuning.tunable_model import undo_rule
from seq2set.workflows.calibration import calibrate, calibrate_trained
from seq2set.workflows.evaluate import evaluate
from seq2set.workflows.train import train
from seq2set.workflows.training_data import load_examples
from tiny_networks import tiny_config

WORDS = {"grain": "wheat", "oil": "crude", "trade": "tariff", "money": "bank"}


def make_documents(count: int = 900) -> list[Document]:
    """Make texts that name their labels, most of the time."""
    draw = random.Random(3)
    documents = []
    for number in range(count):
        labels = draw.sample([*WORDS], k=draw.randint(1, 2))
        named = [WORDS[one] for one in labels if draw.random() < 0.85]
        words = named + draw.choices([*WORDS.values(), "rate", "rate"], k=2)
        words = ["price", *words, f"n{number % 40}", f"u{number}"]  # no text stands there twice
        documents.append(Document(str(number), " ".join(words), tuple(labels)))
    return documents


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    folder = tmp_path_factory.mktemp("corpora") / "noisy"
    plan = SplitPlan("random", 0.4, 0.2, 1)
    return prepare(make_documents(), folder, name="noisy", source="made", licence="none", plan=plan)


@pytest.fixture(scope="module")
def run(corpus: PreparedCorpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train a model that is too sure, as versions without calibration left it."""
    settings = [f'data.corpus="{corpus.folder}"', "linear.c=[1]", "decision.calibrate=false"]
    config = build_config(model="br", assignments=settings)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("seq2set.models.br.fit_sigmoid", lambda *_: Sigmoid(8.0, 0.0))
        return train(config, tmp_path_factory.mktemp("runs") / "br").path


@pytest.fixture
def plain(run: Path, tmp_path: Path) -> Path:
    """A copy of the model that a test may change, not calibrated."""
    return Path(shutil.copytree(run / "model", tmp_path / "plain" / "model"))


@pytest.fixture(scope="module")
def calibrated(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(shutil.copytree(run / "model", tmp_path_factory.mktemp("calibrated") / "model"))
    calibrate_model(folder)
    return folder


@pytest.fixture
def model(calibrated: Path, tmp_path: Path) -> Path:
    """A copy of the calibrated model that a test may change."""
    return Path(shutil.copytree(calibrated, tmp_path / "copy" / "model"))


def read_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_calibrating_records_what_was_tried(model: Path) -> None:
    recorded = read_metadata(model)["calibrated"]
    found = recorded["searches"]["marginal"]
    assert recorded["documents"] == 360
    assert found["held_out"][found["way"]]["log_loss"] == min(
        one["log_loss"] for one in found["held_out"].values()
    )
    assert [*read_confidence(model).calibrators] == ["marginal"]
    report = evaluate(model)
    assert report.result.calibrated
    assert report.summary()["calibrated"] is True
    assert "documents as a whole: marginal scores by" in (model / "README.md").read_text("utf-8")


def test_calibrating_an_old_model_keeps_every_decision_or_makes_them_better(
    plain: Path, corpus: PreparedCorpus
) -> None:
    texts = corpus.split("test").texts()
    before = load_model(plain).infer(texts, Request())
    assert evaluate(plain).summary()["calibrated"] is False
    assert "not calibrated" in (plain / "README.md").read_text("utf-8")
    found = calibrate_model(plain)
    after = load_model(plain)
    assert found.micro_f1[1] >= found.micro_f1[0]
    assert found.after["log_loss"] < found.before["log_loss"] + 1e-3
    raw = after.with_confidence(UNCALIBRATED, after.rule).infer(texts, Request())
    assert np.array_equal(raw.scores, before.scores), "the model itself is the same"
    assert not np.array_equal(after.infer(texts, Request()).scores, before.scores)
    if after.confidence.calibrators["marginal"].keeps_order:
        chosen = after.infer(texts, Request()).chosen
        assert [set(one) for one in chosen] == [set(one) for one in before.chosen]
    assert evaluate(plain).summary()["calibrated"] is True
    metrics = evaluate(plain, split="valid", include_seen=True).result.metrics
    assert read_metadata(plain)["validation"] == pytest.approx(metrics)
    assert undo_rule(plain) == evaluate(plain).result.rule
    assert load_model(plain).confidence.calibrators == {}
    assert [set(one) for one in load_model(plain).infer(texts, Request()).chosen] == [
        set(one) for one in before.chosen
    ]


@pytest.mark.parametrize("rule", [make_expected_rule(), make_top_rule(1)])
@pytest.mark.parametrize("threshold", ["tuned", 0.5])
def test_rules_without_a_threshold_decide_no_worse(
    rule: Rule, threshold: float | str, plain: Path, corpus: PreparedCorpus
) -> None:
    part, tagger = load_examples(corpus.split("valid")), load_model(plain)
    decision = tagger.config.decision.model_copy(update={"threshold": threshold, "calibrate": True})
    config = tagger.config.model_copy(update={"decision": decision})
    present = replace(tagger, config=config, rule=rule)
    notes = Notes()
    found = calibrate(present, part, None, notes)
    before, after = (evaluate_tagger(one, part).metrics["micro_f1"] for one in (present, found.tagger))
    assert after >= before
    if rule.kind == "expected-f1" and threshold != "tuned":  # nothing may be tuned, and nothing stays
        assert found.record["searches"] == {}
        assert notes.said == ["no calibration of the marginal scores keeps decisions as good as they are"]
        why = calibrate_trained(present, part, "noisy", Silent()).record["why"]
        assert why == "no way keeps decisions as good as they are"
    else:
        assert found.tagger.confidence.calibrators.keys() == {"marginal"}


class Notes(Silent):
    """Keeps what is noted."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, sentence: str) -> None:
        self.said.append(sentence)


def test_a_dry_run_changes_nothing(plain: Path, model: Path) -> None:
    before = read_files(plain)
    assert calibrate_model(plain, dry_run=True).ways.keys() == {"marginal"}
    assert read_files(plain) == before


def test_labels_that_may_be_accepted_are_marked_by_every_face(
    model: Path, corpus: PreparedCorpus, seq2set, tmp_path: Path
) -> None:
    outcome = seq2set("tune", "--thresholds", model.parent, "--accept", "precision=0.8")
    assert outcome.code == 0, outcome.err
    first, second, *_ = outcome.out.splitlines()
    found = read_metadata(model)["accepted"]
    share = round(100 * found["accepted"] / found["suggested"])
    said = f"of 100 suggestions, {share} can be accepted unseen at 80 % precision"
    assert first == f"{said} (with a confidence of 90 %)"
    assert second.startswith(f"on {found['suggested']} suggestions: {found['accepted']} accepted")
    assert found["accepted"] > 0
    assert found["right"] / found["accepted"] >= 0.8
    accepted = read_confidence(model).acceptance
    assert accepted is not None
    texts = corpus.split("test").texts()
    tagger = load_model(model)
    rows = tagger.infer(texts, Request()).suggestions(tagger.labels.names)
    for one in (one for row in rows for one in row):
        least = accepted.thresholds[tagger.labels.names.index(one.label)]
        assert one.mark == ("accept" if least is not None and one.score >= least else "review")
    assert "accept" in {one.mark for row in rows for one in row}

    lines = seq2set("predict", model, "--json", *texts[:9]).out.splitlines()
    printed = [[one["mark"] for one in json.loads(line)["labels"]] for line in lines]
    assert printed == [[one.mark for one in row] for row in rows[:9]]
    shown = seq2set("predict", model, texts[0]).out
    assert f"{rows[0][0].score:.2f} {rows[0][0].mark}" in shown
    source = tmp_path / "texts.csv"
    source.write_text("text\n" + "\n".join(texts[:9]), encoding="utf-8")
    for name in ("out.csv", "out.parquet", "out.xlsx"):
        assert seq2set("predict", model, "--input", source, "--output", tmp_path / name).code == 0
    with (tmp_path / "out.csv").open(encoding="utf-8") as stream:
        assert [row["marks"] for row in csv.DictReader(stream)] == [";".join(one) for one in printed]
    shards = tmp_path / "shards"
    call = ("--input", source, "--output", f"{shards}/", "--format", "csv")
    assert seq2set("predict", model, *call).code == 0
    with next(shards.glob("*.csv")).open(encoding="utf-8") as stream:
        assert [row["marks"] for row in csv.DictReader(stream)] == [";".join(one) for one in printed]

    report = evaluate(model, include_seen=True)  # texts that stand in two splits, too
    counts = report.result.accepted
    marks = [one.mark for row in rows for one in row]
    assert counts is not None
    assert (counts.suggested, counts.accepted) == (len(marks), marks.count("accept"))
    assert report.remarks()[-1].startswith("of 100 suggestions, ")
    assert report.summary()["accepted"] == counts._asdict()
    strange = tagger.infer(["zzz"], Request(top_k=2)).suggestions(tagger.labels.names)
    assert {one.mark for one in strange[0]} == {"review"}, "no word of it is known"

    tune_rule(model, kind="top-k")
    if read_metadata(model).get("tuned"):
        assert read_confidence(model).acceptance is None
        undo_rule(model)
        assert read_confidence(model).acceptance == accepted


def test_where_nothing_shows_the_precision_nothing_is_accepted_and_it_is_said(model: Path, seq2set) -> None:
    outcome = seq2set("tune", "--thresholds", model, "--accept", "precision=0.99")
    assert outcome.code == 0, outcome.err
    said, never, _ = outcome.out.splitlines()
    assert said.startswith("no label can be accepted unseen at 99 % precision: the evidence does not suffice")
    assert never == "labels without enough evidence, which are always to be reviewed: 4"
    assert evaluate(model).remarks()[-1] == said.split(" (with")[0]


def test_other_documents_can_be_named(model: Path, tmp_path: Path) -> None:
    rows = "".join(f"{one.text},{';'.join(one.labels)}\n" for one in make_documents(2000)[900:])
    (tmp_path / "more.csv").write_text("text,labels\n" + rows, encoding="utf-8")
    found = accept_labels(model, 0.8, 0.9, data=str(tmp_path / "more.csv"))
    recorded = read_metadata(model)["accepted"]
    assert (recorded["data"], recorded["split"]) == ("more", "all")
    assert 800 < recorded["documents"] <= 1100, "texts that it was trained on are left out"
    assert found.suggested > recorded["documents"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--accept", "precision=1.5"), "precision is 1.5; it must lie between 0 and 1, such as 0.95"),
        (("--accept", "precision=nan"), "precision is nan; it must lie between 0 and 1"),
        (("--accept", "0.95"), "--accept is '0.95'; it must be precision=P, such as precision=0.95"),
        (("--accept", "recall=0.9"), "--accept is 'recall=0.9'; it must be precision=P"),
        (("--accept", "precision=0.9", "--confidence", "1"), "confidence is 1; it must lie between 0 and 1"),
        (("--accept", "precision=0.9", "--undo"), "--accept goes with --thresholds RUN, and not with --undo"),
        (
            ("--accept", "precision=0.999"),
            "a precision of 0.999 with a confidence of 0.9 takes 3,400 at least",
        ),
    ],
)
def test_a_wrong_call_is_one_sentence_and_changes_nothing(
    model: Path, seq2set, arguments: tuple[str, ...], sentence: str
) -> None:
    before = read_files(model)
    outcome = seq2set("tune", "--thresholds", model, *arguments)
    assert outcome.code == 2
    assert sentence in outcome.err
    assert "Traceback" not in outcome.err
    assert read_files(model) == before


def test_what_cannot_be_calibrated_is_refused(plain: Path, seq2set, tmp_path: Path) -> None:
    before = read_files(plain)
    (tmp_path / "few.csv").write_text("text,labels\n" + "wheat tariff,grain\n" * 9, encoding="utf-8")
    (tmp_path / "strange.csv").write_text("text,labels\n" + "zzz,grain\n" * 99, encoding="utf-8")
    with pytest.raises(InputError, match="calibrate on have 9 labels that the model knows; it takes 50"):
        calibrate_model(plain, data=str(tmp_path / "few.csv"))
    (tmp_path / "one.csv").write_text("text,labels\nwheat tariff,grain\n", encoding="utf-8")
    with pytest.raises(InputError, match="calibrate on have 1 label that the model knows"):
        calibrate_model(plain, data=str(tmp_path / "one.csv"))
    with pytest.raises(InputError, match="calibrate on have 0 labels that the model knows"):
        calibrate_model(plain, data=str(tmp_path / "strange.csv"))
    with pytest.raises(InputError, match=r"are not calibrated; run seq2set tune --calibrate"):
        accept_labels(plain, 0.9, 0.9)
    outcome = seq2set("tune", "--calibrate", tmp_path / "nowhere")
    assert (outcome.code, "does not exist" in outcome.err) == (2, True)
    outcome = seq2set("tune", "--accept", "precision=0.9")
    assert (outcome.code, "--accept goes with --thresholds RUN" in outcome.err) == (2, True)
    assert read_files(plain) == before


def test_the_command_says_what_it_did_and_takes_it_back(plain: Path, seq2set) -> None:
    before = load_model(plain).infer(["wheat tariff"], Request()).scores
    outcome = seq2set("tune", "--calibrate", plain)
    assert outcome.code == 0, outcome.err
    first, error, *_, undo = outcome.out.splitlines()
    assert first.startswith("calibrated on 360 documents: marginal by ")
    assert error.startswith("calibration_error: ")
    assert undo == f"back to what was before: seq2set tune --calibrate {plain} --undo"
    assert not np.array_equal(load_model(plain).infer(["wheat tariff"], Request()).scores, before)
    assert seq2set("tune", "--calibrate", plain, "--undo").code == 0
    assert np.array_equal(load_model(plain).infer(["wheat tariff"], Request()).scores, before)


def test_training_says_where_scores_are_not_calibrated(
    seq2set, corpus: PreparedCorpus, tmp_path: Path
) -> None:
    plan = SplitPlan("random", 0.2, 0.2, 1)
    few = prepare(make_documents(80), tmp_path / "f", name="few", source="made", licence="none", plan=plan)
    command = ("train", "--model", "br", "--set", "linear.c=[1.0]")
    said = seq2set(*command, "--data", few.folder, "--out", tmp_path / "few-run").err
    assert "scores are not calibrated: the documents to calibrate on have 2" in said
    assert "not calibrated" not in seq2set(*command, "--data", corpus.folder, "--out", tmp_path / "run").err


def test_a_decoder_that_decides_by_itself_has_calibrated_scores_and_the_same_sets(
    corpus: PreparedCorpus, tmp_path: Path
) -> None:
    tiny = tiny_config(f'data.corpus="{corpus.folder}"', 'search.name="greedy"')
    folder = train(tiny, tmp_path / "run").path
    calibrate_model(folder)
    tagger = load_model(folder)
    assert tagger.confidence.calibrators.keys() == {"greedy", "marginal"}
    texts = corpus.split("test").texts()
    raw = tagger.with_confidence(UNCALIBRATED, tagger.rule)
    found, plain = (one.infer(texts, Request()) for one in (tagger, raw))
    assert [one.tolist() for one in found.chosen] == [one.tolist() for one in plain.chosen]
    assert (found.scores > 0).all()
    assert (found.scores < 1).all()
    other = tagger.infer(texts[:2], Request(search="beam"))
    assert np.array_equal(other.scores, raw.infer(texts[:2], Request(search="beam")).scores)
    accept_labels(folder, 0.5, 0.5)
    marked = load_model(folder)
    assert marked.infer(texts[:1], Request()).acceptance is not None
    assert marked.infer(texts[:1], Request(search="marginal")).acceptance is None
