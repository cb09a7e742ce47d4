import io
import json
import tarfile

import pytest

from seq2set.core.errors import CorpusError, InputError
from seq2set.corpora.documents import Document
from seq2set.corpora.prepare import PrepareOptions
from seq2set.corpora.sources import read_source
from seq2set.corpora.sources.reuters import (
    UNUSED,
    Story,
    clean_text,
    join_title_and_body,
    parse_json,
    parse_sgml,
)
from seq2set.corpora.splits import SplitPlan


def story(number, topics=("grain",), split="TRAIN", has="YES", text=None):
    inside = "".join(f"<D>{topic}</D>" for topic in topics)
    text = text or (
        f"<TEXT>&#2;\n<TITLE>TITLE {number}</TITLE>\n<DATELINE>    PARIS, Feb 26 - </DATELINE>"
        f"<BODY>Body {number}.\n Reuter\n&#3;</BODY></TEXT>"
    )
    return (
        f'<REUTERS TOPICS="{has}" LEWISSPLIT="{split}" CGISPLIT="TRAINING-SET" OLDID="1" NEWID="{number}">\n'
        f"<DATE>26-FEB-1987 15:01:01.79</DATE>\n<TOPICS>{inside}</TOPICS>\n<PLACES><D>usa</D></PLACES>\n"
        f"<UNKNOWN> \n&#5;&#5;&#5;C T</UNKNOWN>\n{text}\n</REUTERS>\n"
    )


def sgml(*parts):
    return '<!DOCTYPE lewis SYSTEM "lewis.dtd">\n' + "".join(parts)


def write(folder, *parts, name="reut2-000.sgm"):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(sgml(*parts), encoding="latin-1")
    return folder


def read(path, **options):
    reading = read_source("reuters", path, PrepareOptions(**options))
    return list(reading), reading


def test_a_story_is_its_title_and_body_with_its_topics():
    assert list(parse_sgml(sgml(story(7, ["grain", "wheat", "grain"])), "x.sgm")) == [
        Story("7", "YES", "TRAIN", ("grain", "wheat"), "TITLE 7 Body 7. Reuter")
    ]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            '<TEXT TYPE="BRIEF">&#2;\n******<TITLE>RATES UP\n</TITLE>Blah blah blah.\n&#3;\n\n</TEXT>',
            "RATES UP",
        ),
        ('<TEXT TYPE="UNPROC">&#2;\nFED REPORT\n    M-1....736.7\n&#3;</TEXT>', "FED REPORT M-1....736.7"),
        ("<TEXT><TITLE>A</TITLE><BODY>Blah blah blah.\n&#3;</BODY></TEXT>", "A"),
        ("<TEXT><TITLE>A &lt;A.L></TITLE><BODY>B &amp; C</BODY></TEXT>", "A <A.L> B & C"),
        ("<TEXT><BODY>No title</BODY></TEXT>", "No title"),
        ("<NOTEXT>", ""),
    ],
)
def test_the_kinds_of_text(text, wanted):
    (found,) = parse_sgml(sgml(story(1, text=text)), "x.sgm")
    assert found.text == wanted


def test_entities_and_control_characters_are_resolved():
    assert (
        clean_text("&#2; a&#127;b &quot;c&apos; &gt; &unknown; d\x03\x1e e\x85 &#9999999; &#252;")
        == "a b \"c' > &unknown; d e ü"
    )


def test_only_a_whole_placeholder_is_dropped():
    assert join_title_and_body("T", "Blah blah, he said") == "T Blah blah, he said"


def test_cut_files_and_foreign_files_are_refused():
    with pytest.raises(
        CorpusError, match=r"x\.sgm: 2 stories begin and 1 are complete; complete SGML files are expected"
    ):
        list(parse_sgml(sgml(story(1), story(2).replace("</REUTERS>", "")), "x.sgm"))
    with pytest.raises(CorpusError, match="0 stories begin and 0 are complete"):
        list(parse_sgml("<html></html>", "x.sgm"))
    with pytest.raises(CorpusError, match="story 1 has no attribute LEWISSPLIT"):
        list(parse_sgml(sgml(story(1).replace("LEWISSPLIT", "OTHER")), "x.sgm"))


MODAPTE = (
    story(1, ["grain", "wheat"]),
    story(2, ["gold"]),  # gold is in training only
    story(3, ["grain"], has="NO"),
    story(4, ["grain"], split="NOT-USED"),
    story(5, ["tin"], split="TEST"),  # tin is in test only
    story(7, ["tin", "wheat"], split="TEST"),
    story(6, ["grain"], split="TEST"),
    story(8, [], split="TEST"),
)


def test_modapte_keeps_topics_of_both_parts_and_stories_that_keep_one(tmp_path):
    documents, reading = read(write(tmp_path, *MODAPTE), valid=0.2, seed=5)
    assert documents == [
        Document("1", "TITLE 1 Body 1. Reuter", ("grain", "wheat"), "train"),
        Document("6", "TITLE 6 Body 6. Reuter", ("grain",), "test"),
        Document("7", "TITLE 7 Body 7. Reuter", ("wheat",), "test"),
    ]
    assert reading.plan == SplitPlan("given", valid=0.2, seed=5)
    assert reading.notes["form"] == "SGML"
    assert reading.notes["modapte"] == {"train": 1, "test": 2, "topics": 2}
    assert reading.notes["remarks"] == [
        "this is not the standard ModApte split: 1 training and 2 test documents, 2 topics, where it has "
        "7,770 training and 3,019 test documents, 90 topics"
    ]


def test_several_files_in_an_archive(tmp_path):
    path = tmp_path / "r.tar.xz"
    with tarfile.open(path, "w:xz") as archive:
        for name, part in (
            ("r/reut2-001.sgm", MODAPTE[4:]),
            ("r/lewis.dtd", ()),
            ("r/reut2-000.sgm", MODAPTE[:4]),
        ):
            content = sgml(*part).encode()
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    assert read(path)[0] == read(write(tmp_path / "folder", *MODAPTE))[0]


def test_latin_1_is_read(tmp_path):
    text = "<TEXT><TITLE>Zürich</TITLE></TEXT>"
    documents, _ = read(write(tmp_path, story(1, text=text), story(2, split="TEST")))
    assert documents[0].text == "Zürich"


def item(number, topics=("grain",), **more):
    return {
        "id": str(number),
        "title": f"TITLE {number}",
        "body": f"Body {number}.\n Reuter\n\x03",
        "topics": list(topics),
    } | more


def write_json(folder, *items, name="reuters-000.json"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(items), encoding="utf-8")


def test_the_npm_package_is_split_by_its_ids(tmp_path):
    full = tmp_path / "package" / "data" / "full"
    write_json(full, item(14818), item(12594), item(1, ["gold"]), {"id": "2", "date": "x"})
    write_json(full, item(14819), item(17434), item(17435, body=None, title=None), name="reuters-001.json")
    write_json(tmp_path / "package" / "data" / "noIDs", {"title": "no id"})
    documents, reading = read(tmp_path / "package")
    assert documents == [
        Document("14818", "TITLE 14818 Body 14818. Reuter", ("grain",), "train"),
        Document("14819", "TITLE 14819 Body 14819. Reuter", ("grain",), "test"),
        Document("17435", "", ("grain",), "test"),
    ]
    assert reading.notes["form"] == "JSON"
    assert reading.notes["remarks"][1] == "1 documents have no text in the JSON files"
    assert read(full)[0] == documents


def test_the_unused_runs_hold_what_modapte_leaves_out():
    # Eight single ids and six runs of 134, 4, 18, 94, 378 and 94; stories without topics stand between them.
    assert len(UNUSED) == 8 + 722


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", r"x\.json: the file is not JSON \(Expecting"),
        ("{}", "the file holds a JSON dict; a list of stories is expected"),
        ('[{"title": "a"}]', "story 1 has no 'id' that is a number; the package's full files are expected"),
        ("[3]", "story 1 has no 'id'"),
    ],
)
def test_wrong_json_is_refused(content, message):
    with pytest.raises(CorpusError, match=message):
        list(parse_json(content, "x.json"))


def test_wrong_places_are_refused(tmp_path):
    with pytest.raises(CorpusError, match=r"there is neither reut2-000\.sgm nor full/reuters-000\.json here"):
        read(tmp_path)
    (tmp_path / "a.sgm").write_text("x", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"a\.sgm: a folder, or an archive named \.tar"):
        read(tmp_path / "a.sgm")
    with pytest.raises(CorpusError, match="there is no such file or folder"):
        read(tmp_path / "none.tar")
    with pytest.raises(InputError, match="reuters has one split only"):
        read(tmp_path, split="modapte")
