"""Says how long its results are fresh, `fresh_for.py MILLISECONDS [private|public]`, and counts what it is asked."""

import sys
from collections import Counter

from mcp.server.caching import CacheHint
from mcp.server.mcpserver import MCPServer

HINT = CacheHint(ttl_ms=int(sys.argv[1]), scope=sys.argv[2] if len(sys.argv) > 2 else "private")
METHODS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read")
ASKED = Counter()


async def note(ctx, call_next):
    ASKED[ctx.method] += 1
    return await call_next(ctx)


server = MCPServer("fresh", middleware=[note], cache_hints=dict.fromkeys(METHODS, HINT))


@server.tool()
async def asked() -> dict[str, int]:
    return dict(ASKED)


@server.resource("fresh://small")
def small() -> str:
    return "small"


@server.resource("fresh://large")
def large() -> str:
    return "x" * 1_000_000


@server.prompt()
def greet() -> str:
    return "Greet."


server.run("stdio")
