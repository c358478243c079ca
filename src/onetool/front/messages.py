"""The protocol's few plain messages, read and written in both of its eras.

A message is plain if nothing in it is odd: known members only, each of its usual kind. `read_request` gives None for
every other one, which is the SDK's to answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping
from typing import NamedTuple, TypeGuard

from mcp_core.json_types import Json, JsonObject
from ot.clients.front import Abilities

HANDSHAKE_REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
SESSIONLESS_REVISIONS = ("2026-07-28",)
BATCHING_REVISION = "2025-03-26"
"""The only one in which messages may come as an array."""

INITIALIZE, DISCOVER, PING, LIST, CALL = "initialize", "server/discover", "ping", "tools/list", "tools/call"
SET_LEVEL = "logging/setLevel"
LISTS = {"prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates"}
"""Requests for lists of what servers have beside tools, and the member of their results that has the items."""
INITIALIZED, CANCELLED = "notifications/initialized", "notifications/cancelled"
CONNECTION_CLOSED = -32000
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

REVISION = "io.modelcontextprotocol/protocolVersion"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
_CLIENT = "io.modelcontextprotocol/clientInfo"
_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_TOKEN = "progressToken"
_ENVELOPE = frozenset({_TOKEN, REVISION, _CLIENT, _CAPABILITIES})
_MEMBERS = frozenset({"jsonrpc", "id", "method", "params"})
_INTRODUCTION = frozenset({"protocolVersion", "capabilities", "clientInfo", "_meta"})
_CALLED = frozenset({"name", "arguments", "_meta"})
_CLIENT_SAYS = frozenset({"name", "version", "title", "description", "websiteUrl"})
_CURSOR = re.compile(r"[0-9]{1,9}\.[0-9a-f]{0,16}")
_LONGEST_ID = 200
_LARGEST_ID = 2**53

RequestId = int | str


class Request(NamedTuple):
    """A plain request, or a notification, which has no `id`."""

    method: str
    params: JsonObject
    id: RequestId | None
    meta: JsonObject
    sessionless: bool
    """True if it is of the era in which each request says everything itself."""

    @property
    def revision(self) -> str:
        """The revision that it asks for, or is made in."""
        return str(self.meta[REVISION] if self.sessionless else self.params.get("protocolVersion"))

    @property
    def token(self) -> RequestId | None:
        """The token under which progress is reported; None if nobody wants to hear of it."""
        token = self.meta.get(_TOKEN)
        return token if isinstance(token, int | str) else None

    @property
    def client(self) -> str:
        """The name of the client that introduces itself by this request."""
        found = self.meta.get(_CLIENT) if self.sessionless else self.params.get("clientInfo")
        name = found.get("name") if isinstance(found, dict) else None
        return name if isinstance(name, str) else ""

    @property
    def capabilities(self) -> JsonObject:
        found = self.meta.get(_CAPABILITIES) if self.sessionless else self.params.get("capabilities")
        return found if isinstance(found, dict) else {}


def shows_views(request: Request) -> bool:
    """True if the client that introduces itself by this request shows views."""
    return "extensions" in request.capabilities and Abilities.read(request.capabilities).can_show


def read_json(text: bytes) -> Json:
    """Read what is JSON and nothing else, without `NaN`; raises ValueError or RecursionError."""
    found: Json = _DECODER.decode(text.decode())
    return found


def read_request(text: bytes) -> Request | None:
    """Read a plain request or notification; None for anything else."""
    try:
        message = read_json(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or not _MEMBERS.issuperset(message) or message.get("jsonrpc") != "2.0":
        return None
    method, params, given = message.get("method"), message.get("params", {}), message.get("id")
    if not isinstance(method, str) or not isinstance(params, dict):
        return None
    meta, identifier = params.get("_meta", {}), given if _is_plain_id(given) else None
    if not isinstance(meta, dict) or ("id" in message and identifier is None):
        return None
    request = Request(method, params, identifier, meta, sessionless=REVISION in meta)
    return request if _is_plain(request) else None


def _is_plain(request: Request) -> bool:
    meta = request.meta
    if request.id is None:
        return True
    if not _ENVELOPE.issuperset(meta) if REVISION in meta else meta.keys() - {_TOKEN}:
        return False
    if _TOKEN in meta and not _is_plain_id(meta[_TOKEN]):
        return False
    if REVISION in meta and not (
        meta[REVISION] in SESSIONLESS_REVISIONS
        and _are_capabilities(meta.get(_CAPABILITIES))
        and _is_client(meta.get(_CLIENT))
    ):
        return False
    return _has_plain_params(request.method, request.params)


def _has_plain_params(method: str, params: Mapping[str, Json]) -> bool:
    if method == CALL:
        return (
            _CALLED.issuperset(params)
            and isinstance(params.get("name"), str)
            and isinstance(arguments := params.get("arguments"), dict)
            and list(arguments) == ["command"]
            and isinstance(command := arguments["command"], str)
            and is_encodable(command)
        )
    if method == INITIALIZE:
        return (
            _INTRODUCTION.issuperset(params)
            and isinstance(params.get("protocolVersion"), str)
            and _are_capabilities(params.get("capabilities"))
            and _is_client(params.get("clientInfo"))
        )
    if method in LISTS:
        return (
            not params.keys() - {"cursor", "_meta"} and _CURSOR.fullmatch(str(params.get("cursor", "0."))) is not None
        )
    if method == SET_LEVEL:
        return not params.keys() - {"level", "_meta"} and params.get("level") in LEVELS
    return method in (DISCOVER, PING, LIST) and not params.keys() - {"_meta"}


def _are_capabilities(said: object) -> bool:
    return isinstance(said, dict) and all(_is_capability(name, settings) for name, settings in said.items())


def _is_capability(name: str, settings: object) -> bool:
    if not isinstance(settings, dict):
        return False
    if name == "roots":
        return all(key == "listChanged" and isinstance(value, bool) for key, value in settings.items())
    if name in ("experimental", "extensions"):
        return all(isinstance(value, dict) for value in settings.values())
    return name in ("elicitation", "sampling", "tasks") and _is_tree(settings)


def _is_tree(value: object) -> bool:
    """True for objects that hold nothing but such objects."""
    return isinstance(value, dict) and all(map(_is_tree, value.values()))


def _is_client(said: object) -> bool:
    return (
        isinstance(said, dict)
        and _CLIENT_SAYS.issuperset(said)
        and {"name", "version"}.issubset(said)
        and all(isinstance(value, str) and is_encodable(value) for value in said.values())
    )


def _is_plain_id(identifier: object) -> TypeGuard[RequestId]:
    if isinstance(identifier, str):
        return len(identifier) <= _LONGEST_ID and identifier.isprintable()
    return type(identifier) is int and abs(identifier) < _LARGEST_ID


def is_encodable(text: str) -> bool:
    """True unless the text has half a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse(constant: str) -> object:
    raise ValueError(constant)


_DECODER = json.JSONDecoder(parse_constant=_refuse)
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def read_command(request: Request, tools: Container[str]) -> str | None:
    """Return the code of a plain call of one of our tools, by its final name; None for any other request."""
    if request.method != CALL or request.params["name"] not in tools:
        return None
    arguments = request.params["arguments"]
    command = arguments.get("command") if isinstance(arguments, dict) else None
    return command if isinstance(command, str) else None


def read_answer(text: bytes) -> tuple[str, JsonObject | str] | None:
    """Read the answer to a request of ours: its id, and its result or the words of its error; None if it is none."""
    try:
        message = read_json(text)
    except (ValueError, RecursionError):
        return None
    match message:
        case {"jsonrpc": "2.0", "id": str(identifier), "result": dict(result)}:
            return identifier, result
        case {"jsonrpc": "2.0", "id": str(identifier), "error": {"message": str(reason)}}:
            return identifier, reason
    return None


def read_revision(text: bytes) -> str:
    """Return the revision that a handshake asks for, plain or not; empty for anything else."""
    if f'"{INITIALIZE}"'.encode() not in text:
        return ""
    try:
        message = read_json(text)
    except (ValueError, RecursionError):
        return ""
    match message:
        case {"method": str(method), "params": {"protocolVersion": str(revision)}} if method == INITIALIZE:
            return revision
    return ""


def envelope_of(revision: str) -> JsonObject:
    """Return the least that a request without a session says of itself."""
    return {REVISION: revision, _CAPABILITIES: {}}


def write_result(identifier: RequestId, result: JsonObject) -> bytes:
    return write_message({"id": identifier, "result": result})


def write_error(identifier: RequestId | None, code: int, message: str) -> bytes:
    return write_message({"id": identifier, "error": {"code": code, "message": message}})


def write_notification(method: str, params: JsonObject | None = None) -> bytes:
    return write_message({"method": method} | ({} if params is None else {"params": params}))


def progress_params(token: RequestId, step: float, total: float | None, message: str | None) -> JsonObject:
    told: JsonObject = {"progressToken": token, "progress": step, "total": total, "message": message}
    return {name: value for name, value in told.items() if value is not None}


def write_message(message: JsonObject) -> bytes:
    """Return a message as one line; half a surrogate pair is written as the escape that JSON has for it."""
    return _ENCODER.encode({"jsonrpc": "2.0", **message}).encode(errors="backslashreplace") + b"\n"
