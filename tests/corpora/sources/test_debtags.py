import bz2
import json
import lzma
import os

import pyarrow as pa
import pytest

from seq2set.core.errors import CorpusError, InputError, WorkError
from seq2set.corpora.documents import SPLITS, Document
from seq2set.corpora.open_corpus import prepare_source
from seq2set.corpora.prepare import PrepareOptions
from seq2set.corpora.sources import read_source
from seq2set.corpora.sources.debtags import read_stanzas
from seq2set.corpora.splits import SplitPlan


def stanza(name, tags="role::program", source=None, long=None):
    lines = [
        f"Package: {name}",
        f"Source: {source}" if source else "",
        "Version: 1.0",
        f"Description: the package {name}",
    ]
    lines += [f" {line}" for line in long or ()]
    lines += [f"Description-md5: md5-{name}", f"Tag: {tags}" if tags else "", "Section: misc"]
    return "\n".join(line for line in lines if line) + "\n\n"


def translation(name):
    head = f"Package: {name}\nDescription-md5: md5-{name}\nDescription-en: the package {name}\n"
    return head + " It does\n .\n   - this\n\n"


def many(count=50, **more):
    return "".join(stanza(f"p{number}", **more) for number in range(count))


def read(path, **options):
    reading = read_source("debtags", path, PrepareOptions(**options))
    return {document.id: document for document in reading}, reading


def write_lz4(path, text):
    with pa.output_stream(str(path), compression="lz4") as stream:
        stream.write(text.encode())


@pytest.fixture
def lists(tmp_path):
    folder = tmp_path / "lists"
    folder.mkdir()
    write_lz4(folder / "deb_main_binary-amd64_Packages.lz4", many())
    texts = "".join(translation(f"p{number}") for number in range(50))
    (folder / "deb_main_i18n_Translation-en.bz2").write_bytes(bz2.compress(texts.encode()))
    return folder


def test_long_descriptions_come_from_the_translations(lists):
    documents, reading = read(lists)
    assert documents["p7"] == Document("p7", "the package p7 It does - this", ("role::program",), group="p7")
    assert len(documents) == 50
    assert reading.plan == SplitPlan("grouped", valid=0.05, test=0.05)
    assert reading.notes["without_long_description"] == 0
    assert "remarks" not in reading.notes


def test_a_file_of_stanzas_may_hold_long_descriptions_itself(tmp_path):
    path = tmp_path / "avail.xz"
    text = many(long=["It is", ".", " good"]) + stanza(
        "x", "role::program, devel::rare", "src (1.2)", ["Long one"]
    )
    path.write_bytes(lzma.compress(text.encode()))
    documents, reading = read(path)
    assert documents["p1"].text == "the package p1 It is good"
    assert documents["x"].group == "src"
    assert documents["x"].labels == ("role::program",)  # one package has devel::rare: too few
    assert "remarks" not in reading.notes


def test_tags_over_several_lines_are_joined(tmp_path):
    path = tmp_path / "avail"
    path.write_text(many(tags="a::b,\n c::d, c::d"), encoding="utf-8")
    assert read(path)[0]["p3"].labels == ("a::b", "c::d")


def test_untagged_and_repeated_packages_are_left_out_and_counted(tmp_path):
    path = tmp_path / "avail"
    again = stanza("again").replace("the package again", "the package p1")
    path.write_text(many() + stanza("untagged", tags="") + again + stanza("rare", "x::y"), encoding="utf-8")
    documents, reading = read(path)
    assert len(documents) == 50
    assert {name: reading.notes[name] for name in ("packages_without_tags", "repeated_descriptions")} == {
        "packages_without_tags": 1,
        "repeated_descriptions": 1,
    }
    assert reading.notes["frequent_labels"] == {"min_documents": 50, "documents_left_out": 1}
    # 50 packages, and `rare`, which is counted before its tag is found to be rare
    assert reading.notes["remarks"] == [
        "there is no Translation-en here, so 51 packages have a short description only"
    ]


def test_as_many_packages_as_were_asked_for_keep_a_tag(tmp_path):
    path = tmp_path / "avail"
    path.write_text(many(3) + stanza("x", "role::program, devel::rare"), encoding="utf-8")
    options = PrepareOptions(valid=1, test=1, min_label_documents=1)
    corpus = prepare_source("debtags", path, tmp_path / "out", options)
    kept = {label for part in SPLITS for one in corpus.split(part).labels() for label in one}
    assert kept == {"role::program", "devel::rare"}


def test_sister_packages_stay_together_when_prepared(tmp_path):
    path = tmp_path / "avail"
    path.write_text("".join(stanza(f"p{n}", source=f"s{n // 5}") for n in range(100)), encoding="utf-8")
    corpus = prepare_source("debtags", path, tmp_path / "out", PrepareOptions(valid=10, test=10))
    sources = [
        {int(name[1:]) // 5 for name in corpus.split(part).ids()} for part in ("train", "valid", "test")
    ]
    assert [len(part) for part in sources] == [16, 2, 2]
    assert len(set.union(*sources)) == 20


def test_fields_before_any_name_and_last_stanzas_without_an_end_are_handled(tmp_path):
    path = tmp_path / "avail"
    path.write_text(" stray\nPackage: a\nDepends: x,\n y\nTag: t\n\n\n\nPackage: b", encoding="utf-8")
    assert list(read_stanzas(path)) == [{"Package": "a", "Tag": "t"}, {"Package": "b"}]


def jsonl(*names, labels=("role::program",)):
    return "".join(
        json.dumps({"id": name, "source": f"src-{name}", "text": f"Text {name}", "labels": labels}) + "\n"
        for name in names
    )


def test_json_lines_are_taken_as_given(tmp_path):
    (tmp_path / "train.jsonl.xz").write_bytes(lzma.compress(jsonl("a", "b").encode()))
    (tmp_path / "val.jsonl").write_text(jsonl("c"), encoding="utf-8")
    (tmp_path / "test.jsonl").write_text(jsonl("d"), encoding="utf-8")
    documents, reading = read(tmp_path)
    assert [(d.id, d.split) for d in documents.values()] == [
        ("a", "train"),
        ("b", "train"),
        ("c", "valid"),
        ("d", "test"),
    ]
    assert documents["a"] == Document("a", "Text a", ("role::program",), "train", "src-a")
    assert reading.plan.method == "given"


def test_one_file_of_json_lines_is_split_by_source(tmp_path):
    (tmp_path / "all.jsonl").write_text(jsonl("a", "b"), encoding="utf-8")
    documents, reading = read(tmp_path / "all.jsonl")
    assert documents["b"] == Document("b", "Text b", ("role::program",), None, "src-b")
    assert reading.plan.method == "grouped"


def fake_apt(folder, monkeypatch, script):
    tool = folder / "bin" / "apt-get"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}{os.pathsep}{os.environ['PATH']}")


def test_apt_is_asked_where_its_index_lies(tmp_path, lists, monkeypatch):
    fake_apt(
        tmp_path, monkeypatch, f'ls -d {lists}/* && echo /nowhere/InRelease && echo "$@" > {tmp_path}/called'
    )
    assert len(read(None)[0]) == 50
    called = (tmp_path / "called").read_text(encoding="utf-8")
    assert called == "-o Acquire::Languages=en indextargets --format $(FILENAME)\n"


def test_an_index_without_long_descriptions_names_the_command(tmp_path, lists, monkeypatch):
    fake_apt(tmp_path, monkeypatch, f"ls -d {lists}/*Packages*")
    command = "apt-get update -o Acquire::Languages=en"
    with pytest.raises(
        CorpusError, match=f"apt's package index has no long descriptions; fetch them as root with: {command}"
    ):
        read(None)


def test_no_index_at_all_names_the_command(tmp_path, monkeypatch):
    fake_apt(tmp_path, monkeypatch, "true")
    with pytest.raises(
        CorpusError, match="apt has no package index here; fetch it as root with: apt-get update"
    ):
        read(None)


def test_apt_that_fails_is_reported(tmp_path, monkeypatch):
    fake_apt(tmp_path, monkeypatch, "echo no lock >&2; exit 100")
    with pytest.raises(
        WorkError, match=r"'apt-get -o Acquire::Languages=en indextargets .*' failed: no lock"
    ):
        read(None)


def test_no_apt_is_reported(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        InputError, match="debtags needs apt's package index, but there is no apt-get here; name files"
    ):
        read(None)


def test_wrong_places_are_refused(tmp_path):
    with pytest.raises(CorpusError, match="none: there is no such file or folder"):
        read(tmp_path / "none")
    with pytest.raises(CorpusError, match=r"the folder holds neither train\.jsonl nor a file named Packages"):
        read(tmp_path)
    with pytest.raises(InputError, match="debtags has one split only"):
        read(tmp_path, split="x")
    (tmp_path / "x_Packages.lz4").write_bytes(b"no lz4")
    with pytest.raises(CorpusError, match=r"Packages\.lz4: the file is damaged, or not a \.lz4 file"):
        read(tmp_path)
    (tmp_path / "prose").write_text("Once upon a time.\n", encoding="utf-8")
    with pytest.raises(
        CorpusError, match="prose: there is no package here; the stanzas of a package index are expected"
    ):
        read(tmp_path / "prose")
