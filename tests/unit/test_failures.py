"""What an exception was, decided by its type."""

from __future__ import annotations

import errno
import json
import socket
import ssl

import httpx2
import pytest

from ot_sdk.failures import builtin_name, innermost, is_network_failure, message_of


class _OwnError(LookupError): ...


class _MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (ValueError("x"), "ValueError"),
        (json.JSONDecodeError("x", "", 0), "ValueError"),
        (_OwnError(), "LookupError"),
        (FileNotFoundError(), "FileNotFoundError"),
        (SystemExit(3), "RuntimeError"),
        (ExceptionGroup("several", [ValueError(), KeyError()]), "ExceptionGroup"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_exception_has_a_nearest_builtin(error: BaseException, name: str) -> None:
    assert builtin_name(error) == name


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError(),
        BrokenPipeError(),
        socket.gaierror(-2, "Name or service not known"),
        OSError(errno.ENETUNREACH, "Network is unreachable"),
        ssl.SSLError("handshake"),
        httpx2.ConnectError("refused"),
        httpx2.ReadTimeout("slow"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_network_failures_are_known_by_their_type(error: BaseException) -> None:
    assert is_network_failure(error)


@pytest.mark.parametrize(
    "error",
    [ValueError("connection refused"), TimeoutError(), FileNotFoundError(), httpx2.InvalidURL("x")],
    ids=lambda error: type(error).__name__,
)
def test_words_about_a_network_do_not_make_a_network_failure(error: BaseException) -> None:
    assert not is_network_failure(error)


def test_the_one_error_inside_groups_is_found() -> None:
    error = KeyError("x")

    assert innermost(ExceptionGroup("a", [ExceptionGroup("b", [error])])) is error


def test_an_exception_without_text_still_has_a_message() -> None:
    assert "_MuteError" in message_of(_MuteError())
    assert len(message_of(ValueError("x" * 100_000))) < 3000
