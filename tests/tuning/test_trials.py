from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState
from studies import BR_SPACE, NETWORK_SPACE, br_config, network_config, space_file

from seq2set.config import Config, load_config
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.tuning.study import (
    StudyFolder,
    list_stale_trials,
    list_trials,
    open_study,
    start_study,
)
from seq2set.tuning.trials import StudyContext, draw_trial, resume_trial, run_trial
from seq2set.workflows.training_corpus import open_training_corpus


@contextmanager
def open_context(config: Config, folder: Path, space: str) -> Iterator[StudyContext]:
    study_folder = StudyFolder(folder / "study")
    corpus = open_training_corpus(config.data)
    chosen = start_study(study_folder, config, space_file(folder, space), corpus, resume=True)
    with open_study(study_folder) as study:
        yield StudyContext(study_folder, study, config, chosen)


def add_others(study: optuna.Study, looks: list[float]) -> None:
    """Pretend that five trials came to their end, with these looks."""
    for _ in range(5):
        done = optuna.create_trial(value=looks[-1], intermediate_values=dict(enumerate(looks, start=1)))
        study.add_trial(done)


@pytest.mark.parametrize("metric", ["micro_f1", "hamming_loss"])
def test_a_network_that_does_worse_than_the_others_is_given_up(
    metric: str, small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    # Networks look at micro-F1; where a loss is tuned for, its negative stands for it: -1.1 is unbeatable.
    unbeatable = 1.1 if metric == "micro_f1" else -1.1
    config = network_config(small_corpus, f"decision.metric={metric}")
    with open_context(config, tmp_path, NETWORK_SPACE) as place:
        add_others(place.study, [unbeatable, unbeatable, unbeatable])
        drawn = draw_trial(place, 6)
        assert drawn is not None
        run_trial(place, drawn)
        (row,) = [row for row in list_trials(place.study) if row.state == "pruned"]
    # The first look says too little; the second ends it.
    assert (row.number, row.looks) == (5, 2)
    run = place.folder.run(5)
    assert len(run.records()) == 2
    assert not run.model.exists()
    assert not run.checkpoints.exists()


def test_a_linear_model_is_given_up_after_a_c(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    config = br_config(small_corpus, "linear.c=[0.001, 0.01, 0.1]")
    with open_context(config, tmp_path, "features.ngrams = { integer = [1, 2] }") as place:
        add_others(place.study, [1.1, 1.1, 1.1])
        drawn = draw_trial(place, 6)
        assert drawn is not None
        run_trial(place, drawn)
        assert place.study.trials[5].state == TrialState.PRUNED
    assert [record["c"] for record in place.folder.run(5).records()] == [0.001, 0.01]


def test_there_are_no_more_trials_than_wanted(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    with open_context(br_config(small_corpus), tmp_path, BR_SPACE) as place:
        assert draw_trial(place, 1) is not None
        assert draw_trial(place, 1) is None
        assert list_stale_trials(place.study) == [0]


def test_a_trial_that_was_stopped_is_taken_up_with_its_values(
    small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    config = br_config(small_corpus)
    with open_context(config, tmp_path, BR_SPACE) as place:
        first = draw_trial(place, 2)
        assert first is not None
        half = place.study.ask()  # killed after one value was drawn
        half.suggest_float("linear.c", 0.01, 10.0, log=True)
        place.folder.run(0).checkpoints.mkdir(parents=True)  # killed before the settings were written
    with open_context(config, tmp_path, BR_SPACE) as place:
        assert list_stale_trials(place.study) == [0, 1]
        again = resume_trial(place, 0)
        assert again.config == first.config
        run_trial(place, again)
        other = resume_trial(place, 1)
        assert other.config.linear.c == (half.params["linear.c"],)
        # A run that was begun keeps its settings, here the threads of a worker.
        run_trial(place, other._replace(config=other.config.model_copy(update={"threads": 1})))
        assert [row.state for row in list_trials(place.study)] == ["complete", "complete"]
        assert list_trials(place.study)[1].settings.keys() == other.trial.params.keys()
    assert load_config(place.folder.run(0).config) == first.config
    assert load_config(place.folder.run(1).config).threads == 1


def test_a_model_that_was_finished_before_it_was_told_counts(
    small_corpus: PreparedCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_context(br_config(small_corpus), tmp_path, BR_SPACE) as place:
        drawn = draw_trial(place, 1)
        assert drawn is not None
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(place.study, "tell", interrupted)
            run_trial(place, drawn)
        model = place.folder.run(0).model / "manifest.json"
        written = model.stat().st_mtime_ns
        run_trial(place, resume_trial(place, 0))
        (row,) = list_trials(place.study)
        assert row.state == "complete"
        assert model.stat().st_mtime_ns == written


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt
