"""Options that have no effect where they stand are refused, or a sentence says so: nobody relies on one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from changing_corpora import all_documents, write_jsonl
from seq2set.config.run_folder import RunFolder
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.inference.model_folder import read_metadata

BR = ("--model", "br", "--set", "linear.c=[1]", "--set", "features.min_documents=1")
PREPARED = "a corpus that is prepared or known, whose texts, labels and splits are fixed"


@pytest.fixture
def desk(br_run: RunFolder, small_corpus: PreparedCorpus, tmp_path: Path) -> dict[str, str]:
    """What the arguments of tests stand for."""
    write_jsonl(tmp_path / "mine.jsonl", all_documents(small_corpus))
    (tmp_path / "mine.csv").write_text("text,labels\n" + "wheat,grain\ncrude,oil\n" * 20, encoding="utf-8")
    (tmp_path / "valid.csv").write_text("text,labels\nwheat,grain\n", encoding="utf-8")
    return {
        "PREPARED": str(small_corpus.folder),
        "RUN": str(br_run.path),
        "JSONL": str(tmp_path / "mine.jsonl"),
        "CSV": str(tmp_path / "mine.csv"),
        "VALID": str(tmp_path / "valid.csv"),
        "OUT": str(tmp_path / "out"),
    }


def fill(desk: dict[str, str], arguments: str) -> list[str]:
    return [desk.get(one, one) for one in arguments.split()]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            "train --data PREPARED --out OUT --set data.test=0",
            f"--set data.test has no effect on {{PREPARED}}, {PREPARED}",
        ),
        ("distill RUN --data PREPARED --out OUT --set data.valid=9", "--set data.valid has no effect on"),
        ("tune --data PREPARED --out OUT --set data.text=x", "--set data.text has no effect on"),
        (
            "experiment compare --data PREPARED --out OUT --set data.test=0",
            "--set data.test has no effect on",
        ),
        ("evaluate RUN --text x", f"--text has no effect on {{PREPARED}}, {PREPARED}"),
        ("evaluate RUN --test 0.5 --no-test", "--test and --no-test have no effect on {PREPARED}"),
        ("tune --thresholds RUN --labels x", "--labels has no effect on {PREPARED}"),
        (
            "data prepare reuters --from CSV --text x --labels y",
            "--text and --labels have no effect on reuters",
        ),
        ("train --data CSV --out OUT --sheet a", "--sheet has no effect on files in the format CSV"),
        (
            "train --data JSONL --out OUT --delimiter ;",
            "--delimiter has no effect on files in the format JSON",
        ),
        ("data stats JSONL --plain-quotes", "--plain-quotes has no effect on files in the format JSON"),
        ("predict RUN --input CSV --sheet a", "--sheet has no effect on files in the format CSV"),
        (
            "train --data CSV --out OUT --valid VALID --split-column labels",
            "--split-column has no effect beside --valid with a file, which is that split",
        ),
        (
            "train --data CSV --out OUT --labels x --separator ; --label-columns y",
            "--labels and --separator have no effect beside --label-columns",
        ),
        (
            "data prepare own --from CSV --split random --split-column x",
            "--split-column has no effect with --split",
        ),
        (
            "data prepare own --from CSV --split random --valid VALID",
            "--valid has no effect as a file with --split",
        ),
        ("train --data PREPARED --out OUT --set preset=best", "--set preset has no effect; pass --preset"),
        (
            "train --data PREPARED --out OUT --model br --set model=lp",
            "--set model has no effect; pass --model",
        ),
        ("train --data PREPARED --out OUT --model br --ensemble 3", "--ensemble is 3, but br is no network"),
        ("distill RUN --data PREPARED --out OUT --set model=br", "--set model has no effect; pass --model"),
        (
            "distill RUN --data PREPARED --out OUT --unlabelled CSV --folds 0 --share 0.9",
            "--share has no effect with",
        ),
        ("evaluate RUN --force", "--force has no effect without --report or --errors; leave it out"),
        ("evaluate RUN --evidence-documents 9", "--evidence-documents has no effect without --evidence"),
        ("evaluate RUN --json --show 1", "--show has no effect with --json, which has no place for text"),
        ("evaluate RUN --show -1", "Invalid value for '--show'"),
        (
            "predict RUN wheat --text x --encoding latin-1",
            "--text and --encoding have no effect on texts that are",
        ),
        ("predict RUN --sheet x", "--sheet has no effect on lines of standard input"),
        ("predict RUN wheat --format csv --force", "--force and --format have no effect without --output"),
        ("predict RUN --input CSV --output OUT.csv --json", "--json has no effect with --output"),
        ("predict RUN --input CSV --output OUT.csv --shard-size 9", "--shard-size has no effect on OUT.csv"),
        ("predict RUN wheat --address auto", "--address has no effect without --engine ray"),
        ("tune --data PREPARED --out OUT --address auto", "--address has no effect without --engine ray"),
        ("experiment compare --data PREPARED --out OUT --address auto", "--address has no effect without"),
        (
            "tune --thresholds RUN --out OUT --trials 3 --set seed=4",
            "--out, --set and --trials have no effect with",
        ),
        ("tune --thresholds RUN --calibrate RUN", "--thresholds and --calibrate are both given"),
        ("tune --thresholds RUN --confidence 0.5", "--confidence has no effect without --accept"),
        ("tune --thresholds RUN --accept precision=0.9 --kind top-k", "--kind has no effect with --accept"),
        (
            "tune --calibrate RUN --kind top-k --metric macro_f1",
            "--kind and --metric have no effect with --calibrate",
        ),
        (
            "tune --thresholds RUN --kind global --undo --data PREPARED --dry-run",
            "--data and --dry-run have no effect with --undo",
        ),
        ("tune --data PREPARED --out OUT --kind top-k", "--kind has no effect without --thresholds"),
        ("export RUN --max-loss 0.5", "--max-loss has no effect without --int8"),
        ("bench metrics --quick --out OUT --minutes 1", "--out and --minutes have no effect on metrics"),
        ("serve RUN --max-feedback-bytes 9", "--max-feedback-bytes has no effect without --feedback"),
        ("data clean medline --all", "--all deletes everything, and medline is named; give one of the two"),
        (
            "experiment compare --data PREPARED --out OUT --set data.corpus=CSV",
            "--set data.corpus has no effect; pass",
        ),
        (
            "experiment compare --data PREPARED --out OUT --set seed=2",
            "--set seed has no effect; pass --seeds",
        ),
        (
            "experiment compare --data PREPARED --out OUT --models br --config cnn=CSV",
            "--config is given for cnn, but --models is br; leave it out",
        ),
        (
            "experiment compare --data PREPARED --out OUT --config br=CSV --config br=VALID",
            "--config names br twice: CSV and VALID; give one of them",
        ),
        (
            "experiment remove-frequent --data PREPARED --out OUT --retrain --option retrain=no",
            "--option retrain has no effect; pass --retrain alone",
        ),
        (
            "experiment lambda --data PREPARED --out OUT --set objective.lambda=0.3 --dry-run",
            "--set objective.lambda has no effect on lambda, which sets it itself; leave it out",
        ),
    ],
    ids=lambda one: one if one.startswith(("train", "predict", "evaluate", "tune")) else None,
)
def test_an_option_without_effect_is_refused(
    seq2set, desk: dict[str, str], arguments: str, sentence: str
) -> None:
    outcome = seq2set(*fill(desk, arguments))
    said = " ".join(outcome.err.split())
    assert (outcome.code, sentence.format(**desk) in said) == (2, True), outcome.err
    assert not Path(desk["OUT"]).exists()


@pytest.mark.parametrize("call", ["evaluate RUN --search beam", "predict RUN wheat --search beam"])
def test_a_search_where_there_is_no_decoder_is_mentioned(seq2set, desk: dict[str, str], call: str) -> None:
    outcome = seq2set(*fill(desk, call))
    said = "--search has no effect on br, without a decoder to search"
    assert (outcome.code, said in outcome.err) == (0, True), outcome.err


def test_a_setting_that_the_model_does_not_read_is_named(seq2set, desk: dict[str, str]) -> None:
    told = fill(desk, "train --data PREPARED --out OUT --set encoder.hidden=3 --set cnn.filters=9")
    outcome = seq2set(*told, *BR)
    assert outcome.code == 0, outcome.err
    assert "encoder.hidden and cnn.filters have no effect on br" in outcome.err
    assert "linear.c" not in outcome.err
    told = fill(desk, "experiment compare --data PREPARED --out OUT --models br,cnn --dry-run")
    outcome = seq2set(*told, "--set", "decoder.hidden=3", "--set", "cnn.filters=9")
    assert outcome.code == 0, outcome.err
    assert "decoder.hidden has no effect on br and cnn" in outcome.err


def test_columns_of_texts_without_labels_are_read_beside_a_prepared_corpus(
    seq2set, desk: dict[str, str]
) -> None:
    body = Path(desk["VALID"]).with_name("body.csv")
    body.write_text("body\nwheat and more\n", encoding="utf-8")
    call = fill(desk, "distill RUN --data PREPARED --out OUT --folds 0 --text body --unlabelled")
    outcome = seq2set(*call, body, *BR)
    assert outcome.code == 0, outcome.err
    assert read_metadata(Path(desk["OUT"]))["teacher"]["texts"] == 1
    outcome = seq2set(*call, body, *BR, "--labels", "x")
    assert (outcome.code, "--labels has no effect on" in outcome.err) == (2, True)


def test_a_split_of_another_file_is_taken_where_its_size_is_given(seq2set, desk: dict[str, str]) -> None:
    def count(*more: str) -> int:
        told = seq2set(*fill(desk, "evaluate RUN --data CSV --include-seen --json"), *more)
        return int(json.loads(told.out)["documents"])

    assert (count(), count("--test", "0.25"), count("--valid", "4", "--split", "valid")) == (40, 10, 4)
    outcome = seq2set(*fill(desk, "evaluate RUN --data CSV --no-test"))
    assert (outcome.code, "the split 'test' is empty" in outcome.err) == (2, True)


def test_what_is_shown_is_predicted_as_it_was_asked_for(seq2set, desk: dict[str, str]) -> None:
    plain = seq2set(*fill(desk, "evaluate RUN --show 1"))
    all_labels = seq2set(*fill(desk, "evaluate RUN --show 1 --threshold 0"))
    assert all_labels.out.count("✓") + all_labels.out.count("✗") == 4 > plain.out.count("✓")


def test_figures_of_labels_are_in_the_json_too(seq2set, desk: dict[str, str]) -> None:
    told = json.loads(seq2set(*fill(desk, "evaluate RUN --json --per-label")).out)
    assert {row["label"] for row in told["per_label"]} == {"grain", "oil", "trade", "money"}
    assert "per_label" not in json.loads(seq2set(*fill(desk, "evaluate RUN --json")).out)


def test_a_cross_validated_training_goes_on_with_its_folds(seq2set, desk: dict[str, str]) -> None:
    out = Path(desk["OUT"])
    assert seq2set(*fill(desk, "train --data JSONL --out OUT --folds 3"), *BR).code == 0
    weights = (out / "model" / "model.safetensors").read_bytes()
    shutil.rmtree(out / "model")
    outcome = seq2set("train", "--out", out, "--resume", "--folds", 4)
    assert (outcome.code, "was begun with --folds 3, not 4; leave --folds out" in outcome.err) == (2, True)
    outcome = seq2set("train", "--out", out, "--resume")
    assert outcome.code == 0, outcome.err
    assert (out / "model" / "model.safetensors").read_bytes() == weights
    assert read_metadata(out)["cross_validation"]["folds"] == 3
    shutil.rmtree(out / "model")
    (out / "folds" / "count.json").write_text("{}", encoding="utf-8")
    outcome = seq2set("train", "--out", out, "--resume")
    assert (outcome.code, "count.json is damaged; name another --out" in outcome.err) == (2, True)
