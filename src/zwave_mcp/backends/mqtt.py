"""The backend for zwave-js-ui over MQTT: its topics feed the model, its API on topics carries commands."""

from __future__ import annotations

import json
import logging
import secrets
import ssl
import time

import anyio
from aiomqtt import Client, Message, MqttError

from mcp_core.json_types import Json, JsonObject
from mcp_core.quick_dataclass import replace
from zwave_mcp.address import Address
from zwave_mcp.backends import backend
from zwave_mcp.backends.gateway_messages import DriverInfo, GatewayNode, Reply, read_flag
from zwave_mcp.backends.messages import read_each, read_json
from zwave_mcp.backends.topics import TopicIndex, apply_report, parse_topic, request_topic
from zwave_mcp.errors import LinkError, NotConnectedError, RefusedError, ZwaveError
from zwave_mcp.network import Controller, Network
from zwave_mcp.nodes import ValueId

log = logging.getLogger(__name__)
ANNOUNCE_WITHIN = 3.0  # seconds: the broker keeps the announcement of a gateway and sends it at once
_SETTLE = 0.1  # seconds after the first announcement, for those of other gateways
_ASK_AGAIN = 15.0  # seconds until a gateway that did not answer is asked again
_BETWEEN_LOOKS = 2.0  # seconds between two looks at everything
_LOOK_FOR_STRANGERS = 60.0  # seconds
_MOST_STRANGERS = 10_000
_SHOWN = 200  # characters of a message that cannot be read


class MqttBackend(backend.Backend):
    def __init__(self, network: Network, address: Address) -> None:
        super().__init__(network, address)
        self._session = secrets.token_hex(4)  # sets our requests apart from those of other programs
        self._client: Client | None = None
        self._asked: dict[str, tuple[str, list[Json]]] = {}
        self._index = TopicIndex()
        self._online: dict[str, bool] = {}
        self._used = address.gateway
        self._strangers: dict[str, float] = {}  # topics that are not known, and when they were last looked for
        self._look = anyio.Event()

    async def set_value(self, value_id: ValueId, value: Json, *, transition: float | None) -> backend.SetOutcome:
        options: list[Json] = [] if transition is None else [{"transitionDuration": backend.write_duration(transition)}]
        return backend.read_outcome(await self._call("writeValue", _address(value_id), value, *options))

    async def poll_value(self, value_id: ValueId) -> Json:
        return await self._call("pollValue", _address(value_id))

    async def refresh(self, node: int) -> None:
        await self._call("refreshValues", node)

    async def ping(self, node: int) -> bool:
        return await self._call("pingNode", node) is True

    async def _connect_once(self) -> None:
        address = self._address
        client = Client(
            address.host,
            address.port,
            username=address.username or None,
            password=address.password or None,
            tls_context=ssl.create_default_context() if address.secure else None,
        )
        try:
            async with client:
                await client.subscribe(f"{address.prefix}/#", qos=1)
                await self._serve(client)
        except (MqttError, OSError) as error:
            raise LinkError(f"the broker cannot be used: {_word(error)}") from error

    async def _serve(self, client: Client) -> None:
        self._client, self._pending, self._online, self._look = client, backend.Pending(), {}, anyio.Event()
        self._used = self._address.gateway
        end: Exception | None = None
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._keep_looking)
                try:
                    async for message in client.messages:
                        self._take(message)
                except MqttError as error:
                    end = error
                tasks.cancel_scope.cancel()
        finally:
            self._client = None
            self._pending.fail_all()
        raise LinkError(f"the broker ended the connection: {_word(end)}")

    async def _keep_looking(self) -> None:
        """Look at everything when a gateway has come, and whenever something is published that is not known."""
        if self._address.gateway:
            self._look.set()
        with anyio.move_on_after(ANNOUNCE_WITHIN):
            await self._look.wait()
        if not self._look.is_set():
            self._network.disconnected(f"no zwave-js-ui gateway was found under {self._address.prefix}/")
        await anyio.sleep(_SETTLE)
        while True:
            connected = self._network.link.state == "connected"
            with anyio.move_on_after(None if connected else _ASK_AGAIN):
                await self._look.wait()
            self._look = anyio.Event()
            try:
                await self._look_at_everything()
            except ZwaveError as error:
                log.warning("the gateway does not tell its nodes: %r", error)
                if not isinstance(error, NotConnectedError):
                    self._network.disconnected("the zwave-js-ui gateway does not answer")
            await anyio.sleep(_BETWEEN_LOOKS)

    async def _look_at_everything(self) -> None:
        self._used = self._choose_gateway()
        facts = {"gateway": self._used}
        try:
            info = DriverInfo.model_validate(await self._call("getInfo"))
            listed = await self._call("getNodes")
            if not isinstance(listed, list):
                raise ValueError("it is not a list")
            nodes = read_each(GatewayNode, listed)
        except RefusedError as error:
            log.warning("the gateway's driver is not ready: %s", error.message)
            self._network.connected((), Controller(), facts)
            return
        except ValueError as error:
            log.debug("the gateway's answer cannot be read: %s", error)
            self._network.disconnected("the gateway's list of nodes cannot be read")
            return
        known = {node.id: node.to_node() for node in nodes}
        for node in known.values():  # keeps what was published while the gateway put its answer together
            before = self._network.nodes.get(node.id)
            for id_, value in before.values.items() if before else ():
                fresh = node.values.get(id_)
                if fresh and value.updated and (fresh.updated is None or fresh.updated < value.updated):
                    node.values[id_] = replace(fresh, value=value.value, updated=value.updated)
        self._index = TopicIndex.build(known.values())
        controller = info.to_controller(known)
        if controller.node in known:
            known[controller.node].controller = True
        self._network.connected(known.values(), controller, {**facts, "version": info.app_version or ""})

    def _choose_gateway(self) -> str:
        """Return the gateway to talk to; raises NotConnectedError where there is none, or several to choose from."""
        if self._address.gateway:
            return self._address.gateway
        online = sorted(name for name, here in self._online.items() if here)
        if self._used in online:
            return self._used  # one that comes later changes nothing
        if len(online) == 1:
            return online[0]
        if online:
            problem = f"there are several gateways ({', '.join(online)}); end the address with ?gateway={online[0]}"
        elif self._online:
            problem = f"the gateway {', '.join(sorted(self._online))} is offline"
        else:
            problem = f"no zwave-js-ui gateway was found under {self._address.prefix}/"
        if self._network.link.problem != problem:
            self._network.disconnected(problem)
        raise NotConnectedError(self._address.shown, problem)

    def _take(self, message: Message) -> None:
        """Take one message; one that cannot be read is logged and ignored."""
        try:
            payload: bytes = message.payload
            retained = bool(message.retain)
            match parse_topic(str(message.topic), self._address.prefix):
                case ("reply", api, gateway):
                    self._take_reply(gateway, api, payload)
                case ("gateway", "status", gateway) if payload:
                    self._online[gateway] = here = read_flag(payload)
                    if not here and (gateway == self._used or not any(self._online.values())):
                        self._network.disconnected(f"the gateway {gateway} is offline")
                        self._pending.fail_all()
                    if any(self._online.values()):
                        self._look.set()
                case ("driver", _, _) if payload:
                    ready = read_flag(payload)
                    self._network.controller.ready = ready and self._network.link.state == "connected"
                    if ready and not retained:
                        self._look.set()  # it has restarted: everything known is void
                case ("device", path, _):
                    if not apply_report(self._network, self._index, path, payload, retained=retained):
                        self._meet_stranger(path)
        except ValueError as error:  # also pydantic's
            log.warning("ignored a message at %s that cannot be read: %.*s", message.topic, _SHOWN, error)

    def _meet_stranger(self, path: str) -> None:
        """Look at everything for a topic that is new; seldom for one that stayed unknown, as a person's own do."""
        now = time.monotonic()
        if path not in self._strangers or now - self._strangers[path] > _LOOK_FOR_STRANGERS:
            if len(self._strangers) >= _MOST_STRANGERS:
                self._strangers.clear()
            self._strangers[path] = now
            self._look.set()

    def _take_reply(self, gateway: str, api: str, payload: bytes) -> None:
        reply = Reply.model_validate(read_json(payload))
        if isinstance(reply.origin, dict):
            session, _, own = str(reply.origin.get("id")).partition(":")
            key = own if session == self._session else None
        else:  # an old gateway does not echo the id, only what was asked
            key = next((key for key, asked in self._asked.items() if asked == (api, reply.args)), None)
        if key is None:
            log.debug("gateway %s answers %s to somebody else", gateway, api)
        else:
            refused = None if reply.success else RefusedError(api, "api_failed", reply.message)
            self._pending.settle(key, refused or reply.result)

    async def _call(self, api: str, *arguments: Json) -> Json:
        client, gateway = self._client, self._choose_gateway()
        if client is None:
            raise NotConnectedError(self._address.shown, self._network.link.problem)
        pending, asked = self._pending, list(arguments)
        key = pending.open(api)
        self._asked[key] = (api, asked)
        try:
            topic = request_topic(self._address.prefix, gateway, api)
            await client.publish(topic, json.dumps({"args": asked, "id": f"{self._session}:{key}"}), qos=1)
        except MqttError:
            pending.fail_all()
        try:
            return await pending.wait(key, backend.ANSWER_WITHIN)
        finally:
            del self._asked[key]


def _address(value_id: ValueId) -> JsonObject:
    return {"nodeId": value_id.node, **backend.write_value_id(value_id)}


def _word(error: Exception | None) -> str:
    """Say in a clause what is wrong; the libraries' texts hold no password."""
    cause = error.__context__ if isinstance(error, MqttError) else error  # the library hides it
    if isinstance(cause, OSError):
        return backend.word_os_error(cause)
    return str(error or "") or "no reason is given"
