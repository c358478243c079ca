"""The backend for zwave-js-server: one WebSocket, on which requests are matched by id and events feed the model."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Iterable, Mapping
from datetime import datetime

import anyio
from pydantic import ValidationError
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from mcp_core.json_types import Json, JsonObject, mapping_of
from zwave_mcp.backends import backend
from zwave_mcp.backends.messages import read_json
from zwave_mcp.backends.server_messages import Event, ServerState, Version, apply_event
from zwave_mcp.errors import LinkError, NotConnectedError, RefusedError, ZwaveError
from zwave_mcp.nodes import ValueId, read_milliseconds

log = logging.getLogger(__name__)
OLDEST_SCHEMA, NEWEST_SCHEMA = 15, 50  # of the server's interface, as far as it is known here
OPEN_WITHIN, CLOSE_WITHIN = 10.0, 2.0  # seconds
LARGEST_MESSAGE = 256 * 1024 * 1024  # bytes: a network of 200 nodes is described in several megabytes
_AT_ONCE = 20  # requests for times
_TRY_AGAIN_LATER = 1013
_SHOWN = 200  # characters of a message that cannot be read


class WebSocketBackend(backend.Backend):
    _socket: ClientConnection | None = None
    _knows_times = True

    async def set_value(self, value_id: ValueId, value: Json, *, transition: float | None) -> backend.SetOutcome:
        options: JsonObject = {}
        if transition is not None:
            options = {"options": {"transitionDuration": backend.write_duration(transition)}}
        answer = await self._request("node.set_value", **_address(value_id), value=value, **options)
        return backend.read_outcome(answer.get("result", answer.get("success")))

    async def poll_value(self, value_id: ValueId) -> Json:
        return (await self._request("node.poll_value", **_address(value_id))).get("value")

    async def refresh(self, node: int) -> None:
        await self._request("node.refresh_values", nodeId=node)

    async def ping(self, node: int) -> bool:
        return (await self._request("node.ping", nodeId=node)).get("responded") is True

    async def read_times(self, ids: Iterable[ValueId]) -> Mapping[ValueId, datetime]:
        times: dict[ValueId, datetime] = {}
        limit = anyio.CapacityLimiter(_AT_ONCE)

        async def read(wanted: ValueId) -> None:
            async with limit:
                moment = await self._read_time(wanted)
            if moment is not None:
                times[wanted] = moment

        async with anyio.create_task_group() as tasks:
            for wanted in ids:
                tasks.start_soon(read, wanted)
        return times

    async def _read_time(self, value_id: ValueId) -> datetime | None:
        if not self._knows_times:
            return None
        try:
            answer = await self._request("node.get_value_timestamp", **_address(value_id))
        except RefusedError as error:
            self._knows_times = error.code != "unknown_command"  # a server from before there was one
            return None
        except ZwaveError:
            return None  # the value is known; when it was heard is not, any more
        return read_milliseconds(answer.get("timestamp"))

    async def _connect_once(self) -> None:
        query = f"?{self._address.query}" if self._address.query else ""
        headers = {}  # for a reverse proxy that asks who is there; not in the address, since errors tell that
        if self._address.username:
            login = f"{self._address.username}:{self._address.password}"
            headers["Authorization"] = f"Basic {base64.b64encode(login.encode()).decode()}"
        try:
            async with connect(
                f"{self._address.shown}{query}",
                additional_headers=headers,
                open_timeout=OPEN_WITHIN,
                close_timeout=CLOSE_WITHIN,
                max_size=LARGEST_MESSAGE,
                proxy=None,
            ) as socket:
                try:
                    await self._serve(socket)
                finally:
                    with anyio.CancelScope(shield=True):  # a cancelled farewell would leave the socket open
                        await socket.close()
        except (OSError, TimeoutError, InvalidHandshake, ConnectionClosed) as error:
            raise LinkError(_word_link_error(error)) from error

    async def _serve(self, socket: ClientConnection) -> None:
        """Agree on a version, take over what the server knows, then follow what happens; raises LinkError."""
        with anyio.fail_after(OPEN_WITHIN):
            try:
                version = Version.model_validate(_parse(await socket.recv()))
            except ValueError as error:
                raise LinkError("the server at this address is not zwave-js-server") from error
            schema = min(version.max_schema_version, NEWEST_SCHEMA)  # the newest that both sides know
            if schema < max(version.min_schema_version, OLDEST_SCHEMA):
                offered = f"{version.min_schema_version} to {version.max_schema_version}"
                own = f"{OLDEST_SCHEMA} to {NEWEST_SCHEMA}"
                raise LinkError(f"the server supports schema {offered}, this program {own}")
            await _exchange(socket, "set_api_schema", schemaVersion=schema)
            listening = await _exchange(socket, "start_listening")
        try:
            state = ServerState.model_validate(listening.get("state"))
        except ValidationError as error:
            log.debug("the server's state cannot be read: %s", error)
            raise LinkError("the server's description of its network cannot be read") from error
        self._socket, self._pending, self._knows_times = socket, backend.Pending(), True
        facts: JsonObject = {"version": version.server_version, "schema": schema}
        self._network.connected(state.to_nodes(), state.to_controller(version), facts)
        log.info("connected to %s: server %s, schema %s", self._address.shown, version.server_version, schema)
        try:
            async for message in socket:
                self._take(message)
        finally:
            self._socket = None
            self._pending.fail_all()

    def _take(self, text: str | bytes) -> None:
        """Take one message; one that cannot be read is logged and ignored."""
        try:
            message = _parse(text)
            if message.get("type") == "event":
                apply_event(self._network, Event.model_validate(message.get("event")))
            elif message.get("type") == "result":
                key = message.get("messageId")
                refused = message.get("success") is not True
                answer = _read_refusal(self._pending.name_of(key), message) if refused else message.get("result")
                if not self._pending.settle(key, answer):
                    log.debug("an answer that nobody waits for: %r", key)
            else:
                log.warning("ignored a message from the server: %.*r", _SHOWN, message)
        except ValueError as error:  # also pydantic's
            log.warning("ignored a message from the server that cannot be read: %.*s", _SHOWN, error)

    async def _request(self, command: str, **arguments: Json) -> Mapping[str, Json]:
        socket = self._socket
        if socket is None:
            raise NotConnectedError(self._address.shown, self._network.link.problem)
        pending = self._pending
        key = pending.open(command)
        try:
            await socket.send(json.dumps({"messageId": key, "command": command, **arguments}))
        except ConnectionClosed:
            pending.fail_all()
        return mapping_of(await pending.wait(key, backend.ANSWER_WITHIN))


async def _exchange(socket: ClientConnection, command: str, **arguments: Json) -> Mapping[str, Json]:
    """Ask before events are listened to, so that the answer is the next thing that makes sense."""
    await socket.send(json.dumps({"messageId": command, "command": command, **arguments}))
    while True:
        try:
            message = _parse(await socket.recv())
        except ValueError as error:
            log.warning("ignored a message from the server that cannot be read: %.*s", _SHOWN, error)
            continue
        if message.get("messageId") != command:
            continue
        if message.get("success") is not True:
            raise LinkError(f"the server refused {command}: {_read_refusal(command, message).message}")
        return mapping_of(message.get("result"))


def _parse(text: str | bytes) -> JsonObject:
    """Read a message; raises ValueError."""
    message = read_json(text)
    if not isinstance(message, dict):
        raise ValueError(f"it is not an object: {text[:_SHOWN]!r}")
    return message


def _read_refusal(request: str, message: Mapping[str, Json]) -> RefusedError:
    text = message.get("zwaveErrorMessage") or message.get("message") or ""
    return RefusedError(request, str(message.get("errorCode") or "unknown_error"), str(text).partition("\n")[0])


def _address(value_id: ValueId) -> JsonObject:
    return {"nodeId": value_id.node, "valueId": backend.write_value_id(value_id)}


def _word_link_error(error: Exception) -> str:
    match error:
        case ConnectionClosed() if error.rcvd is not None and error.rcvd.code == _TRY_AGAIN_LATER:
            return error.rcvd.reason or "the server is not ready"
        case ConnectionClosed():
            return "the connection was lost"
        case TimeoutError():
            return "the server did not answer in time"
        case InvalidHandshake():
            return "the server at this address does not accept WebSocket connections"
        case OSError():
            return backend.word_os_error(error)
    return type(error).__name__
