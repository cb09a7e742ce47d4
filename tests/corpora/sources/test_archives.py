import gzip
import io
import tarfile

import pytest

from seq2set.core.errors import CorpusError, InputError
from seq2set.corpora.sources.archives import Member, decode_member, is_archive, list_members, read_members


def pack(path, files, mode="w:xz"):
    with tarfile.open(path, mode) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz", "a.tgz", "a.tar.xz", "A.TAR.XZ", "a.tar.bz2"])
def test_archives_are_known_by_their_names(tmp_path, name):
    assert is_archive(tmp_path / name)


@pytest.mark.parametrize("name", ["a.sgm", "tar", "a.gz", "a.json"])
def test_other_files_are_no_archives(tmp_path, name):
    assert not is_archive(tmp_path / name)


@pytest.mark.parametrize(("name", "mode"), [("a.tar", "w"), ("a.tar.gz", "w:gz"), ("a.tar.xz", "w:xz")])
def test_an_archive_gives_its_files(tmp_path, name, mode):
    path = pack(tmp_path / name, {"x/2.txt": b"two", "x/1.txt": b"one", "x/3.txt": b"three"}, mode)
    assert list_members(path) == ["x/1.txt", "x/2.txt", "x/3.txt"]
    assert sorted(read_members(path, ["x/1.txt", "x/3.txt"])) == [
        Member("x/1.txt", b"one"),
        Member("x/3.txt", b"three"),
    ]


def test_a_folder_gives_its_files_decompressed(tmp_path):
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "1.txt.gz").write_bytes(gzip.compress(b"one"))
    (tmp_path / "2.txt").write_bytes(b"two")
    assert list_members(tmp_path) == ["2.txt", "below/1.txt.gz"]
    assert list(read_members(tmp_path, ["below/1.txt.gz"])) == [Member("below/1.txt.gz", b"one")]


def test_a_damaged_archive_is_refused(tmp_path):
    whole = pack(tmp_path / "a.tar.xz", {"1.txt": bytes(range(256)) * 400})
    cut = tmp_path / "cut.tar.xz"
    cut.write_bytes(whole.read_bytes()[:-200])
    with pytest.raises(CorpusError, match=r"cut\.tar\.xz: the file is no tar archive, or is damaged"):
        list(read_members(cut, ["1.txt"]))
    (tmp_path / "b.tar").write_bytes(b"no archive")
    with pytest.raises(CorpusError, match=r"b\.tar: the file is no tar archive, or is damaged"):
        list_members(tmp_path / "b.tar")


def test_what_is_not_there_is_refused(tmp_path):
    with pytest.raises(CorpusError, match="none: there is no such file or folder"):
        list_members(tmp_path / "none")


def test_text_is_decoded_or_the_line_is_named():
    member = Member("a.txt", b"one\ntwo \xfc\n")
    assert decode_member(member, "a.txt", "latin-1") == "one\ntwo ü\n"
    with pytest.raises(CorpusError, match=r"a\.txt, line 2: the line is not valid utf-8; pass --encoding"):
        decode_member(member, "a.txt", "utf-8")
    with pytest.raises(InputError, match="encoding 'latin-99' is not known"):
        decode_member(member, "a.txt", "latin-99")
