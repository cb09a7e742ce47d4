from __future__ import annotations

import os
import socket
import subprocess
import sys
from typing import Any

import pytest

from seq2set.core.errors import InputError
from seq2set.server.listen import format_address, open_socket
from seq2set.server.settings import ServeSettings, read_key


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_texts": 0}, "max_texts is 0; it must be >= 1"),
        ({"max_upload_bytes": -1}, "max_upload_bytes is -1; it must be >= 1"),
        ({"queue_texts": 0}, "queue_texts is 0; it must be >= 1"),
        ({"window_ms": -1}, "window_ms is -1; it must be >= 0"),
        ({"body_seconds": 0}, "body_seconds is 0; it must be > 0"),
        ({"port": 70_000}, r"port is 70000; it must lie in \[0, 65535\]"),
        (
            {"queue_texts": 63},
            "queue_texts is 63; it must be >= 64, so that a whole request and ",
        ),
    ],
)
def test_wrong_settings_are_one_sentence(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ServeSettings(**settings)


def test_by_default_only_this_machine_is_served() -> None:
    assert ServeSettings().host == "127.0.0.1"


def test_the_key_is_taken_from_the_environment_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQ2SET_API_KEY", "sesame")
    assert read_key() == "sesame"
    assert "sesame" not in repr(ServeSettings(key="sesame"))
    monkeypatch.setenv("SEQ2SET_API_KEY", "")
    assert read_key() is None


@pytest.mark.parametrize("utf8", ["0", "1"])
def test_the_key_is_the_same_in_every_locale(utf8: str) -> None:
    ask = "from seq2set.server.settings import read_key as key; print(ascii(key()))"
    locale: dict[str, str | bytes] = {"LC_ALL": "C", "PYTHONUTF8": utf8, "PYTHONCOERCECLOCALE": "0"}
    environment = {**os.environ, **locale, "SEQ2SET_API_KEY": "clé".encode()}
    asked = subprocess.run([sys.executable, "-c", ask], env=environment, capture_output=True, check=True)
    assert asked.stdout.decode().strip() == ascii("clé")


def test_a_key_that_is_not_utf8_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQ2SET_API_KEY", os.fsdecode("clé".encode("latin-1")))
    with pytest.raises(InputError, match="SEQ2SET_API_KEY is not UTF-8; it must be, as clients send it so$"):
        read_key()


def test_a_port_that_cannot_be_had_is_one_sentence() -> None:
    with open_socket(ServeSettings(port=0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            InputError, match=f"cannot listen on 127.0.0.1, port {port}: address already in use"
        ):
            open_socket(ServeSettings(port=port))
    with pytest.raises(InputError, match="cannot listen on no.such.host.invalid, port 0: "):
        open_socket(ServeSettings(host="no.such.host.invalid", port=0))


def test_addresses_are_written_as_browsers_take_them() -> None:
    with open_socket(ServeSettings(port=0)) as listening:
        assert format_address(listening) == f"http://127.0.0.1:{listening.getsockname()[1]}"
    if socket.has_ipv6:
        try:
            six = open_socket(ServeSettings(host="::1", port=0))
        except InputError:
            return  # a machine without it
        with six:
            assert format_address(six) == f"http://[::1]:{six.getsockname()[1]}"
