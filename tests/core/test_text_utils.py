from seq2set.core.text_utils import count_things, make_printable, shorten, show_controls


def test_control_characters_are_written_out():
    assert make_printable("a\x1b[31m\nb\x00é医") == "a\\x1b[31m\\nb\\x00é医"


def test_what_is_counted_is_one_or_many() -> None:
    assert [count_things(count, "label cell") for count in (0, 1, 1200)] == [
        "0 label cells", "1 label cell", "1,200 label cells",
    ]  # fmt: skip
    assert [count_things(count, "label has", "labels have") for count in (1, 2)] == [
        "1 label has",
        "2 labels have",
    ]


def test_long_texts_are_cut_to_the_width():
    assert shorten("12345", 5) == "12345"
    assert shorten("123456", 5) == "1234…"
    assert shorten("\x00123", 5) == "\\x00…"


def test_controls_are_shown_by_one_sign_each() -> None:
    text = "a\x1b[31m\x07\x9b2J\u202eb\tc\x7f\xa0é"
    assert show_controls(text) == "a␛[31m␇\ufffd2J\ufffdb\tc␡\xa0é"
    assert len(show_controls(text)) == len(text)
