"""An MCP server for a Z-Wave network: devices read, switched and locked through the controller that a person runs.

One model (`network`) holds nodes, values and the connection's state. Two backends feed it, for zwave-js-server and
zwave-js-ui; tools know nothing of either.

- A command counts when the device confirms it (`commands`): the driver reports a value as changed as soon as the radio
  has delivered it, so the device is polled until its own value matches. Commands to one device wait for each other.
- Connections come back by themselves; pending requests fail at once and say that their outcome is unknown.
- Times come from the driver. A broker's retained value counts only if it is newer than what the gateway has said
  since.
- Topics are not parsed, because names may contain slashes: all that a gateway could use are looked up
  (`backends.topics`).
- Messages are untrusted: one bad node or value hides no other.
- Tools have no prefix, because `zwave.switch(...)` is how a run calls them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_core.lazy_names import lazy_names

if TYPE_CHECKING:
    from zwave_mcp.address import Address, parse_address
    from zwave_mcp.house import House, open_house
    from zwave_mcp.server import ZwaveServer, open_server
else:  # Whoever asks the program for --help should not wait for the SDK.
    __getattr__ = lazy_names(__name__)
