from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fake_cells import fake_cells
from small_experiments import small_options

from seq2set.config.catalog import REWARDS
from seq2set.core.errors import InputError, UnknownNameError
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.experiments.options import Options
from seq2set.experiments.render.tables import format_entry
from seq2set.experiments.run import run_experiment
from seq2set.experiments.studies.reward import STUDY as REWARD
from seq2set.experiments.studies.trade_off import STUDY as TRADE_OFF

BOTH = ("seq2set-simp", "seq2set")


def options_for(corpus: PreparedCorpus, out: Path, *models: str, **extra: str) -> Options:
    made = small_options(corpus, out, models, seeds=(1,), extra=extra)
    own = ("self_critical.epochs=1", "objective.lambda=0.95", "objective.reward=f1")
    return replace(made, assignments=(*made.assignments, *own))


def leave_out(options: Options, setting: str) -> Options:
    """An experiment refuses a setting that it decides in all of its cells."""
    kept = tuple(one for one in options.assignments if not one.startswith(setting))
    return replace(options, assignments=kept)


def test_lambdas_and_their_cells(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    cells = TRADE_OFF.cells(options_for(small_corpus, tmp_path, "seq2set"))
    assert [cell.config.objective.lambda_ for cell in cells] == [0, 0.2, 0.5, 0.8, 0.95, 1]
    # The usual lambda is the training that every experiment shares.
    assert [cell.name for cell in cells][3:] == [
        "seq2set-lambda-0.8-seed1",
        "seq2set-seed1",
        "seq2set-lambda-1-seed1",
    ]
    some = TRADE_OFF.cells(options_for(small_corpus, tmp_path, "seq2set", lambdas="1, 0.25,1"))
    assert [cell.config.objective.lambda_ for cell in some] == [0.25, 1]


@pytest.mark.parametrize("text", ["", "half", "0.5,1.5", "-0.1", "nan", "0.5,,1"])
def test_wrong_lambdas(small_corpus: PreparedCorpus, tmp_path: Path, text: str) -> None:
    with pytest.raises(
        InputError,
        match=f"--option lambdas is '{text}'; it must be numbers with commas between, each from 0 to 1",
    ):
        TRADE_OFF.cells(options_for(small_corpus, tmp_path, "seq2set", lambdas=text))


def test_settings_that_nothing_would_read_are_refused(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match="--models has br; it must be among seq2set: only seq2set has two decoders"
    ):
        TRADE_OFF.cells(options_for(small_corpus, tmp_path, "br", "seq2set"))
    with pytest.raises(
        InputError, match="--models has br; it must be among seq2set-simp, seq2set: the others are"
    ):
        REWARD.cells(options_for(small_corpus, tmp_path, "br"))
    idle = options_for(small_corpus, tmp_path, "seq2set")
    idle = replace(idle, assignments=(*idle.assignments, "self_critical.epochs=0"))
    with pytest.raises(
        InputError, match="self_critical.epochs is 0; it must be >= 1, for objective.lambda is read in that"
    ):
        TRADE_OFF.cells(idle)
    with pytest.raises(InputError, match="for objective.reward is read in that phase only"):
        REWARD.cells(idle)


def test_what_lambda_changes(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    options = replace(options_for(small_corpus, tmp_path, "seq2set", lambdas="0,0.5,0.95,1"), seeds=(1, 2, 3))
    skill = {0.0: 0.2, 0.5: 0.9, 0.95: 0.95, 1.0: 0.9}
    fake_cells(TRADE_OFF.cells(options), lambda cell: skill[cell.config.objective.lambda_])
    first, _ = run_experiment("lambda", options).findings.sections
    table, margins = first.tables
    assert table.rows_are == "Lambda"
    assert [row.name for row in table.rows] == ["λ = 0", "λ = 0.5", "λ = 0.95", "λ = 1"]
    best = format_entry(table.rows[2].entries[3]).split(" ")[0]
    worst = format_entry(table.rows[0].entries[3]).split(" ")[0]
    assert first.found[0] == f"Validation would choose λ = 0.95 (micro-F1 {best} there, {best} on test)."
    said, _, rest = first.found[1].partition(" lie ")
    assert said == "Between the highest (λ = 0.95) and the lowest (λ = 0)"
    assert float(rest.split(" ")[0]) == pytest.approx(100 * (float(best) - float(worst)), abs=0.11)
    assert first.found[1].endswith("1 of the 3 others are significantly worse than λ = 0.95.")
    assert first.found[2] == "The paper chose 0.80 on RCV1-V2 and 0.95 on AAPD, and shows no curve."
    assert first.found[3].startswith("With λ = 0 the set decoder stays")
    assert first.found[4].startswith("With λ = 1 only the policy gradient is left")
    assert [row.name for row in margins.rows] == [f"λ = {value} over λ = 0.95" for value in ("0", "0.5", "1")]
    (figure,) = first.figures
    assert figure.caption.endswith("Shades: the deviation over seeds.")
    for text in (">0.95<", ">validation<", ">test<"):
        assert text in figure.svg


def test_one_lambda_alone(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    options = leave_out(options_for(small_corpus, tmp_path, "seq2set", lambdas="0.5"), "objective.lambda")
    fake_cells(TRADE_OFF.cells(options), lambda cell: 0.5)
    first, _ = run_experiment("lambda", options).findings.sections
    assert len(first.tables) == 1
    assert len(first.found) == 2
    assert first.figures[0].caption == "Micro-F1 of Seq2Set over λ."


def test_rewards_and_their_cells(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    cells = REWARD.cells(options_for(small_corpus, tmp_path, *BOTH))
    assert [cell.config.objective.reward for cell in cells] == [*REWARDS] * 2
    assert {"f1", "hamming", "jaccard", "micro_f1", "subset_accuracy"} <= set(REWARDS)
    # The reward that the settings have is the training that every experiment shares.
    second = [cell.name for cell in cells][len(REWARDS) :]
    assert second[:2] == ["seq2set-seed1", "seq2set-reward-hamming-seed1"]
    some = REWARD.cells(options_for(small_corpus, tmp_path, "seq2set", rewards="f1,jaccard"))
    assert len(some) == 2
    with pytest.raises(
        UnknownNameError, match="--option rewards: 'jacard' is not known, did you mean 'jaccard'"
    ):
        REWARD.cells(options_for(small_corpus, tmp_path, "seq2set", rewards="jacard"))


def test_rewards_are_compared_with_the_papers(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    options = replace(
        options_for(small_corpus, tmp_path, *BOTH, rewards="f1,hamming,jaccard"), seeds=(1, 2, 3)
    )
    skill = {"f1": 0.5, "hamming": 0.6, "jaccard": 0.95}
    fake_cells(REWARD.cells(options), lambda cell: skill[cell.config.objective.reward])
    first, other, _ = run_experiment("reward", options).findings.sections
    assert [row.name for row in first.tables[1].rows] == [
        f"{model}, {name} over {model}, f1"
        for model in ("Seq2Set (simp.)", "Seq2Set")
        for name in ("hamming", "jaccard")
    ]
    over = [format_entry(row.entries[0]) for row in first.tables[1].rows]
    assert first.found[0] == (
        f"Seq2Set (simp.), significantly better than f1: jaccard ({over[1]} points); not significantly "
        f"different: hamming ({over[0]} points)."
    )
    scores = {row.name: format_entry(row.entries[0]).split(" ")[0] for row in first.tables[0].rows}
    example = {row.name: format_entry(row.entries[1]).split(" ")[0] for row in other.tables[0].rows}
    name = "Seq2Set (simp.)"
    assert other.found[0] == (
        f"{name}, first on the measure that it rewards (not tested): none; behind another on it: "
        f"f1 (example F1 {example[f'{name}, f1']}; jaccard "
        f"{example[f'{name}, jaccard']}) and hamming (hamming loss {scores[f'{name}, hamming']}; jaccard "
        f"{scores[f'{name}, jaccard']})."
    )


def test_rewards_that_are_worse_and_that_cannot_be_told_apart(
    small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    options = replace(
        options_for(small_corpus, tmp_path, "seq2set", rewards="f1,hamming,jaccard"), seeds=(1, 2, 3)
    )
    skill = {"f1": 0.9, "hamming": 0.3, "jaccard": 0.9}
    fake_cells(REWARD.cells(options), lambda cell: skill[cell.config.objective.reward])
    first, *_ = run_experiment("reward", options).findings.sections
    over = [format_entry(row.entries[0]) for row in first.tables[1].rows]
    assert first.found == (
        f"Seq2Set, significantly better than f1: none; significantly worse: hamming ({over[0]} points); "
        f"not significantly different: jaccard ({over[1]} points).",
    )


def test_a_reward_that_pays_on_its_own_measure(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    given = options_for(small_corpus, tmp_path, "seq2set", rewards="micro_f1,jaccard")
    options = leave_out(given, "objective.reward")
    fake_cells(REWARD.cells(options), lambda cell: 0.9 if "micro" in cell.row else 0.5)
    first, other, _ = run_experiment("reward", options).findings.sections
    best = format_entry(first.tables[0].rows[0].entries[3])
    # Without the paper's reward there is nothing to compare with.
    assert len(first.tables) == 1
    assert first.found == ()
    assert other.found == (
        f"Seq2Set, first on the measure that it rewards (not tested): micro_f1 (micro-F1 {best}).",
    )
