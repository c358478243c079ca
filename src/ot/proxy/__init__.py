"""Other MCP servers: connected when they are needed, each offered as a pack.

The servers are at the top (`servers`, `server`, `packs`), and below them rooms that import only downwards:
`connections`, `transports`, `authorisation`, then `calls` (what crosses) and `definitions` (what is remembered and
accepted).

- Names first: a start makes one `stat` per server, and definitions are read from the cache when needed. A server that
  was never seen is connected ahead by `serve`, but by a command only if code names it.
- The cache is keyed by a digest of a server's whole configuration; what a person has accepted (`definitions.pins`) by
  the server's address, so that a new token accepts nothing. A damaged cache is ignored; a damaged list of accepted
  definitions accepts nothing.
- One task owns one connection, since the SDK's scopes belong to the task that entered them. It starts in an empty
  context, so that its work is not attributed to the call that started it.
- The transports over pipes, and that of HTTP in 2024, are our own (docs/decisions/0011).
- Calls over a pipe bypass the SDK's session (`transports.fast_lane`) and do not overtake lines that the session must
  see first.
- Answers are not checked against the server's output schema: that runs on the event loop, where a pattern can take for
  ever, and the data has arrived either way.
- A server hears of no abilities but those of the clients at the front (`connections.server_requests`), and of the
  client's roots and no others. If it was told the project instead, a server that got folders as arguments would drop
  them.
- A lost call is repeated only if its server had not read it (the pipe tells how many bytes were taken), did not know
  our session, or if its effect is *reads* or *idempotent*.
- What a server asks goes to the client whose call it is about. Over a pipe a question does not name its call, so with
  several clients' calls in flight it is refused rather than shown to the wrong person.
- A login is shared by all of a person's processes. A refresh token works once, and a provider that sees it twice
  revokes the whole family; so it is renewed by whoever holds the login's lock, after reading it again, and the renewal
  is shielded. A team's login returns to `/oauth/callback` of any replica, and is taken only from the person who began
  it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_core.lazy_names import lazy_names

if TYPE_CHECKING:
    from ot.proxy.calls import plain_arguments
    from ot.proxy.connections.connection import build_connection
    from ot.proxy.definitions.acceptance import Acceptance
    from ot.proxy.definitions.memory import digest_of_place
    from ot.proxy.host import BuildConnection, ProxyHost
    from ot.proxy.late_parts import Listed
    from ot.proxy.resources import fill_prompt, list_prompts, list_resources, read_resource
    from ot.proxy.server import ProxiedServer
    from ot.proxy.servers import Servers, open_servers
    from ot.proxy.status import ServerStatus
    from ot.proxy.transports.commands import find_mistake
    from ot.proxy.uses import MOST_COMPLETIONS, complete_listed, fill_listed, read_listed, watch_listed
    from ot.proxy.views import open_view, read_for_view, tool_for_view
else:  # The SDK's client is loaded by the first connection, and nothing before it is needed.
    __getattr__ = lazy_names(__name__)
