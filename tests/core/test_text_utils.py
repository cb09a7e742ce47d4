from seq2set.core.text_utils import make_printable, shorten


def test_control_characters_are_written_out():
    assert make_printable("a\x1b[31m\nb\x00é医") == "a\\x1b[31m\\nb\\x00é医"


def test_long_texts_are_cut_to_the_width():
    assert shorten("12345", 5) == "12345"
    assert shorten("123456", 5) == "1234…"
    assert shorten("\x00123", 5) == "\\x00…"
