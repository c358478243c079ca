"""Bodies of requests that are looked at before somebody else reads them."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.types import Message, Receive


async def read_messages(receive: Receive, most: int) -> list[Message]:
    """Receive what belongs to one body, up to a message past `most` bytes; what follows is left."""
    messages = [await receive()]
    size = len(messages[0].get("body", b""))
    while messages[-1].get("more_body") and size <= most:
        messages.append(await receive())
        size += len(messages[-1].get("body", b""))
    return messages


def join_body(messages: Sequence[Message]) -> bytes:
    """Put a body together."""
    if len(messages) == 1:
        return bytes(messages[0].get("body", b""))
    return b"".join(message.get("body", b"") for message in messages)


def receive_again(messages: Sequence[Message], receive: Receive) -> Receive:
    """Give what was received once more, then what comes."""
    left = iter(messages)

    async def give() -> Message:
        return next(left, None) or await receive()

    return give
