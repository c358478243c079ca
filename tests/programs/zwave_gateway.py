"""Plays zwave-js-ui on MQTT: its topics, payloads and API, in front of a real zwave-js-server.

Written from zwave-js-ui's documentation and source (Gateway, MqttClient, ZwaveClient). It knows nothing of our program.
`python zwave_gateway.py '{"ws": "ws://…", "host": …, "port": …, "username": …, "password": …, "prefix": "zwave", "name":
"test", "type": "named"|"valueid", "payload": "time"|"value"|"raw", "ignore_location": false, "node_names": false,
"echo": true}'`; `echo` is whether replies hold the request, as newer versions do. Ends when stdin closes.
"""

import asyncio
import json
import re
import sys
import time

import aiomqtt
import websockets

STATUSES = {0: "Unknown", 1: "Asleep", 2: "Awake", 3: "Dead", 4: "Alive"}
CLASSES = {
    37: "switch_binary",
    38: "switch_multilevel",
    48: "sensor_binary",
    49: "sensor_multilevel",
    64: "thermostat_mode",
    67: "thermostat_setpoint",
    98: "door_lock",
    119: "node_naming",
    128: "battery",
}


def sanitize(text):
    return re.sub(r"[^A-Za-z0-9\-_À-ÖØ-öø-ÿ/]", "", re.sub(r"\s", "_", str(text)))


def no_slash(text):
    return str(text).replace("/", "-")


class Gateway:
    def __init__(self, options):
        self.options = options
        self.client_id = sanitize("ZWAVE_GATEWAY-" + options["name"])
        self.nodes = {}
        self.waiting = {}
        self.driver_ready = True

    # The driver, reached through zwave-js-server.

    async def ask(self, command, **arguments):
        key = f"{command}-{len(self.waiting)}-{time.monotonic_ns()}"
        future = self.waiting[key] = asyncio.get_running_loop().create_future()
        await self.ws.send(json.dumps({"messageId": key, "command": command, **arguments}))
        try:
            answer = await asyncio.wait_for(future, 30)
        finally:
            del self.waiting[key]
        if not answer["success"]:
            raise RuntimeError(answer.get("zwaveErrorMessage") or answer.get("message") or answer["errorCode"])
        return answer["result"]

    async def follow(self):
        async for text in self.ws:
            message = json.loads(text)
            if message["type"] == "result":
                if message["messageId"] in self.waiting:
                    self.waiting[message["messageId"]].set_result(message)
            elif message["type"] == "event":
                await self.on_event(message["event"])

    async def on_event(self, event):
        node = self.nodes.get(event.get("nodeId"))
        if event["source"] != "node" or node is None:
            return
        if event["event"] in ("value updated", "value added"):
            value = node["values"].get(self.value_key(event["args"]))
            if value is not None:
                value["value"], value["lastUpdate"] = event["args"].get("newValue"), int(time.time() * 1000)
                await self.publish_value(node, value)
        elif event["event"] in ("alive", "dead", "sleep", "wake up"):
            node["status"] = {"alive": "Alive", "dead": "Dead", "sleep": "Asleep", "wake up": "Awake"}[event["event"]]
            await self.publish_status(node)

    # ZUINode and ZUIValueId.

    def value_key(self, value):
        parts = [value["commandClass"], value.get("endpoint") or 0, value["property"]]
        return "-".join(map(str, parts + ([value["propertyKey"]] if value.get("propertyKey") is not None else [])))

    async def make_value(self, node_id, value):
        meta = value["metadata"]
        identity = {k: value[k] for k in ("commandClass", "endpoint", "property", "propertyKey") if k in value}
        stamp = (await self.ask("node.get_value_timestamp", nodeId=node_id, valueId=identity)).get("timestamp")
        made = {
            "id": f"{node_id}-{self.value_key(value)}",
            "nodeId": node_id,
            **identity,
            "commandClassName": value.get("commandClassName"),
            "propertyName": value.get("propertyName"),
            "propertyKeyName": value.get("propertyKeyName"),
            "type": meta["type"],
            "readable": meta["readable"],
            "writeable": meta["writeable"],
            "label": meta.get("label"),
            "default": None,
            "stateless": False,
            "ccSpecific": meta.get("ccSpecific"),
            "min": meta.get("min"),
            "max": meta.get("max"),
            "unit": meta.get("unit"),
            "value": value.get("value"),
            "list": "states" in meta,
        }
        if stamp:
            made["lastUpdate"] = stamp
        if "states" in meta:
            made["states"] = [
                {
                    "text": text,
                    "value": {"true": True, "false": False}.get(key, int(key) if key.lstrip("-").isdigit() else key),
                }
                for key, text in meta["states"].items()
            ]
        return {k: v for k, v in made.items() if v is not None}

    async def make_node(self, node):
        values = [await self.make_value(node["nodeId"], value) for value in node["values"]]
        return {
            "id": node["nodeId"],
            "name": node.get("name", ""),
            "loc": node.get("location", ""),
            "status": STATUSES[node["status"]],
            "ready": node["ready"],
            "available": node["status"] != 3,
            "failed": node["status"] == 3,
            "inited": True,
            "eventsQueue": [],
            "interviewStage": node["interviewStage"],
            "isControllerNode": node["isControllerNode"],
            "lastActive": int(time.time() * 1000) - 5000,
            "statistics": node["statistics"],
            "values": {self.value_key(value): value for value in values},
        }

    # MQTT.

    def topic_of(self, node, value):
        named = self.options["type"] == "named"
        name = node["name"] or f"nodeID_{node['id']}"
        topic = []
        if named:
            topic += [name, CLASSES.get(value["commandClass"], f"unknownClass_{value['commandClass']}")]
            topic += [
                f"endpoint_{value.get('endpoint') or 0}",
                no_slash(value.get("propertyName") or value["property"]),
            ]
        else:
            topic += [name if self.options.get("node_names") else node["id"], value["commandClass"]]
            topic += [value.get("endpoint") or "0", no_slash(value["property"])]
        if value.get("propertyKey") is not None:
            topic.append(no_slash(value["propertyKey"]))
        return "/".join(map(sanitize, self.place(node) + topic))

    def place(self, node):
        return [node["loc"]] if node["loc"] and not self.options.get("ignore_location") else []

    def node_topic(self, node):
        by_id = self.options["type"] == "valueid" and not self.options.get("node_names")
        return "/".join(
            map(sanitize, self.place(node) + [node["id"] if by_id else node["name"] or f"nodeID_{node['id']}"])
        )

    async def publish(self, topic, data, retain=True):
        await self.mqtt.publish(f"{self.options['prefix']}/{topic}", json.dumps(data), qos=1, retain=retain)

    async def publish_value(self, node, value):
        payload = self.options["payload"]
        data = value if payload == "value" else value.get("value")
        if payload == "time":
            data = {"time": value.get("lastUpdate"), "value": value.get("value")}
        await self.publish(self.topic_of(node, value), data)

    async def publish_status(self, node):
        data = {
            "time": int(time.time() * 1000),
            "value": node["available"],
            "status": node["status"],
            "nodeId": node["id"],
        }
        await self.publish(
            self.node_topic(node) + "/status", data["value"] if self.options["payload"] == "raw" else data
        )

    async def on_api(self, topic, api, payload):
        args = payload.get("args") or []
        try:
            if not self.driver_ready:
                raise RuntimeError("Z-Wave client not connected")
            result = {"success": True, "message": "Success zwave api call", "result": await self.call(api, *args)}
        except Exception as error:
            result = {"success": False, "message": str(error)}
        result["args"] = args
        if self.options.get("echo", True):
            result["origin"] = payload
        await self.publish(topic, result, retain=False)

    async def call(self, api, *args):
        match api:
            case "getNodes":
                return [
                    *self.nodes.values(),
                    {"id": 255, "name": "Broadcast", "ready": True, "virtual": True, "kind": "broadcast", "values": {}},
                ]
            case "getInfo":
                return {
                    "homeid": 0x7E570001,
                    "controllerId": 1,
                    "appVersion": "11.0.0",
                    "zwaveVersion": "15.29.0",
                    "cntStatus": "Scan completed",
                }
            case "writeValue":
                value, new, *options = args
                more = {"options": options[0]} if options else {}
                answer = await self.ask("node.set_value", nodeId=value["nodeId"], valueId=value, value=new, **more)
                return answer["result"]
            case "pollValue":
                return (await self.ask("node.poll_value", nodeId=args[0]["nodeId"], valueId=args[0])).get("value")
            case "refreshValues":
                return await self.ask("node.refresh_values", nodeId=args[0])
            case "pingNode":
                return (await self.ask("node.ping", nodeId=args[0]))["responded"]
        raise RuntimeError("Unknown API")

    async def on_message(self, message):
        parts = str(message.topic).removeprefix(self.options["prefix"] + "/").split("/")
        if parts[-1] != "set":
            return
        parts.pop()
        if parts[:2] == ["_CLIENTS", self.client_id] and parts[2:3] == ["api"]:
            try:
                payload = json.loads(message.payload)
            except ValueError:
                return
            asyncio.ensure_future(self.on_api("/".join(parts), parts[3], payload))
        elif parts == ["driver", "toggle"]:  # for the tests: the stick is pulled, or put back
            self.driver_ready = not self.driver_ready
            await self.publish("driver/status", self.driver_ready)

    async def run(self):
        o = self.options
        status = f"{o['prefix']}/_CLIENTS/{self.client_id}/status"
        will = aiomqtt.Will(status, json.dumps({"value": False}), qos=1, retain=True)
        async with (
            websockets.connect(o["ws"], max_size=None) as self.ws,
            aiomqtt.Client(
                o["host"], o["port"], username=o.get("username"), password=o.get("password"), will=will
            ) as self.mqtt,
        ):
            await self.ws.recv()
            follower = asyncio.ensure_future(self.follow())
            await self.ask("set_api_schema", schemaVersion=44)
            state = (await self.ask("start_listening"))["state"]
            for node in state["nodes"]:
                self.nodes[node["nodeId"]] = await self.make_node(node)
            await self.mqtt.subscribe(f"{o['prefix']}/_CLIENTS/{self.client_id}/api/#", qos=1)
            await self.mqtt.subscribe(f"{o['prefix']}/driver/toggle/set", qos=1)
            for node in self.nodes.values():
                await self.publish_status(node)
                for value in node["values"].values():
                    await self.publish_value(node, value)
            await self.publish("driver/status", True)
            await self.publish(f"_CLIENTS/{self.client_id}/status", {"value": True, "time": int(time.time() * 1000)})
            print("ready", flush=True)
            async for message in self.mqtt.messages:
                await self.on_message(message)
            follower.cancel()


async def main():
    loop = asyncio.get_running_loop()
    gateway = asyncio.ensure_future(Gateway(json.loads(sys.argv[1])).run())
    end = loop.run_in_executor(None, sys.stdin.read)
    done, _ = await asyncio.wait([gateway, asyncio.ensure_future(end)], return_when=asyncio.FIRST_COMPLETED)
    if gateway in done:
        gateway.result()
    gateway.cancel()


asyncio.run(main())
