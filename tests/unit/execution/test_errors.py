"""What errors say leaves without secrets, whatever fields an error has."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import pytest

from ot import errors
from ot.errors import OneToolError
from ot.execution.records import redact_error
from ot.text.redaction import Redactor

SECRET = "s3cr3t-value"
NAMES = frozenset(
    [
        "available",
        "cycle",
        "extra",
        "functions",
        "incident",
        "key",
        "kind",
        "layers",
        "pack",
        "package",
        "part",
        "read",
        "project",
        "projects",
        "requirements",
        "provider",
        "rule",
        "server",
        "tool",
        "valid",
        "what",
        "variable",
    ]
)
"""Fields that may be declared as names. A new one belongs here once it is clear that no text of a tool gets into it."""


def _classes(kind: type[OneToolError] = OneToolError) -> Iterator[type[OneToolError]]:
    for below in kind.__subclasses__():
        if below.__module__ == errors.__name__:
            yield below
            yield from _classes(below)


def _with_secrets(kind: type[OneToolError]) -> OneToolError:
    """An error with the secret in each of its texts."""
    given: dict[str, object] = {}
    for name, parameter in inspect.signature(kind).parameters.items():
        annotation = str(parameter.annotation)
        if annotation in {"str", "str | None"}:
            given[name] = f"text {SECRET}"
        elif annotation == "Sequence[str]":
            given[name] = [f"text {SECRET}"]
        elif parameter.default is parameter.empty and parameter.kind is not parameter.VAR_POSITIONAL:
            given[name] = 1
    positional = [given.pop(n) for n, p in inspect.signature(kind).parameters.items() if n in given and p.kind < 3]
    return kind(*positional, **given)


@pytest.mark.parametrize(
    "kind", [kind for kind in _classes() if inspect.isfunction(kind.__init__) and kind is not errors.PreflightError]
)
def test_an_errors_texts_leave_without_secrets(kind: type[OneToolError]) -> None:
    error = _with_secrets(kind)
    redact_error(error, Redactor([SECRET]))

    left = {field for field, value in vars(error).items() if SECRET in str(value)}
    assert left <= error.names
    assert SECRET not in str(error.args)


@pytest.mark.parametrize("kind", list(_classes()))
def test_an_error_declares_only_names_as_names(kind: type[OneToolError]) -> None:
    assert kind.names <= NAMES


def test_names_are_inherited() -> None:
    assert errors.UnknownToolError.names == {"tool", "pack", "available"}
    assert errors.ConsentError.names == {"tool"}


def test_what_an_error_does_not_declare_is_text() -> None:
    class NewError(errors.CallError):
        tool: str
        answer: str

    error = NewError("pack.tool", SECRET)
    redact_error(error, Redactor([SECRET]))

    assert (error.answer, error.tool, error.args) == ("***", "pack.tool", ("pack.tool", "***"))
