import lzma

import pytest

from seq2set.core.errors import CorpusError, InputError
from seq2set.corpora.documents import Document
from seq2set.corpora.open_corpus import prepare_source
from seq2set.corpora.prepare import PrepareOptions
from seq2set.corpora.sources import read_source
from seq2set.corpora.sources.aapd import KNOWN, FigureCounter, Figures, list_differences, recognise

LINES = {
    "train": [("one two three", "cs.AI cs.LG cs.AI"), ("four", "cs.LG")],
    "val": [("five six", "cs.AI")],
    "test": [("seven eight", "math.OC cs.AI")],
}


@pytest.fixture
def folder(tmp_path):
    for split, rows in LINES.items():
        for kind, column in (("text", 0), ("label", 1)):
            text = "".join(row[column] + "\n" for row in rows)
            (tmp_path / f"{kind}_{split}.xz").write_bytes(lzma.compress(text.encode()))
    return tmp_path


def test_documents_are_split_as_given_with_repeated_labels_folded(folder):
    documents = list(read_source("aapd", folder, PrepareOptions()))
    assert documents[0] == Document("train-1", "one two three", ("cs.AI", "cs.LG"), "train")
    assert [document.split for document in documents] == ["train", "train", "valid", "test"]


def test_figures_are_counted_by_hand():
    # 4 documents, 2 + 1 + 1 + 2 = 6 labels: 1.5 per document; 3 + 1 + 2 + 2 = 8 words: 2 per document.
    counter = FigureCounter()
    documents = [
        Document("1", "one two three", ("cs.AI", "cs.LG"), "train"),
        Document("2", "four", ("cs.LG",), "train"),
        Document("3", "five six", ("cs.AI",), "valid"),
        Document("4", "seven eight", ("math.OC", "cs.AI"), "test"),
    ]
    assert list(counter.count(documents)) == documents
    assert counter.figures() == Figures(2, 1, 1, 3, 1.5, 2.0)


def test_nothing_has_figures_of_nought():
    assert FigureCounter().figures() == Figures(0, 0, 0, 0, 0.0, 0.0)


def test_aapd_and_arxiv2026_are_told_apart():
    assert recognise(Figures(53_840, 1_000, 1_000, 54, 2.41, 163.42)) == "aapd"
    assert recognise(Figures(53_840, 1_000, 1_000, 54, 2.40, 163.0)) == "aapd"
    assert recognise(Figures(53_840, 1_000, 1_000, 53, 2.54, 204.11)) == "arxiv2026"


@pytest.mark.parametrize(
    "change",
    [
        {"train": 53_839},
        {"valid": 999},
        {"test": 1_001},
        {"labels": 53},
        {"labels_per_document": 2.44},
        {"words_per_document": 165.0},
    ],
)
def test_one_figure_off_is_not_aapd(change):
    assert recognise(KNOWN["aapd"]._replace(**change)) == "unknown"


def test_differences_name_what_was_seen_and_what_is_known():
    seen = KNOWN["aapd"]._replace(train=50_000, words_per_document=204.1)
    assert list_differences(seen, KNOWN["aapd"]) == [
        "training documents 50,000 (not 53,840)",
        "words per document 204.10 (not 163.42)",
    ]


def test_other_files_are_noted_as_not_aapd_in_the_prepared_corpus(folder, tmp_path):
    corpus = prepare_source("aapd", folder, tmp_path / "out")
    notes = corpus.facts["notes"]
    assert corpus.name == "not-aapd"
    assert notes["recognised_as"] == "unknown"
    assert notes["figures_as_read"]["labels"] == 3
    (sentence,) = notes["remarks"]
    assert sentence.startswith("these files are not aapd: training documents 2 (not 53,840), ")
    assert sentence.endswith("they are no corpus that is known, so do not report results on them as aapd")


def test_files_with_the_figures_of_the_other_corpus_are_named(folder, monkeypatch):
    monkeypatch.setitem(KNOWN, "arxiv2026", Figures(2, 1, 1, 3, 1.5, 2.0))
    asked_right, asked_wrong = (
        read_source("arxiv2026", folder, PrepareOptions()),
        read_source("aapd", folder, PrepareOptions()),
    )
    list(asked_right), list(asked_wrong)
    assert asked_right.notes["remarks"] == ["these files have the figures of arxiv2026"]
    assert asked_wrong.notes["recognised_as"] == "arxiv2026"
    assert (
        "they have the figures of arxiv2026, so do not report results on them as aapd"
        in asked_wrong.notes["remarks"][0]
    )


def test_wrong_places_are_refused(tmp_path, folder):
    with pytest.raises(InputError, match="corpus 'aapd' is not bundled; pass --from PATH"):
        read_source("aapd", None, PrepareOptions())
    with pytest.raises(
        CorpusError, match=r"text_train\.xz: arxiv2026 is read from the folder that holds text"
    ):
        read_source("arxiv2026", folder / "text_train.xz", PrepareOptions())
    with pytest.raises(InputError, match="aapd has one split only"):
        read_source("aapd", folder, PrepareOptions(split="x"))
