import gzip
import json
import lzma

import pytest

from seq2set.core.errors import CorpusError, InputError, UnknownNameError
from seq2set.corpora.documents import Document
from seq2set.corpora.open_corpus import prepare_source
from seq2set.corpora.prepare import PrepareOptions
from seq2set.corpora.sources import read_source
from seq2set.corpora.sources.rcv1 import Topics, find_split_in_name, read_tokens
from seq2set.corpora.splits import SplitPlan

TRAIN = ".I 2286\n.W\nrecov recov excit\nbring mexic\n\n.I 2287\n.W\nuruguay\n\n"
TEST = ".I 26151\n.W\ntoken one\n\n"
QRELS = "C151 2286 1\nC15 2286 1\nCCAT 2286 1\nE11 26151 1\nECAT 26151 1\nGCAT 2287 1\nC15 2286 1\n"
HIER = """parent: None  child: Root  child-description: Root
parent: Root  child: CCAT  child-description: CORPORATE/INDUSTRIAL
parent: Root  child: ECAT  child-description: ECONOMICS
parent: Root  child: GCAT  child-description: GOVERNMENT/SOCIAL
parent: CCAT  child: C15  child-description: PERFORMANCE
parent: C15  child: C151  child-description: ACCOUNTS/EARNINGS
parent: ECAT  child: E11  child-description: ECONOMIC PERFORMANCE
"""


@pytest.fixture
def lyrl(tmp_path):
    folder = tmp_path / "lyrl"
    folder.mkdir()
    (folder / "lyrl2004_tokens_train.dat").write_text(TRAIN, encoding="utf-8")
    (folder / "lyrl2004_tokens_test_pt0.dat.gz").write_bytes(gzip.compress(TEST.encode()))
    (folder / "lyrl2004_tokens_test_pt3.dat").write_text(TEST.replace("26151", "30000"), encoding="utf-8")
    (folder / "rcv1-v2.topics.qrels.gz").write_bytes(gzip.compress(QRELS.encode()))
    (folder / "rcv1.topics.hier.orig").write_text(HIER, encoding="utf-8")
    return folder


def read(path, **options):
    reading = read_source("rcv1", path, PrepareOptions(**options))
    return list(reading), reading


def test_token_files_give_documents_with_parents_first(lyrl):
    documents, reading = read(lyrl)
    assert documents == [
        Document("2286", "recov recov excit bring mexic", ("CCAT", "C15", "C151"), "train"),
        Document("2287", "uruguay", ("GCAT",), "train"),
        Document("26151", "token one", ("ECAT", "E11"), "test"),
        Document("30000", "token one", (), "test"),
    ]
    assert reading.notes["tree"]["C151"] == "C15"
    assert reading.notes["tree"]["CCAT"] is None
    assert reading.notes["split"] == "lyrl2004"
    assert reading.plan == SplitPlan("given", valid=0.1)


def test_counts_other_than_the_published_ones_are_remarked(lyrl):
    _, reading = read(lyrl, split="lyrl2004")
    assert reading.notes["remarks"] == [
        "LYRL2004 has 23,149 train documents, but these files hold 2",
        "LYRL2004 has 781,265 test documents, but these files hold 2",
    ]


def test_the_published_counts_are_not_remarked(lyrl, monkeypatch):
    monkeypatch.setattr("seq2set.corpora.sources.rcv1.PUBLISHED", {"train": 2, "test": 2})
    assert "remarks" not in read(lyrl)[1].notes


def test_the_sgm_split_is_random_with_nameable_sizes(lyrl):
    assert read(lyrl, split="sgm")[1].plan == SplitPlan("random", valid=1000, test=1000)
    assert read(lyrl, split="sgm", valid=1, test=2, seed=4)[1].plan == SplitPlan(
        "random", valid=1, test=2, seed=4
    )


def test_the_sgm_split_prepared(lyrl, tmp_path):
    options = PrepareOptions(split="sgm", valid=1, test=1)
    corpus = prepare_source("rcv1", lyrl, tmp_path / "out", options=options)
    assert corpus.facts["counts"]["documents"] == {"train": 2, "valid": 1, "test": 1}
    assert corpus.facts["notes"]["tree"]["E11"] == "ECAT"


def test_without_the_tree_labels_keep_their_order(lyrl):
    (lyrl / "rcv1.topics.hier.orig").unlink()
    documents, reading = read(lyrl, split="sgm")
    assert documents[0].labels == ("C151", "C15", "CCAT")
    assert reading.notes["remarks"] == [
        "there is no rcv1.topics.hier.orig or rcv1.taxonomy here, so labels keep their order"
    ]


def test_topics_are_found_whatever_the_order_of_the_file(tmp_path):
    path = tmp_path / "q"
    path.write_text("B 9 1\nA 3 1\n\nA 9 1\nC 100 1\n", encoding="utf-8")
    topics = Topics(path)
    assert [topics.of(number) for number in (3, 9, 100, 4, 0, 101)] == [
        ("A",),
        ("B", "A"),
        ("C",),
        (),
        (),
        (),
    ]


def test_topics_of_one_id_keep_the_order_of_a_long_file(tmp_path):
    # 1,000 lines for 10 ids, so that a sort that is not stable would mix them.
    path = tmp_path / "q"
    path.write_text("".join(f"T{line // 10} {line % 10} 1\n" for line in range(1000)), encoding="utf-8")
    assert Topics(path).of(7) == tuple(f"T{number}" for number in range(100))


@pytest.mark.parametrize("line", ["C15 2286", "C15 x 1", "C15 9999999999 1", "C15 1 1 1"])
def test_a_wrong_judgement_names_its_line(tmp_path, line):
    path = tmp_path / "q"
    path.write_text(f"C15 1 1\n{line}\n", encoding="utf-8")
    with pytest.raises(
        CorpusError, match=rf"q, line 2: the line is '{line}'; it must be a topic, an id and a 1"
    ):
        Topics(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\nrecov\n", "line 2: the line is 'recov'; a token file must begin with '.I' and an id"),
        (".I 1\n.W\na\n\n.I x\n", r"line 5: the line is '\.I x'; after '\.I' an id must follow"),
    ],
)
def test_a_wrong_token_file_names_its_line(tmp_path, text, message):
    path, judgements = tmp_path / "t.dat", tmp_path / "q"
    path.write_text(text, encoding="utf-8")
    judgements.write_text("C15 1 1\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=message):
        list(read_tokens(path, Topics(judgements), None))


def test_a_file_of_blank_lines_holds_no_document(tmp_path):
    (tmp_path / "t.dat").write_text("\n\n", encoding="utf-8")
    (tmp_path / "q").write_text("C15 1 1\n", encoding="utf-8")
    assert list(read_tokens(tmp_path / "t.dat", Topics(tmp_path / "q"), None)) == []


TAXONOMY = "Root\tCCAT\tECAT\nCCAT\tC15\nC15\tC151\tC152\n"


def line(*labels, tokens=("Oil", "rose"), **more):
    return json.dumps({"doc_label": labels, "doc_token": tokens} | more) + "\n"


@pytest.fixture
def sample(tmp_path):
    folder = tmp_path / "sample"
    folder.mkdir()
    text = line("C152", "C15", "CCAT", "C15", doc_keyword=[]) + line("ECAT", tokens=["Rates"])
    (folder / "rcv1_dev.json.xz").write_bytes(lzma.compress(text.encode()))
    (folder / "rcv1.taxonomy").write_text(TAXONOMY, encoding="utf-8")
    return folder


@pytest.mark.parametrize("inside", ["", "rcv1_dev.json.xz"])
def test_json_lines_give_documents_with_parents_first(sample, inside):
    documents, reading = read(sample / inside)
    assert [(d.id, d.text, d.labels) for d in documents] == [
        ("rcv1_dev-1", "Oil rose", ("CCAT", "C15", "C152")),
        ("rcv1_dev-2", "Rates", ("ECAT",)),
    ]
    assert reading.plan == SplitPlan("random", valid=0.1, test=0.1)
    assert reading.notes["tree"] == {"CCAT": None, "ECAT": None, "C15": "CCAT", "C151": "C15", "C152": "C15"}


def test_json_lines_under_sgm(sample):
    assert read(sample, split="sgm", test=1)[1].plan == SplitPlan("random", valid=1000, test=1)


def test_files_named_after_splits_are_split_so(sample):
    (sample / "rcv1_train.json").write_text(line("CCAT"), encoding="utf-8")
    (sample / "rcv1_test.json").write_text(line("CCAT"), encoding="utf-8")
    (sample / "extra.json").write_text("not read", encoding="utf-8")
    documents, reading = read(sample)
    assert [(d.id, d.split) for d in documents] == [
        ("rcv1_dev-1", "valid"),
        ("rcv1_dev-2", "valid"),
        ("rcv1_test-1", "test"),
        ("rcv1_train-1", "train"),
    ]
    assert reading.plan.method == "given"
    assert reading.notes["split"] == "as the files are named"


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("train.json", "train"),
        ("rcv1_val.jsonl.gz", "valid"),
        ("a-valid.json", "valid"),
        ("latest.json", None),
        ("x.json", None),
    ],
)
def test_splits_in_names(tmp_path, name, split):
    assert find_split_in_name(tmp_path / name) == split


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"doc_label": []}\n', r"a\.json, line 1: 'doc_token' is absent; it must hold a list of texts"),
        (
            line() + '{"doc_token": [], "doc_label": "C15"}\n',
            "line 2: 'doc_label' holds str; it must hold a list of texts",
        ),
        (
            '{"doc_token": [1], "doc_label": []}\n',
            "line 1: 'doc_token' holds a list with int in it; it must hold",
        ),
        ('{"doc_token": ["a", null], "doc_label": []}\n', "'doc_token' holds a list with NoneType in it"),
        ("nonsense\n", "line 1: the line is not JSON"),
    ],
)
def test_wrong_json_lines_name_their_line(tmp_path, text, message):
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    with pytest.raises(CorpusError, match=message):
        read(tmp_path / "a.json")


def test_wrong_places_and_splits_are_refused(tmp_path, lyrl, sample):
    with pytest.raises(CorpusError, match="none: there is no such file or folder"):
        read(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        CorpusError, match=r"the folder holds neither lyrl2004_tokens_train\.dat nor a \.json or \.jsonl file"
    ):
        read(tmp_path / "empty")
    (lyrl / "rcv1-v2.topics.qrels.gz").unlink()
    with pytest.raises(
        CorpusError, match=r"the folder has no rcv1-v2\.topics\.qrels \(plain, \.gz, \.xz or \.zst\)"
    ):
        read(lyrl)
    with pytest.raises(
        InputError, match="split is 'lyrl2004', which JSON lines do not tell; name 'sgm', or none"
    ):
        read(sample, split="lyrl2004")
    with pytest.raises(UnknownNameError, match="rcv1's split 'lyrl' is not known, did you mean 'lyrl2004'"):
        read(sample, split="lyrl")
