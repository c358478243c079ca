"""The ways to reach a Z-Wave network: the WebSocket of zwave-js-server, and zwave-js-ui over MQTT."""
