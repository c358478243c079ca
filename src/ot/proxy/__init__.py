"""Other MCP servers: connected when they are needed, each offered as a pack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_core.lazy_names import lazy_names

if TYPE_CHECKING:
    from ot.proxy.connections.connection import build_connection
    from ot.proxy.definitions.acceptance import Acceptance
    from ot.proxy.definitions.identity import digest_of_place
    from ot.proxy.host import BuildConnection, ProxyHost
    from ot.proxy.prompts import fill_prompt, list_prompts
    from ot.proxy.resources import list_resources, read_resource
    from ot.proxy.server import ProxiedServer
    from ot.proxy.servers import Servers, open_servers
    from ot.proxy.status import ServerStatus
    from ot.proxy.transports.commands import find_mistake
else:  # The SDK's client is loaded by the first connection, and nothing before it is needed.
    __getattr__ = lazy_names(__name__)
