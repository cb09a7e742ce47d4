from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from seq2set.config import build_config
from seq2set.config.catalog import MODELS
from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import InputError, UnknownNameError
from seq2set.core.hardware import describe_machine, read_cpu_name
from seq2set.core.progress import Silent
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.experiments import EXPERIMENTS, load_study
from seq2set.experiments.options import Options, is_deterministic, parse_files, parse_models, parse_seeds
from seq2set.models.br import train_br
from seq2set.models.cc import train_cc
from seq2set.models.lp import train_lp
from seq2set.models.tagger import Tagger
from seq2set.workflows.training_data import load_examples


def test_models_stand_in_the_papers_order() -> None:
    assert parse_models("seq2set, seq2set-simp,br,br") == ("br", "seq2set-simp", "seq2set")
    assert parse_models("all") == tuple(MODELS)
    paper = ("br", "cc", "lp", "cnn", "cnn-rnn", "seq2seq", "seq2set-simp", "seq2set")
    assert tuple(MODELS)[: len(paper)] == paper
    assert MODELS["seq2set-simp"].title == "Seq2Set (simp.)"


def test_a_model_of_ones_own_comes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODELS, "alpha", MODELS["br"])
    assert parse_models("alpha,seq2set") == ("seq2set", "alpha")


def test_wrong_names_are_one_sentence() -> None:
    with pytest.raises(UnknownNameError, match="model 'seq2st' is not known, did you mean 'seq2set'"):
        parse_models("br,seq2st")
    with pytest.raises(
        InputError, match="--models is ','; it must name models, with commas between, or be 'all'"
    ):
        parse_models(",")
    with pytest.raises(UnknownNameError, match="experiment 'compar' is not known, did you mean 'compare'"):
        load_study("compar")


def test_seeds() -> None:
    assert parse_seeds("3, 1,3") == (3, 1)
    for text in ("", "1,x", "-1", "1.5", "²"):
        with pytest.raises(InputError, match=f"--seeds is '{text}'; it must be whole numbers >= 0"):
            parse_seeds(text)


def test_only_what_draws_at_random_needs_seeds() -> None:
    assert is_deterministic(build_config(model="br"))
    assert not is_deterministic(build_config(model="seq2set"))


@pytest.mark.parametrize(("model", "train"), [("br", train_br), ("cc", train_cc), ("lp", train_lp)])
def test_what_needs_no_seeds_is_the_same_with_any(
    tmp_path: Path, small_corpus: PreparedCorpus, model: str, train: Callable[..., Tagger]
) -> None:
    learn, tune = load_examples(small_corpus.split("train")), load_examples(small_corpus.split("valid"))
    tensors = []
    for seed in (1, 2):
        # At this tolerance the optimiser stops so early that another order of documents would show.
        settings = [f"seed={seed}", "features.min_documents=1", "linear.tolerance=0.5", "linear.c=[10.0]"]
        config = build_config(model=model, assignments=settings)
        assert is_deterministic(config)
        run = RunFolder.start(tmp_path / f"{model}-{seed}", config)
        tensors.append(train(config, learn, tune, run, Silent()).state().tensors)
    assert tensors[0].keys() == tensors[1].keys()
    assert all(np.array_equal(tensors[0][name], tensors[1][name]) for name in tensors[0])


def test_chains_in_random_order_need_seeds() -> None:
    chain = build_config(model="cc", assignments=['chain.order="random"'])
    assert not is_deterministic(chain)
    assert is_deterministic(build_config(model="cc"))


def test_a_model_may_have_settings_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "best.toml"
    file.write_text('model = "seq2set"\nseed = 9\nthreads = 1\n[linear]\nc = [2.0]\n', encoding="utf-8")
    files = parse_files([f"br={file}"])
    options = Options("medline", tmp_path, ("br",), files=files, assignments=("threads=2",))
    config = options.config("br", 4, "features.ngrams=1")
    assert (config.model, config.seed, config.linear.c, config.threads) == ("br", 4, (2.0,), 2)
    assert (config.data.corpus, config.features.ngrams) == ("medline", 1)
    assert options.config("seq2set", 4).linear.c != (2.0,)
    with pytest.raises(InputError, match="--config is 'best.toml'; it must have the form MODEL=FILE"):
        parse_files(["best.toml"])


def test_numbers_below_one_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--jobs is 0; it must be >= 1"):
        Options("medline", tmp_path, ("br",), jobs=0)


def test_the_machine_is_named(tmp_path: Path) -> None:
    facts = tmp_path / "cpuinfo"
    facts.write_text("processor\t: 0\nmodel name\t: Abacus 3000\n", encoding="utf-8")
    assert read_cpu_name(facts) == "Abacus 3000"
    assert read_cpu_name(tmp_path / "absent")
    assert describe_machine(3)["threads"] == 3
    assert describe_machine(3).keys() >= {"seq2set", "python", "torch", "system", "cpu", "cores"}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_page_of_experiments_tells_of_each_with_its_options(name: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text(encoding="utf-8")
    (row,) = [line for line in page.splitlines() if line.startswith(f"| `{name}` |")]
    told = {code.partition("=")[0] for code in row.split("|")[4].split("`")[1::2]}
    assert set(EXPERIMENTS[name].options) <= told
