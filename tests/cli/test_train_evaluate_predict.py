from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path

import pytest

from seq2set.config.run_folder import RunFolder
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.workflows.training_data import load_examples


def test_train_writes_a_run_and_says_what_is_next(
    seq2set, small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    outcome = seq2set(
        "train", "--data", small_corpus.folder, "--model", "br", "--out", run, "--set", "linear.c=[1]"
    )
    assert outcome.code == 0
    assert f"seq2set evaluate {run}" in outcome.err
    files = {"run.json", "config.toml", "history.jsonl", "checkpoints", "model"}
    assert {path.name for path in run.iterdir()} == files


def test_a_finished_run_is_left_alone(seq2set, small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    call = ("train", "--data", small_corpus.folder, "--out", tmp_path / "run", "--model", "br")
    assert seq2set(*call).code == 0
    manifest = (tmp_path / "run" / "model" / "manifest.json").stat().st_mtime_ns
    again = seq2set(*call)
    assert (again.code, "pass --resume to go on with it" in again.err) == (2, True)
    resumed = seq2set(*call, "--resume")
    assert (resumed.code, "is finished already" in resumed.err) == (0, True)
    assert (tmp_path / "run" / "model" / "manifest.json").stat().st_mtime_ns == manifest


def test_resume_with_changed_settings_says_what_changed(seq2set, small_corpus, tmp_path: Path) -> None:
    call = ("train", "--data", small_corpus.folder, "--out", tmp_path / "run", "--model", "br")
    seq2set(*call)
    outcome = seq2set(*call, "--resume", "--set", "seed=7")
    assert outcome.code == 2
    assert "was begun with other settings: seed: 1 -> 7" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--model", "bm"], "model 'bm' is not known, did you mean 'br'?"),
        (["--preset", "compat"], "preset 'compat' is not known, did you mean 'compact'?"),
        (["--set", "seed"], "--set seed: it must have the form section.name=value"),
        (["--set", "threads=0"], "threads is 0; it must be >= 1 or be 'auto'"),
        (["--set", "lineer.c=[1]"], "lineer is not a setting, did you mean 'linear'?"),
        (["--config", "nowhere.toml"], "the settings file nowhere.toml does not exist"),
    ],
)
def test_a_wrong_call_is_one_sentence(seq2set, small_corpus, tmp_path: Path, arguments, sentence) -> None:
    outcome = seq2set("train", "--data", small_corpus.folder, "--out", tmp_path / "run", *arguments)
    assert outcome.code == 2
    assert outcome.err.startswith(f"seq2set: {sentence}")
    assert outcome.err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_training_needs_data(seq2set, tmp_path: Path) -> None:
    outcome = seq2set("train", "--out", tmp_path / "run")
    assert outcome.code == 2
    assert "no corpus is named; pass --data" in outcome.err


def test_evaluate_json_is_one_object_that_agrees_with_predict(
    seq2set, br_run: RunFolder, small_corpus: PreparedCorpus
) -> None:
    found = json.loads(seq2set("evaluate", br_run.path, "--json").out)
    assert found.keys() >= {
        "model", "data", "split", "documents", "labels", "hamming_loss", "micro_precision",
        "micro_recall", "micro_f1", "macro_f1", "subset_accuracy",
    }  # fmt: skip
    test = load_examples(small_corpus.split("test"))
    answers = seq2set("predict", br_run.path, "--json", *test.texts).out.splitlines()
    predicted = [{one["label"] for one in json.loads(line)["labels"]} for line in answers]
    both = sum(len(a & set(b)) for a, b in zip(predicted, test.label_sets, strict=True))
    sizes = sum(len(a) + len(b) for a, b in zip(predicted, test.label_sets, strict=True))
    assert found["micro_f1"] == pytest.approx(2 * both / sizes)
    assert found["hamming_loss"] == pytest.approx((sizes - 2 * both) / (len(test) * found["labels"]))


def test_evaluate_prints_the_papers_columns(seq2set, br_run: RunFolder) -> None:
    outcome = seq2set("evaluate", br_run.model, "--split", "valid", "--show", "2")
    for head in ("HL(-)", "P(+)", "R(+)", "F1(+)"):
        assert head in outcome.out
    assert "small, valid" in outcome.out
    assert "because of harvest harvest, wheat\n" in outcome.out


def test_evaluate_writes_a_report_once(seq2set, br_run: RunFolder, tmp_path: Path) -> None:
    outcome = seq2set("evaluate", br_run.path, "--report", tmp_path / "report")
    assert outcome.code == 0
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert "grain" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    saved = json.loads((tmp_path / "report" / "report.json").read_text())
    assert {row["label"] for row in saved["per_label"]} == {"grain", "oil", "trade", "money"}
    again = seq2set("evaluate", br_run.path, "--report", tmp_path / "report")
    assert (again.code, "is not empty" in again.err) == (2, True)
    assert seq2set("evaluate", br_run.path, "--report", tmp_path / "report", "--force").code == 0


def test_evaluate_with_a_threshold_of_ones_own(seq2set, br_run: RunFolder) -> None:
    found = json.loads(seq2set("evaluate", br_run.path, "--json", "--threshold", "0").out)
    assert found["micro_recall"] == 1
    outcome = seq2set("evaluate", br_run.path, "--threshold", "2")
    assert (outcome.code, outcome.err) == (2, "seq2set: threshold is 2.0; it must lie in [0, 1]\n")


def test_the_best_few(seq2set, br_run: RunFolder) -> None:
    found = json.loads(seq2set("evaluate", br_run.path, "--json", "--top-k", "4").out)
    assert (found["micro_recall"], found["threshold"]) == (1, None)
    assert found["rule"] == {"kind": "top-k", "k": 4}
    answer = json.loads(seq2set("predict", br_run.path, "--json", "--top-k", "2", "wheat crude").out)
    assert {one["label"] for one in answer["labels"]} == {"grain", "oil"}
    more = json.loads(seq2set("evaluate", br_run.path, "--json", "--top-k", "5").out)
    assert (more["rule"], more["micro_f1"]) == (found["rule"], found["micro_f1"])
    both = json.loads(seq2set("evaluate", br_run.path, "--json", "--top-k", "1", "--threshold", "0.5").out)
    assert both["rule"] == {"kind": "top-k", "k": 1, "thresholds": [0.5]}
    assert seq2set("predict", br_run.path, "--top-k", "0", "wheat").err.endswith("it must be >= 1\n")


def test_several_models_stand_in_one_table(seq2set, br_run: RunFolder) -> None:
    table = seq2set("evaluate", br_run.path, br_run.model).out
    assert table.count("HL(-)") == 1
    assert sum(" br " in line for line in table.splitlines()) == 2
    lines = seq2set("evaluate", br_run.path, br_run.model, "--json").out.splitlines()
    assert [json.loads(line)["model"] for line in lines] == ["br", "br"]


def test_evaluate_on_an_unknown_split(seq2set, br_run: RunFolder) -> None:
    outcome = seq2set("evaluate", br_run.path, "--split", "tset")
    assert outcome.code == 2
    assert "split 'tset' is not known, did you mean 'test'?" in outcome.err


def test_predict_json(seq2set, br_run: RunFolder) -> None:
    outcome = seq2set("predict", br_run.path, "--json", "--explain", "Wheat harvest, wheat!", "nothing here")
    first, second = map(json.loads, outcome.out.splitlines())
    assert first["id"] == "1"
    assert first["labels"][0]["label"] == "grain"
    assert 0 < first["labels"][0]["score"] <= 1
    assert first["labels"][0]["evidence"][0]["word"] == "Wheat harvest"
    assert all(one["weight"] < 0 for one in first["labels"][0]["against"])
    assert second == {"id": "2", "labels": [], "note": "no known words"}


def test_predict_for_people(seq2set, br_run: RunFolder) -> None:
    outcome = seq2set("predict", br_run.path, "--explain", "wheat harvest bushels", "zzz")
    assert "grain" in outcome.out
    assert "because of wheat harvest bushels" in outcome.out
    assert "zzz\n  no known words\n  no label\n" in outcome.out


def test_labels_by_number_come_with_a_note_where_no_word_is_known(seq2set, br_run: RunFolder) -> None:
    for option in ("--top-k", "--min-labels"):
        outcome = seq2set("predict", br_run.path, "--json", "--explain", option, "1", "42, 17 ...")
        answer = json.loads(outcome.out)
        assert (answer["note"], len(answer["labels"])) == ("no known words", 1)
        assert answer["labels"][0]["evidence"] == []
    assert (
        json.loads(seq2set("predict", br_run.path, "--json", "--threshold", "0", "zzz").out)["labels"] == []
    )


def test_evaluate_counts_documents_without_a_known_word(seq2set, br_run: RunFolder, tmp_path: Path) -> None:
    rows = "wheat harvest,grain\nzzz qqq,oil\n,grain\ncrude barrels,oil\n"
    (tmp_path / "some.csv").write_text("text,labels\n" + rows, encoding="utf-8")
    outcome = seq2set("evaluate", br_run.path, "--data", tmp_path / "some.csv", "--json")
    found = json.loads(outcome.out)
    assert found["no_known_words"] == 2
    assert "2 documents have no known word and got no label\n" in outcome.err
    # grain and oil are right, two of four labels: precision 1, recall 1/2.
    assert (found["micro_precision"], found["micro_recall"]) == (1, 0.5)
    outcome = seq2set("evaluate", br_run.path, "--data", tmp_path / "some.csv", "--json", "--top-k", "4")
    assert json.loads(outcome.out)["micro_recall"] == 1
    assert "2 documents have no known word\n" in outcome.err


def test_predict_reads_standard_input(seq2set, br_run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = io.TextIOWrapper(io.BytesIO(b"wheat harvest\ncrude barrels\n"), "ascii")
    monkeypatch.setattr(sys, "stdin", lines)
    outcome = seq2set("predict", br_run.path, "--json")
    answers = [json.loads(line) for line in outcome.out.splitlines()]
    assert [answer["labels"][0]["label"] for answer in answers] == ["grain", "oil"]
    assert outcome.err == "reading texts from standard input, one per line\n"


@pytest.mark.parametrize(("encoding", "told"), [("utf-8", []), ("latin-1", ["--encoding", "latin-1"])])
def test_standard_input_is_read_alike_in_every_locale(
    seq2set, br_run: RunFolder, monkeypatch: pytest.MonkeyPatch, encoding: str, told: list[str]
) -> None:
    # So Python opens it in the locale C: the soft hyphen, which is no part of a word, comes as surrogates.
    lines = io.TextIOWrapper(io.BytesIO("whe\u00adat\n".encode(encoding)), "ascii", "surrogateescape")
    monkeypatch.setattr(sys, "stdin", lines)
    answer = json.loads(seq2set("predict", br_run.path, "--json", *told).out)
    assert (answer["labels"][0]["label"], "note" in answer) == ("grain", False)


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ([], "standard input is not valid utf-8; pass --encoding to name another encoding"),
        (
            ["--encoding", "utf-9"],
            "encoding 'utf-9' is not known; name one such as utf-8, latin-1 or cp1252",
        ),
    ],
)
def test_standard_input_in_another_encoding_is_one_sentence(
    seq2set, br_run: RunFolder, monkeypatch: pytest.MonkeyPatch, told: list[str], sentence: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"wheat f\xfcr harvest\n"), "utf-8"))
    outcome = seq2set("predict", br_run.path, *told)
    said = "reading texts from standard input, one per line\n"
    assert (outcome.code, outcome.err) == (2, f"{said}seq2set: {sentence}\n")


def test_predict_streams_files_of_texts_alone(seq2set, br_run: RunFolder, tmp_path: Path) -> None:
    source = tmp_path / "texts.csv.gz"
    with gzip.open(source, "wt", encoding="utf-8") as stream:
        stream.write("key,body\nx1,wheat harvest\nx2,crude barrels\n")
    outcome = seq2set(
        "predict",
        br_run.path,
        "--input",
        source,
        "--output",
        tmp_path / "out.jsonl",
        "--text",
        "body",
        "--id",
        "key",
    )
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == f"the labels are in {tmp_path / 'out.jsonl'} (texts: 2)\n"
    answers = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [(answer["id"], answer["labels"][0]["label"]) for answer in answers] == [
        ("x1", "grain"),
        ("x2", "oil"),
    ]


def test_predict_limits(seq2set, br_run: RunFolder) -> None:
    answer = json.loads(
        seq2set("predict", br_run.path, "--json", "--min-labels", "2", "--max-labels", "2", "zzz").out
    )
    assert len(answer["labels"]) == 2


def test_predict_takes_texts_from_one_place(seq2set, br_run: RunFolder, tmp_path: Path) -> None:
    outcome = seq2set("predict", br_run.path, "text", "--input", tmp_path / "x.csv")
    assert (outcome.code, "give one of the two" in outcome.err) == (2, True)


def test_a_failed_prediction_leaves_no_half_written_output(
    seq2set, br_run: RunFolder, tmp_path: Path
) -> None:
    source = tmp_path / "bad.jsonl"
    source.write_text('{"text": "wheat"}\nnot json\n', encoding="utf-8")
    outcome = seq2set("predict", br_run.path, "--input", source, "--output", tmp_path / "out.jsonl")
    assert outcome.code == 2
    assert "bad.jsonl, line 2" in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["bad.jsonl"]


def test_a_plain_csv_is_enough_to_train_on(seq2set, tmp_path: Path) -> None:
    rows = "".join(
        f"{'wheat harvest' if n % 2 else 'crude oil'} {n},{'grain|food' if n % 2 else 'oil'}\n"
        for n in range(60)
    )
    (tmp_path / "mine.csv").write_text("abstract,tags\n" + rows, encoding="utf-8")
    outcome = seq2set(
        "train", "--data", tmp_path / "mine.csv", "--model", "br", "--out", tmp_path / "run",
        "--set", "data.text=abstract", "--set", "data.labels=tags", "--set", 'data.separator="|"',
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    answer = json.loads(seq2set("predict", tmp_path / "run", "--json", "wheat").out)
    assert {one["label"] for one in answer["labels"]} == {"grain", "food"}
    assert json.loads(seq2set("evaluate", tmp_path / "run", "--json").out)["micro_f1"] == 1
