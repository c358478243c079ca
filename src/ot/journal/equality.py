"""The equality of calls: a keyed digest over a tool, its source and its arguments, in whatever order they were given.

Arguments are compared as the tool got them, and only what code may see of them is kept. Where both are the same, the
digest can be worked out from the line; otherwise the line has it. `1`, `1.0` and `True` differ.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from operator import itemgetter
from typing import NamedTuple

from mcp_core.json_types import list_of
from ot.registry.definitions import PROXY, ToolDefinition
from ot.values import Arguments, Rows
from ot_kernel.values import Encoded, decode_fields, encode

_UNORDERED = frozenset({"set", "frozenset", "dict"})
_TAG = '"$":'

_to_json = json.JSONEncoder(sort_keys=True, separators=(",", ":"), check_circular=False).encode


class Equality:
    """Gives the digest of a call. The key is that of the journal, so that a digest tells nobody what was given."""

    def __init__(self, load_key: Callable[[], bytes]) -> None:
        self._load_key = load_key

    def digest(self, tool: str, source: str, arguments: str) -> str:
        """Return the digest of a call with these arguments in canonical form; raises OSError where there is no key."""
        call = f"{tool}\n{source}\n{arguments}".encode("ascii", "backslashreplace")
        return hmac.digest(self._key, call, "sha256").hex()[:32]

    @cached_property
    def _key(self) -> bytes:
        return self._load_key()


class Source(NamedTuple):
    """The digest of a tool's source, and how lines name both."""

    digest: str
    fields: bytes  # each with a comma


class Sources:
    """The sources of tools: the file of an extension or a pack, the definition of a server's tool."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[ToolDefinition, Source]] = {}

    def of(self, definition: ToolDefinition) -> Source:
        """Return the source of a tool; one that was registered again is looked at again."""
        known = self._known.get(definition.name)
        if known is not None and known[0] is definition:
            return known[1]
        digest = hashlib.sha256(_source(definition)).hexdigest()[:16]
        facts = {"tool": definition.name, "effect": definition.effect, "source": digest}
        source = Source(digest, json.dumps(facts, separators=(",", ":"))[1:-1].encode("ascii") + b",")
        self._known[definition.name] = definition, source
        return source


def canonical(arguments: Encoded) -> str:
    """Return encoded arguments, from wherever they come, as text that is the same for equal ones."""
    text = _to_json(arguments)
    return _to_json(_ordered(encode(decode_fields(arguments)))) if _TAG in text else text


def canonical_of(arguments: Arguments) -> str:
    """Return the same for arguments that are not encoded."""
    encoded = encode(arguments)
    has_rows = any(type(value) is Rows for value in arguments.values())  # too long to be written twice
    if has_rows or _TAG in (text := _to_json(encoded)):
        return _to_json(_ordered(encoded))
    return text


def _ordered(encoded: Encoded) -> Encoded:
    """Put members of sets, and names that are not keys of JSON, into one order; keys of JSON are sorted anyway."""
    if isinstance(encoded, list):
        return [_ordered(item) for item in encoded]
    if not isinstance(encoded, dict):
        return encoded
    members = encoded.get("v")
    if encoded.get("$") == "rows" and isinstance(members, list) and isinstance(members[0], list):
        names, columns, count = members
        pairs = sorted(zip(list_of(names), list_of(columns), strict=True), key=itemgetter(0))
        return {"$": "rows", "v": [[[name, *map(_ordered, list_of(column))] for name, column in pairs], count]}
    if encoded.get("$") in _UNORDERED and isinstance(members, list):
        return {"$": encoded["$"], "v": sorted(map(_ordered, members), key=_to_json)}
    return {key: _ordered(item) for key, item in encoded.items()}


def _source(definition: ToolDefinition) -> bytes:
    if definition.file is not None and not definition.source.startswith(PROXY):
        with suppress(OSError):
            return definition.file.read_bytes()
    facts = [definition.source, definition.original, definition.description, definition.parameters]
    return json.dumps(facts, sort_keys=True, default=str).encode()
