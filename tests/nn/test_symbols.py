from __future__ import annotations

from seq2set.nn.decoder import Symbols


def test_what_is_generated_comes_first() -> None:
    symbols = Symbols(5)
    assert (symbols.eos, symbols.bos, symbols.pad) == (5, 6, 7)
    assert symbols.outputs == 6  # 0..4 and eos
    assert symbols.inputs == 8
