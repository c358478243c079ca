"""A host of views for tests: a page in Chromium, made of the official AppBridge, and the official client behind it."""

from __future__ import annotations

import http.server
import json
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import mcp_types as types
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from mcp.client.extension import ClientExtension, advertise
from mcp.client.session import ClientRequestContext
from mcp.shared.exceptions import MCPError
from playwright.sync_api import BrowserContext, FrameLocator, Page, Request

from tests.availability import report_missing, require_node
from tests.real_server import connect_server

VIEWS = "io.modelcontextprotocol/ui"
PAGE = "text/html;profile=mcp-app"
ANSWER = "onetool/answer"
SHOWS = advertise(VIEWS, {"mimeTypes": [PAGE]})
_HERE = Path(__file__).parent
_MODULES = _HERE / "node_modules"
_WAIT = 60.0  # seconds: a bound for a machine that is busy


def server_from_npm(name: str) -> dict[str, Any]:
    """The settings of an example server of the extension."""
    program = _MODULES / f"@modelcontextprotocol/{name}/dist/index.js"
    if not program.exists():
        report_missing("the host of views", remedy="`make test` installs it where npm is.")
    return {"command": str(require_node()), "args": [str(program), "--stdio"]}


def bundle_host(folder: Path) -> Path:
    """The host's page, in one file."""
    esbuild = _MODULES / "esbuild/bin/esbuild"
    if not esbuild.exists():
        report_missing("the host of views", remedy="`make test` installs it where npm is.")
    script = folder / "host.js"
    command = [str(require_node()), str(esbuild), str(_HERE / "host.js"), "--bundle", "--format=iife"]
    subprocess.run([*command, f"--outfile={script}"], check=True, capture_output=True, timeout=_WAIT)
    page = "<!doctype html><title>Host</title><body style='margin: 12px'><script src=/host.js></script>"
    (folder / "index.html").write_text(page)
    return folder


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve a folder; gives its address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@dataclass
class Person:
    """Answers questions as it is told, and remembers them."""

    agrees: bool = True
    asked: list[str] = field(default_factory=list)

    async def answer(self, context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        self.asked.append(params.message)
        if not self.agrees:
            return types.ElicitResult(action="decline")
        answers: dict[str, tuple[str, Any]] = {"agree": ("agree", True), "answer": ("answer", "once")}
        assert isinstance(params, types.ElicitRequestFormParams)
        key = next(each for each in answers if each in params.requested_schema["properties"])
        return types.ElicitResult(action="accept", content=dict([answers[key]]))


@dataclass
class ViewHost:
    """One client, and the page that shows the views of its answers."""

    page: Page
    client: Client
    portal: BlockingPortal
    person: Person
    folder: Path  # the home and the project
    requests: list[str] = field(default_factory=list)  # that the browser has tried beside those of the host

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool; what the server refuses is its `error`."""
        try:
            found = self.portal.call(partial(self.client.call_tool, name, arguments))
        except MCPError as error:
            return {"error": error.error.message}
        return found.model_dump(by_alias=True, mode="json", exclude_none=True)

    def read(self, uri: str) -> dict[str, Any]:
        try:
            found = self.portal.call(self.client.read_resource, uri)
        except MCPError as error:
            return {"error": error.error.message}
        return found.model_dump(by_alias=True, mode="json", exclude_none=True)

    def run(self, command: str) -> dict[str, Any]:
        return self.call("run", {"command": command})

    def show(self, command: str, *, theme: str = "light") -> FrameLocator:
        """Run code, and show the view of the answer."""
        result = self.run(command)
        return self.open(result, command=command, theme=theme)

    def open(self, result: dict[str, Any], *, command: str = "", theme: str = "light") -> FrameLocator:
        found = self.portal.call(self.client.read_resource, "ui://onetool/answer").contents[0]
        assert isinstance(found, types.TextResourceContents)
        self.page.evaluate("window.heard = []")
        given = {"theme": theme, "input": {"command": command}, "result": result}
        self.page.evaluate("([html, given]) => window.openView(html, given)", [found.text, given])
        return self.page.frame_locator("#view")

    @property
    def heard(self) -> list[Any]:
        found: list[Any] = self.page.evaluate("window.heard")
        return found


@contextmanager
def open_host(
    context: BrowserContext,
    address: str,
    folder: Path,
    config: dict[str, Any],
    *,
    mode: str = "auto",
    name: str = "views",
    extensions: Sequence[ClientExtension] = (SHOWS,),
) -> Iterator[ViewHost]:
    """Connect a client that shows views, and open the page of the host."""
    person = Person()
    page = context.new_page()
    try:
        with start_blocking_portal() as portal:
            client = portal.call(partial(_make, folder, config, mode, person, name, extensions))
            with portal.wrap_async_context_manager(client) as connected:
                host = ViewHost(page, connected, portal, person, folder)
                page.expose_function(
                    "callTool", lambda params: host.call(params["name"], params.get("arguments") or {})
                )
                page.on("request", lambda request: _note(request.url, address, host.requests))
                page.on("requestfailed", lambda request: _forget_blocked(request, host.requests))
                page.goto(address)
                yield host
    finally:
        page.close()


async def _make(
    folder: Path, config: dict[str, Any], mode: str, person: Person, name: str, extensions: Sequence[ClientExtension]
) -> Client:
    client = connect_server(
        folder, config=json.dumps(config), mode=mode, person=person.answer, extensions=[*extensions]
    )
    client.client_info = types.Implementation(name=name, version="1")
    return client


def _forget_blocked(request: Request, requests: list[str]) -> None:
    """Forget what the page's policy has kept from being sent."""
    if request.failure and "csp" in request.failure.lower() and request.url in requests:
        requests.remove(request.url)


def _note(url: str, address: str, requests: list[str]) -> None:
    if not url.startswith((f"{address}/", "about:", "data:", "blob:")):
        requests.append(url)
