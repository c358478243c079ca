"""`ot.keep` inside a kernel: a large value goes to the server as a file, in the form in which it is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ot_kernel.large_results import fits
from ot_kernel.stored_form import kind_of, write_form
from ot_kernel.values import Record
from ot_kernel.wire import Message

KEEP = "ot.keep"
_VALUE = "value"
_MOST_IN_MESSAGE = 64 * 1024  # about as many characters; the server would decode what is larger for nothing


def find_value(args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    """Return the value that a call of `ot.keep` is to keep; None if it was given none."""
    return kwargs[_VALUE] if _VALUE in kwargs else args[1] if len(args) > 1 else None


def put_aside(message: Message, value: object, write_file: Callable[[Iterable[bytes]], str]) -> str | None:
    """Write a large value to a file that the message names in its place, and return that name. Raises OSError."""
    args, kwargs = message["args"], message["kwargs"]
    by_name = _VALUE in kwargs
    if not by_name and len(args) < 2:
        return None
    encoded = kwargs[_VALUE] if by_name else args[1]
    if fits(encoded, _MOST_IN_MESSAGE):
        return None
    what = value.record_name if isinstance(value, Record) else type(value).__name__
    name = write_file(write_form(encoded))
    message["written"] = {"file": name, "kind": kind_of(encoded), "what": what}
    if by_name:
        del kwargs[_VALUE]
    else:
        del args[1]
    return name
