"""Requests that have the same answer as long as the server is the same, and what tells one of them from another."""

from __future__ import annotations

import json
from typing import NamedTuple

JsonObject = dict[str, object]

LIST = "tools/list"
RESULT, END = b'"result":', b"}\n"
"""What stands before and after the result in the line of an answer."""

REVISION = "io.modelcontextprotocol/protocolVersion"
_CLIENT = "io.modelcontextprotocol/clientInfo"
_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_TOKEN = "progressToken"
_RUN = "run"
_HANDSHAKE = ("initialize",)
_WITH_SESSION = ("ping", LIST)
_SESSIONLESS = ("server/discover", LIST)
REPEATED = frozenset({*_HANDSHAKE, *_WITH_SESSION, *_SESSIONLESS})
"""The methods whose answers stay the same."""

CALL = "tools/call"
_ASKABLE = frozenset({"elicitation", "sampling", "roots"})
_CALLED = frozenset({"name", "arguments", "_meta"})
_MEMBERS = frozenset({"jsonrpc", "id", "method", "params"})
_LONGEST_ID = 200
_LARGEST_ID = 2**53


class Request(NamedTuple):
    """A request or a notification, which has no `id`."""

    method: str
    params: JsonObject
    id: int | str | None
    meta: JsonObject

    @property
    def token(self) -> object:
        """What progress is reported under; None if nobody wants to hear of it."""
        return self.meta.get(_TOKEN)

    @property
    def client(self) -> JsonObject:
        """What a client that introduces itself says of itself."""
        found = self.meta.get(_CLIENT) if self.sessionless else self.params.get("clientInfo")
        return found if isinstance(found, dict) else {}

    @property
    def capabilities(self) -> JsonObject:
        """What such a client can do."""
        found = self.meta.get(_CAPABILITIES) if self.sessionless else self.params.get("capabilities")
        return found if isinstance(found, dict) else {}

    @property
    def sessionless(self) -> bool:
        """True if it is of the era in which each request says everything itself."""
        return REVISION in self.meta


def read_request(line: bytes) -> Request | None:
    """Read a line; None for one that is no plain request, about which only the server itself can say more."""
    try:
        message = _DECODER.decode(line.decode())
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or not _MEMBERS.issuperset(message) or message.get("jsonrpc") != "2.0":
        return None
    method, params, identifier = message.get("method"), message.get("params", {}), message.get("id")
    if not isinstance(method, str) or not isinstance(params, dict):
        return None
    meta = params.get("_meta", {})
    if not isinstance(meta, dict) or not ("id" not in message or _is_plain_id(identifier)):
        return None
    return Request(method, params, identifier, meta)


def _refuse(constant: str) -> object:
    raise ValueError(constant)


_DECODER = json.JSONDecoder(parse_constant=_refuse)
_ENCODER = json.JSONEncoder(ensure_ascii=False)


def _is_plain_id(identifier: object) -> bool:
    if isinstance(identifier, str):
        return len(identifier) <= _LONGEST_ID and identifier.isprintable()
    return type(identifier) is int and abs(identifier) < _LARGEST_ID


def read_command(request: Request) -> str | None:
    """Return the code of a plain call of `run`, with nothing else in it; None for any other request."""
    if request.method != CALL or request.id is None or not _CALLED.issuperset(request.params):
        return None
    arguments = request.params.get("arguments")
    if request.params.get("name") != _RUN or not isinstance(arguments, dict) or list(arguments) != ["command"]:
        return None
    known = {_TOKEN, REVISION, _CLIENT, _CAPABILITIES} if request.sessionless else {_TOKEN}
    if not known.issuperset(request.meta) or not _is_plain_id(request.meta.get(_TOKEN, 0)):
        return None
    command = arguments["command"]
    return command if isinstance(command, str) and _is_encodable(command) else None


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class Conversation:
    """What a client and the server have settled, as far as answers depend on it.

    The first request decides the era; in that of handshakes, a handshake settles the revision.
    """

    def __init__(self) -> None:
        self.introduction: Request | None = None
        """The first request that was answered, in which the client says who it is."""
        self._revision: str | None = None
        self._sessionless: bool | None = None

    def key_of(self, request: Request) -> str | None:
        """Return what a request has in common with others of the same answer; None if it has none."""
        if self._sessionless not in (None, request.sessionless):
            return None
        known = _SESSIONLESS if request.sessionless else _HANDSHAKE if self._revision is None else _WITH_SESSION
        if request.method not in known:
            return None
        params = {**request.params, "clientInfo": _nameless(request.params.get("clientInfo"))}
        return json.dumps([self._revision, request.method, {**params, "_meta": _same(request.meta)}], sort_keys=True)

    def frame_key_of(self, request: Request) -> str | None:
        """Return what the request of a plain run has in common with others whose answers differ in text only."""
        first = self.introduction
        if first is None or first.sessionless != request.sessionless:
            return None
        if not request.sessionless:
            return self._revision
        # Whether a client that says something else of itself is answered is for the server to say.
        same = _same(request.meta) == _same(first.meta) and not _ASKABLE.intersection(request.capabilities)
        return str(request.meta[REVISION]) if same else None

    def note_request(self, request: Request) -> None:
        """Hear of a request, the first of which decides the era."""
        if self._sessionless is None and request.id is not None:
            self._sessionless = request.sessionless

    def note_answer(self, request: Request, result: str) -> None:
        """Hear of an answer to one of the requests that have a key."""
        if request.method == "initialize":
            self._revision = json.loads(result)["protocolVersion"]
        if self.introduction is None:
            self.introduction = request


def _same(meta: JsonObject) -> JsonObject:
    """Return what may stand beside a request, without what no answer depends on."""
    kept = {name: value for name, value in meta.items() if name != _TOKEN or not _is_plain_id(value)}
    return {**kept, _CLIENT: _nameless(meta.get(_CLIENT))}


def _nameless(client: object) -> object:
    """Leave out what a client calls itself, on which no answer depends."""
    if not isinstance(client, dict):
        return client
    return {name: "" if name in ("name", "version") and _is_text(said) else said for name, said in client.items()}


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value.isprintable()


def begin_answer(identifier: int | str | None) -> bytes:
    """Return how the line of an answer begins, with a result or with an error."""
    return b'{"jsonrpc":"2.0","id":%s,' % _ENCODER.encode(identifier).encode()


def frame_result(identifier: int | str | None, result: str) -> bytes:
    """Return the line of an answer with this result."""
    return begin_answer(identifier) + RESULT + result.encode() + END


def find_result(line: bytes, begin: bytes) -> str | None:
    """Return the result in a line that begins like this; None if it holds an error."""
    if not line.startswith(RESULT, len(begin)) or not line.endswith(END):
        return None
    return line[len(begin) + len(RESULT) : -len(END)].decode()
