"""A model that learnt from texts without HTML reads every text without it, once, wherever it is given."""

from __future__ import annotations

import csv
import io
import json
import random
import sys
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from running_servers import run
from safetensors.numpy import load_file

from seq2set import Seq2SetClassifier
from seq2set.cli.app import main
from seq2set.config.run_folder import RunFolder
from seq2set.corpora.readers.cells.markup import strip_markup
from seq2set.inference.given_texts import locate_letters
from seq2set.inference.predictor import Predictor, TextItem
from seq2set.models.predictions import Request, Suggestion
from seq2set.server.served_model import open_served
from seq2set.server.settings import ServeSettings
from seq2set.workflows.distill import Teaching, distill
from seq2set.workflows.evaluate import evaluate, sample_predictions
from seq2set.workflows.train import train
from tiny_networks import tiny_config

SIGNS = {"grain": "wheat", "oil": "crude", "trade": "tariff", "signs": "&amp;lt;"}
TEXT = 'the <p class="wheat">cr&#117;de</p> year &amp;lt; said <b class="wheat">of</b> &amp;amp; the'
"""Tags name `grain` and nothing that is read does; what two readings make of it has no `lt` any more."""


@pytest.fixture(scope="module")
def html_run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A model of texts whose tags name other labels than they have."""
    folder, draw = tmp_path_factory.mktemp("html"), random.Random(4)
    with (folder / "html.csv").open("w", newline="", encoding="utf-8") as stream:
        rows = csv.writer(stream)
        rows.writerow(["text", "labels"])
        for _ in range(160):
            labels = draw.sample(sorted(SIGNS), draw.choice((1, 2)))
            other = SIGNS[draw.choice([one for one in SIGNS if one not in labels])]
            words = [*draw.choices(["the", "said", "of", "year"], k=4), *(SIGNS[one] for one in labels)]
            rows.writerow([f'<p class="{other}">{" ".join(words)}</p>', ";".join(labels)])
    settings = (f"data.corpus='{folder / 'html.csv'}'", "data.strip_html=true", "decision.calibrate=false")
    return train(tiny_config(*settings, model="br"), folder / "run")


def test_a_corpus_that_was_prepared_without_html_makes_such_models(
    html_run: RunFolder, type_command: Callable[..., str], tmp_path: Path
) -> None:
    table = html_run.path.parent / "html.csv"
    type_command("data", "prepare", "small", "--from", table, "--strip-html", "--out", tmp_path / "corpus")
    settings = (f"data.corpus='{tmp_path / 'corpus'}'", "decision.calibrate=false")
    run = train(tiny_config(*settings, model="br"), tmp_path / "run")
    one, other = (Predictor.open(path).predict([TEXT]) for path in (run.path, html_run.path))
    assert one == other
    assert evaluate(run.path).result.metrics == evaluate(html_run.path).result.metrics


@pytest.fixture
def type_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Run `seq2set` in this process, and return what it printed."""

    def call(*arguments: object, given: str = "") -> str:
        monkeypatch.setattr(sys, "argv", ["seq2set", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
            raise SystemExit
        assert not stop.value.code
        return capsys.readouterr().out

    return call


@pytest.fixture
def one(tmp_path: Path) -> Path:
    """Return a folder with the text in a file of each kind."""
    for name, row in {"one.csv": ["text"], "labelled.csv": ["text", "labels"]}.items():
        with (tmp_path / name).open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream).writerows([row, [TEXT, "oil;signs"][: len(row)]])
    (tmp_path / "one.txt").write_text(TEXT + "\n", encoding="utf-8")
    return tmp_path


def read_json(line: str) -> dict[str, Any]:
    """Read a prediction as JSON: labels with scores, and the places of the words that speak for them."""
    found = json.loads(line)["labels"]
    words = {word["word"]: TEXT[word["start"] : word["end"]] for each in found for word in each["evidence"]}
    return {"labels": {each["label"]: round(each["score"], 4) for each in found}, "words": words}


def read(suggestions: tuple[Suggestion, ...]) -> dict[str, Any]:
    words = {word.word: TEXT[word.start : word.end] for each in suggestions for word in each.evidence}
    return {"labels": {each.label: round(each.score, 4) for each in suggestions}, "words": words}


EXPECTED = {"crude": "cr&#117;de", "lt": "lt"}


def test_every_face_reads_the_same(html_run: RunFolder, one: Path, type_command: Callable[..., str]) -> None:
    model, as_read = html_run.path, strip_markup(TEXT)
    assert as_read == "the crude year &lt; said of &amp; the"
    tagger = Predictor.open(model).tagger
    found: dict[str, Any] = {}

    def predict(*arguments: object, **named: str) -> str:
        return type_command("predict", model, *arguments, "--explain", **named)

    found["argument"] = read_json(predict(TEXT, "--json"))
    found["standard input"] = read_json(predict("--json", given=TEXT + "\n"))
    for name in ("one.csv", "one.txt"):
        found[name] = read_json(predict("--input", one / name, "--json"))
    found["an address"] = read_json(predict("--input", f"file://{one}/one.csv", "--json"))
    found["--strip-html"] = read_json(predict("--input", one / "one.csv", "--json", "--strip-html"))
    found["a worker"] = read_json(predict("--input", one / "one.csv", "--output", "-", "--workers", 2))
    predictor = Predictor.open(model)
    found["stream"] = read(next(predictor.stream([TextItem("1", TEXT)], Request(explain=True))).suggestions)
    estimator = Seq2SetClassifier.load(model)
    found["explain"] = read(estimator.explain([TEXT])[0])
    served = open_served(model)
    running = run(served, ServeSettings(port=0))
    try:
        answer = running.predict(text=TEXT, explain=True).json()["predictions"][0]
        found["/v1/predict"] = read_json(json.dumps(answer))
        answer = running.predict(text=TEXT, explain=True, candidates=3).json()["predictions"][0]
        found["candidates"] = read_json(json.dumps(answer))
        sent = {"content": json.dumps({"text": TEXT}), "headers": {"content-type": "application/x-ndjson"}}
        found["/v1/batch"] = read_json(running.client.post("/v1/batch?explain=true", **sent).text)
    finally:
        running.close()
    given = tagger.infer([as_read], Request(explain=True)).suggestions(tagger.labels.names)[0]
    labels = {each.label: round(each.score, 4) for each in given}
    assert labels.keys() == {"oil", "signs"}
    assert found == {face: {"labels": labels, "words": EXPECTED} for face in found}


def test_what_gives_no_reasons_reads_the_same(html_run: RunFolder, one: Path) -> None:
    estimator, as_read = Seq2SetClassifier.load(html_run.path), strip_markup(TEXT)
    scores = estimator.tagger_.infer([as_read], Request()).scores.tolist()
    assert {*estimator.predict([TEXT])[0]} == {"oil", "signs"}
    assert [estimator.predict_proba([TEXT])[0, estimator._columns].tolist()] == scores
    assert estimator.score([TEXT], [("oil", "signs")]) == 1
    assert estimator.score([TEXT], [("oil", "signs")], sample_weight=[2]) == 1
    assert evaluate(html_run.path, data=str(one / "labelled.csv")).result.metrics["micro_f1"] == 1
    (sample,) = sample_predictions(html_run.path, data=str(one / "labelled.csv"), count=1)
    shown = [
        sample.prediction.text[word.start : word.end]
        for each in sample.prediction.suggestions
        for word in each.evidence
    ]
    assert {*shown} == {"crude", "lt"}


def test_a_teacher_reads_as_it_learnt_what_a_student_has_not_read_so(html_run: RunFolder, one: Path) -> None:
    teacher = Predictor.open(html_run.path).tagger
    expected = teacher.infer([strip_markup(TEXT)], Request()).scores
    for strip in ("true", "false"):
        data = f"data.corpus='{html_run.path.parent / 'html.csv'}'"
        config = tiny_config(data, f"data.strip_html={strip}", "decision.calibrate=false", model="br")
        teaching = Teaching((str(one / "one.csv"),), folds=0)
        student = distill(config, html_run.path, one / strip, teaching)
        said = load_file(student.teacher / "unlabelled.safetensors")["scores"]
        assert np.array_equal(np.sort(said), np.sort(expected))


def test_html_is_removed_for_a_model_of_other_texts_where_a_user_says_so(
    br_run: RunFolder, one: Path, type_command: Callable[..., str]
) -> None:
    (one / "fresh.txt").write_text("crude barrels <b title='wheat'>of</b>\n", encoding="utf-8")
    for typed in (("--input", one / "fresh.txt"), ("crude barrels <b title='wheat'>of</b>",)):
        found = [
            json.loads(type_command("predict", br_run.path, *typed, "--json", "--explain", *more))
            for more in ((), ("--strip-html",))
        ]
        named = [[word["word"] for each in row["labels"] for word in each["evidence"]] for row in found]
        assert [any("wheat" in word for word in words) for words in named] == [True, False]


PIECES = [
    "<p>",
    "</p>",
    "<br/>",
    '<a href="b">',
    "</a>",
    "<script>",
    "</script>",
    "<textarea>",
    "</textarea>",
]
PIECES += [
    "<iframe>",
    "</iframe>",
    "<!--",
    "-->",
    "&amp;",
    "&lt;",
    "&#65;",
    "&#1;",
    "&eacute",
    "&",
    "<",
    ">",
    ";",
]
PIECES += ["é", "a", "bc", " ", "\n", "\t"]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_each_letter_is_found_in_the_text_as_it_was_given(inside: str) -> None:
    text = f"<b>{inside}</b>"
    letters, places = strip_markup(text), locate_letters(text)
    assert len(letters) <= len(places) <= len(letters) + 1
    for letter, (start, end) in zip(letters, places, strict=False):
        assert letter in unescape(text[start:end]) or letter in text[start:end] or letter == " "
