"""Known secret values become `***` in bytes that pass by, also where a piece ends in the middle of one.

Searching bytes for a fixed text is fast and lets others run between pieces; a regular expression over ten megabytes
would stop the server for half a second.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mcp_core.known_secrets import MASK

_MASK = MASK.encode()


def mask(pieces: Iterable[bytes], secrets: Iterable[str]) -> Iterator[bytes]:
    """The same bytes in other pieces, without secrets."""
    wanted = sorted({secret.encode("utf-8", "surrogatepass") for secret in secrets}, key=len, reverse=True)
    if not wanted:
        yield from pieces
        return
    overlap = len(wanted[0]) - 1
    held = b""
    for piece in pieces:
        data = held + piece
        done, held = _mask_up_to(data, max(len(data) - overlap, 0), wanted)
        yield done
    yield _mask_up_to(held, len(held), wanted)[0]


def _mask_up_to(data: bytes, end: int, wanted: list[bytes]) -> tuple[bytes, bytes]:
    """Mask every secret that begins before `end`; gives that, and the rest. Of two that begin together, the longer."""
    places = {secret: data.find(secret) for secret in wanted}
    parts: list[bytes] = []
    position = 0
    while places:
        for secret in [secret for secret, place in places.items() if place < position]:
            places[secret] = data.find(secret, position)
        places = {secret: place for secret, place in places.items() if 0 <= place < end}
        if not places:
            break
        first = min(places, key=lambda secret: (places[secret], -len(secret)))
        parts += [data[position : places[first]], _MASK]
        position = places[first] + len(first)
    parts.append(data[position:end])
    return b"".join(parts), data[max(position, end) :]
