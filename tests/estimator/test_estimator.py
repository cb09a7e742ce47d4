from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import seq2set
from seq2set import Seq2SetClassifier
from seq2set.models.tagger import Examples
from seq2set.workflows.training_data import carve_validation


def as_sets(label_sets):
    return [frozenset(one) for one in label_sets]


def test_it_learns_and_predicts_tuples(fitted, unseen) -> None:
    assert fitted.predict(["the wheat harvest of crude barrels", "the market"]) in (
        [("grain", "oil"), ()],
        [("oil", "grain"), ()],
    )
    assert as_sets(fitted.predict(unseen.texts)) == as_sets(unseen.label_sets)
    assert fitted.score(unseen.texts, unseen.label_sets) == 1


def test_attributes_after_fit(fitted) -> None:
    assert fitted.classes_.tolist() == ["grain", "oil", "trade"]
    assert fitted.n_labels_ == 3
    assert fitted.tagger_.labels.names != ("grain", "oil", "trade")  # by frequency; columns are reordered
    assert fitted.metadata_["corpus"]["train"] == 81
    assert fitted.metadata_["corpus"]["valid"] == 9
    assert [record["c"] for record in fitted.history_] == [10]


def test_probabilities_stand_in_the_columns_of_their_classes(fitted) -> None:
    texts = ["wheat harvest", "crude barrels", "tariff exports"]
    scores = fitted.predict_proba(texts)
    assert scores.shape == (3, 3)
    assert scores.argmax(axis=1).tolist() == [0, 1, 2]
    assert np.all((scores >= 0) & (scores <= 1))


def test_no_texts_give_no_predictions(fitted) -> None:
    assert fitted.predict([]) == []
    assert fitted.predict_proba([]).shape == (0, 3)


def test_more_texts_than_a_batch(fitted, data) -> None:
    many = data.texts * 6  # 540, a batch holds 512
    assert fitted.predict(many) == fitted.predict(data.texts) * 6
    assert np.array_equal(fitted.predict_proba(many), np.tile(fitted.predict_proba(data.texts), (6, 1)))


def test_score_is_micro_f1(fitted) -> None:
    # Given: grain, oil. Right: grain and one that training never saw. 1 right of 2 given and 2 actual.
    texts, actual = ["wheat harvest", "crude barrels"], [("grain", "wool"), ()]
    assert fitted.predict(texts) == [("grain",), ("oil",)]
    assert fitted.score(texts, actual) == pytest.approx(2 * 1 / (2 + 2))


def test_the_same_seed_gives_the_same_model_and_another_seed_another(make_quick, data) -> None:
    small = {"encoder.embedding": 8, "cnn.filters": 8, "likelihood.epochs": 1}

    def scores(state, model="cnn"):
        tagger = make_quick(random_state=state, model=model, settings=small)
        return tagger.fit(data.texts, data.label_sets).predict_proba(data.texts)

    assert np.array_equal(scores(3), scores(np.int64(3)))
    assert np.array_equal(scores(np.random.RandomState(4)), scores(np.random.RandomState(4)))
    assert not np.array_equal(scores(3), scores(4))
    assert not np.array_equal(scores(None), scores(None))
    assert np.array_equal(scores(3, "br"), scores(4, "br"))  # which draws nothing at random


def test_the_texts_say_which_are_set_aside(data) -> None:
    examples = Examples(data.texts, data.label_sets)
    one, same = (carve_validation(examples, 0.3) for _ in range(2))
    assert (len(one.learn), len(one.tune)) == (63, 27)
    assert sorted(one.learn.ids + one.tune.ids) == sorted(examples.ids)
    assert one.tune.ids == same.tune.ids


def test_no_label_is_set_aside_whole(make_quick, data) -> None:
    # Of 12 labels that one text has each, all are known, although half of all texts is set aside.
    labels = [(*one, f"only-{n}") if n < 12 else one for n, one in enumerate(data.label_sets)]
    tagger = make_quick(validation_fraction=0.5).fit(data.texts, labels)
    assert tagger.metadata_["corpus"]["valid"] == tagger.about_["corpus"]["valid"] == 45
    assert tagger.n_labels_ == 15


def test_too_few_texts_to_set_any_aside(make_quick) -> None:
    with pytest.warns(
        UserWarning, match="none of the 2 texts could be set aside .* give more texts a label"
    ) as seen:
        tagger = make_quick(settings={"text.min_frequency": 1, "features.min_documents": 1}).fit(
            ["wheat", "crude"], [["grain"], ["oil"]]
        )
    assert seen[0].filename == __file__  # it points at the call of fit
    assert tagger.predict(["wheat", "crude"]) == [("grain",), ("oil",)]


def test_verbose_tells_on_standard_error(make_quick, data, capsys: pytest.CaptureFixture[str]) -> None:
    make_quick().fit(data.texts, data.label_sets)
    assert capsys.readouterr() == ("", "")
    make_quick(verbose=True).fit(data.texts, data.label_sets)
    out, err = capsys.readouterr()
    assert out == ""
    assert "[Seq2SetClassifier] features: 0." in err
    assert "[Seq2SetClassifier] one classifier per label, C = 10: 0." in err


def test_the_package_names_it_late() -> None:
    code = (
        "import sys, seq2set\n"
        "assert 'Seq2SetClassifier' in dir(seq2set)\n"
        "assert not {'numpy', 'torch', 'sklearn', 'pyarrow'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert seq2set.Seq2SetClassifier is Seq2SetClassifier
    assert seq2set.__all__ == ["Seq2SetClassifier", "__version__"]
    with pytest.raises(AttributeError, match="module 'seq2set' has no attribute 'Seq2SetClasifier'"):
        _ = seq2set.Seq2SetClasifier
