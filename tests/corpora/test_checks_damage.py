from __future__ import annotations

import pytest
from small_corpora import healthy, write_corpus

from seq2set.corpora.checks import check_corpus
from seq2set.corpora.documents import Document

DAMAGE = {"replacement-characters", "mojibake", "control-characters", "markup"}


def found(tmp_path, *documents, others=20):
    splits = {"train": [*healthy("train", others), *documents], "valid": healthy("valid", 4)}
    findings = check_corpus(write_corpus(tmp_path, splits | {"test": healthy("test", 4)}))
    return {finding.code: finding for finding in findings if finding.code in DAMAGE}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("caf\ufffd", "replacement-characters"),
        ("a null\x00byte", "control-characters"),
        ("an escape \x1b[0m", "control-characters"),
        ("a C1 sign \x85", "control-characters"),
        ("deleted \x7f", "control-characters"),
        ("end</p> of it", "markup"),
        ("line<br/>break", "markup"),
        ("a <a href='x'>link", "markup"),
        ("AT&amp;T", "markup"),
        ("&#8217;s", "markup"),
        ("&#x2019;s", "markup"),
    ],
)
def test_damage_is_found(tmp_path, text, code):
    findings = found(tmp_path, Document("hurt", text, ("x",)))
    assert set(findings) == {code}
    assert findings[code].count == 1
    assert findings[code].examples == ("hurt",)
    assert findings[code].what.startswith("1 of 29 (3.4 %) documents hold ")
    assert findings[code].level == "warning"


@pytest.mark.parametrize("wrong", ["latin-1", "cp1252"])
@pytest.mark.parametrize("text", ["é", "ü", "ñ", "à la", "£5", "’", "€", "“so", "™", "\U0001f600"])
def test_utf8_read_in_another_encoding_is_found(tmp_path, text, wrong):
    damaged = text.encode("utf-8").decode(wrong, errors="replace").replace("\ufffd", "")
    assert "mojibake" in found(tmp_path, Document("hurt", f"so {damaged}", ("x",)))


@pytest.mark.parametrize(
    "text",
    [
        "tabs\tand\r\nlines",
        "ÂME, NÃO, São Paulo, pâte, naïveté, «CAFÉ», Über, ÎLE, forêt",
        "x < y and y > z; R&D; <U> <B and R Inc>; a<b>c",
        "日本語 العربية русский ελληνικά",
        "“curly” – dashes — and 5 € ™",
        "plain",
    ],
)
def test_sound_texts_are_left_alone(tmp_path, text):
    assert found(tmp_path, Document("sound", text, ("x",))) == {}


def test_a_damaged_label_is_found(tmp_path):
    assert found(tmp_path, Document("hurt", "text", ("caf\ufffd",)))["replacement-characters"].count == 1


def test_a_document_counts_once_however_damaged(tmp_path):
    assert found(tmp_path, Document("hurt", "\x00 \x01 \x02", ("x",)))["control-characters"].count == 1


def test_a_little_markup_is_only_worth_a_note(tmp_path):
    # 1 of 100 documents is not above 1 %.
    finding = found(tmp_path, Document("html", "</div>", ("x",)), others=91)["markup"]
    assert finding.what == "1 of 100 (1.0 %) documents hold HTML tags or entities"
    assert finding.level == "note"
