"""The proxy's client as a program for the conformance suite: `client_program.py URL` connects and uses what it finds.

The suite says in the environment which scenario it plays, and what the program should know for it.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import httpx2
import jwt

from ot.clients.caller import Caller
from ot.clients.front import Abilities, Front
from ot.config.models import Config
from ot.config.secrets import Secrets
from ot.errors import CallError
from ot.execution.tool_executor import ToolExecutor
from ot.parts.known_tools import load_connection_builder
from ot.proxy.host import ProxyHost
from ot.proxy.plan import TeamIssuer, TeamLogins
from ot.proxy.resources import fill_prompt, list_prompts, list_resources, read_resource
from ot.proxy.server import ProxiedServer
from ot.proxy.servers import Servers, open_servers
from ot.registry.places import PackPlaces
from ot.registry.registry import ToolRegistry
from ot.store.credentials import FileCredentials
from ot.store.logins import MemoryPendingLogins
from ot.store.shelf import Shelf

SERVER = "conformance"
GRANTS = {
    "auth/client-credentials-basic": "client_credentials",
    "auth/enterprise-managed-authorization": "enterprise",
}
"""The scenarios that play a login without a browser, which a person configures."""
CLIENT_DOCUMENT = "https://conformance-test.local/client-metadata.json"  # the one that the suite knows of
_SAMPLES = {"integer": 3, "number": 5, "string": "text", "boolean": True, "array": [], "object": {}}


async def accept_defaults(method: str, params: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Be a client whose person accepts every form as it is filled in beforehand."""
    fields = params["requestedSchema"].get("properties", {})
    content = {name: field["default"] for name, field in fields.items() if "default" in field}
    return {"action": "accept", "content": content}


FRONT = Front(object(), Abilities(can_elicit=True), accept_defaults)


async def log_in(url: str) -> None:
    """What a person's browser does: it opens the page, and is sent on to ours."""
    async with httpx2.AsyncClient(follow_redirects=True) as browser:
        await browser.get(url)


async def find_issuer(url: str) -> str:
    """What a person looks up who configures a server with such a grant: the issuer that it names."""
    place = httpx2.URL(url)
    async with httpx2.AsyncClient() as client:
        found = await client.get(place.copy_with(path=f"/.well-known/oauth-protected-resource{place.path}"))
    issuer: str = found.json()["authorization_servers"][0]
    return issuer


def known_logins(facts: Mapping[str, Any]) -> TeamLogins:
    """The person whom the suite's issuer knows, logged in to a dashboard."""
    claims = jwt.decode(facts["idp_id_token"], options={"verify_signature": False})
    issuer = TeamIssuer(facts["idp_issuer"], facts["idp_client_id"], None)
    principal = json.dumps([claims["iss"], claims["sub"]])
    return TeamLogins(MemoryPendingLogins(), principal, "http://127.0.0.1", issuer)


async def main(url: str) -> int:
    facts = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    oauth = {"client_id": facts.get("client_id"), "client_secret": facts.get("client_secret")}
    oauth |= {"client_metadata_url": CLIENT_DOCUMENT}
    grant = GRANTS.get(os.environ.get("MCP_CONFORMANCE_SCENARIO", ""))
    if grant is not None:
        oauth |= {"grant": grant, "issuer": await find_issuer(url)}
    settings = {"url": url, "oauth": oauth, "start_timeout": 100}
    config = Config.model_validate({"servers": {SERVER: settings}})
    registry = ToolRegistry()
    with tempfile.TemporaryDirectory() as folder:
        credentials = FileCredentials(Path(folder) / "tokens")
        logins = known_logins(facts) if grant == "enterprise" else None
        if logins is not None:
            await logins.keep_identity(facts["idp_id_token"], credentials)
        host = ProxyHost(
            project=Path(folder),
            shelf=Shelf(Path(folder) / "state"),
            credentials=credentials,
            logins=logins,
            environ=os.environ,
            load_builder=load_connection_builder,
            authorise=log_in,
        )
        places = PackPlaces(registry)
        async with open_servers(config.servers, registry=registry, places=places, host=host) as servers:
            executor = ToolExecutor(registry, config=config, secrets=Secrets(), project=Path(folder))
            await servers.catch_up(SERVER)
            await use(servers, executor, facts)
            states = [status.error for status in servers.status()]
    sys.stderr.write(f"{states}\n")
    return 1 if any(states) else 0


async def use(servers: Servers, executor: ToolExecutor, facts: Mapping[str, Any]) -> None:
    """Everything that the server offers, each once; tools all at the same time."""
    (server,) = servers.choose(SERVER)
    offered: list[Any] = [*server.offer().tools]
    tools = {tool["name"]: tool for tool in offered}
    async with anyio.create_task_group() as tasks:
        for call in facts.get("toolCalls") or ():
            tasks.start_soon(_call_as_told, server, call)
        for name, tool in tools.items() if not facts.get("toolCalls") else ():
            tasks.start_soon(_call, executor, name, _fill_in(tool, tools))
    resources: list[Any] = await list_resources(servers)
    for resource in resources:
        if "uri" in resource:
            _show(await read_resource(servers, resource["uri"]))
    prompts: list[Any] = await list_prompts(servers)
    for prompt in prompts:
        _show(await fill_prompt(servers, prompt["name"], {a["name"]: "text" for a in prompt["arguments"]}))


def _fill_in(tool: Mapping[str, Any], tools: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Arguments that fit; one that is called `schema` gets the whole schema of the other tool."""
    schema = tool["inputSchema"]
    others = [other for name, other in tools.items() if name != tool["name"]]
    if "schema" in schema.get("properties", {}) and others:
        return {"schema": others[0]["inputSchema"]}
    needed = schema.get("required", ())
    return {name: _SAMPLES.get(schema["properties"][name].get("type"), "text") for name in needed}


async def _call(executor: ToolExecutor, name: str, arguments: dict[str, Any]) -> None:
    try:
        _show(await executor.call(f"{SERVER}.{name}", arguments, caller=Caller(front=FRONT)))
    except CallError as error:
        sys.stderr.write(f"{name}: {error!r}\n")


async def _call_as_told(server: ProxiedServer, call: Mapping[str, Any]) -> None:
    """With the suite's own arguments, which need not fit the schema."""
    _show(await server.call(call["name"], call["arguments"]))


def _show(value: Any) -> None:
    sys.stderr.write(f"{value!r}\n"[:300])


if __name__ == "__main__":
    sys.exit(anyio.run(main, sys.argv[1]))
