from seq2set.core.text_utils import make_printable, shorten, show_controls


def test_control_characters_are_written_out():
    assert make_printable("a\x1b[31m\nb\x00é医") == "a\\x1b[31m\\nb\\x00é医"


def test_long_texts_are_cut_to_the_width():
    assert shorten("12345", 5) == "12345"
    assert shorten("123456", 5) == "1234…"
    assert shorten("\x00123", 5) == "\\x00…"


def test_controls_are_shown_by_one_sign_each() -> None:
    text = "a\x1b[31m\x07\x9b2J\u202eb\tc\x7f\xa0é"
    assert show_controls(text) == "a␛[31m␇\ufffd2J\ufffdb\tc␡\xa0é"
    assert len(show_controls(text)) == len(text)
