"""The surroundings of servers: folders, environment, records, and how the client library is loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_core.quick_dataclass import dataclass, field
from ot.clients.front import KnownClients
from ot.store.credentials import Credentials
from ot.store.shelf import Shelf

if TYPE_CHECKING:  # every engine has these surroundings, and many have no server in them
    from ot.proxy.connections.connection import Connection
    from ot.proxy.definitions.memory import Records
    from ot.proxy.plan import Authorise, ConnectionPlan, TeamLogins

BuildConnection = Callable[["ConnectionPlan"], "Connection"]


@dataclass(frozen=True, slots=True)
class ProxyHost:
    """The surroundings that whoever opens servers gives them."""

    project: Path  # the working directory of every server, and the root that it is told of
    shelf: Shelf  # where we keep what servers said of themselves
    credentials: Credentials
    environ: Mapping[str, str]  # of which servers get what they need
    load_builder: Callable[[], BuildConnection]  # loads the SDK's client, on a thread
    pin_tools: bool | None = None  # None: of servers that come from elsewhere
    authorise: Authorise | None = None  # sends a person to a page, where no client waits that could
    learn: Callable[[str], None] = lambda _: None  # is told of every secret that comes up
    clients: KnownClients = field(default_factory=KnownClients)  # who may be asked something by servers
    redact: Callable[[str], str] = str  # takes secrets out of a server's last words, which no tool brings
    logins: TeamLogins | None = None  # of one of many people; None: a person logs in at this machine

    @property
    def records(self) -> Records:
        from ot.proxy.definitions.memory import Records  # noqa: PLC0415 - as above

        return Records(self.project, self.shelf, self.pin_tools)
