"""Studies and a corpus that is not the one that they were begun on: trials on both cannot be compared."""

from __future__ import annotations

from pathlib import Path

import pytest
from studies import BR_SPACE, br_config, cells, space_file

from changing_corpora import all_documents, contents, with_one_label_rare, write_prepared
from seq2set.core.errors import ConfigError, InputError
from seq2set.core.progress import Silent
from seq2set.corpora.documents import Document
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.tuning.search import tune

pytestmark = pytest.mark.usefixtures("undrawn")

REFUSED = (
    "study was begun on another corpus than small is now .* put the corpus back as it was, or name another"
)


@pytest.fixture
def documents(small_corpus: PreparedCorpus) -> list[Document]:
    return all_documents(small_corpus)


def unvalidated(documents: list[Document]) -> list[Document]:
    return [one._replace(split="train" if one.split == "valid" else one.split) for one in documents]


@pytest.mark.parametrize("recorded", [True, False])
def test_a_study_does_not_go_on_with_another_corpus(
    documents: list[Document], tmp_path: Path, recorded: bool
) -> None:
    corpus, out = write_prepared(tmp_path / "corpus", documents), tmp_path / "study"
    config, space = br_config(corpus, "linear.c=[1]"), space_file(tmp_path, BR_SPACE)
    tune(config, out, space=space, trials=1)
    if not recorded:  # as an earlier version left it: the model's own record is what there is
        (out / "study.json").unlink()
        (out / "trials" / "0000" / "run.json").unlink()
    kept = contents(out)
    write_prepared(corpus.folder, with_one_label_rare(documents))
    with pytest.raises(InputError, match=REFUSED) as caught:
        tune(config, out, trials=2, resume=True)
    assert f"(fingerprint {corpus.fingerprint}, now " in str(caught.value)
    assert contents(out) == kept
    write_prepared(corpus.folder, documents)
    tune(config, out, trials=2, resume=True)
    assert [cell.state for cell in cells(out)] == ["complete"] * 2


def test_a_corpus_that_changes_while_a_study_runs_ends_it(documents: list[Document], tmp_path: Path) -> None:
    corpus, out = write_prepared(tmp_path / "corpus", documents), tmp_path / "study"
    config, space = br_config(corpus, "linear.c=[1]"), space_file(tmp_path, BR_SPACE)

    class Changing(Silent):
        def note(self, sentence: str) -> None:
            write_prepared(corpus.folder, with_one_label_rare(documents))

    with pytest.raises(InputError, match=REFUSED):
        tune(config, out, space=space, trials=2, progress=Changing())
    assert not (out / "trials" / "0001").exists()
    write_prepared(corpus.folder, documents)
    tune(config, out, trials=2, resume=True)
    assert [cell.state for cell in cells(out)] == ["complete"] * 2


def test_a_carved_study_keeps_to_its_corpus_and_share(documents: list[Document], tmp_path: Path) -> None:
    corpus = write_prepared(tmp_path / "corpus", unvalidated(documents))
    config, out, space = br_config(corpus, "linear.c=[1]"), tmp_path / "study", space_file(tmp_path, BR_SPACE)
    tune(config, out, space=space, trials=1, carve=0.25)
    with pytest.raises(ConfigError, match="study was created with --carve 0.25; pass the same"):
        tune(config, out, trials=2, carve=0.2, resume=True)
    write_prepared(corpus.folder, with_one_label_rare(unvalidated(documents)))
    with pytest.raises(InputError, match=REFUSED):
        tune(config, out, trials=2, carve=0.25, resume=True)
    write_prepared(corpus.folder, unvalidated(documents))
    tune(config, out, trials=2, carve=0.25, resume=True)
    assert [cell.state for cell in cells(out)] == ["complete"] * 2
