"""The MCP server over streamable HTTP: this machine only, with `Host`, `Origin` and a bearer token checked."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anyio
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_official import MAX_LINE, wait_for_signal
from onetool.http_token import accepts
from onetool.late_app import LateApp
from onetool.server import OneToolServer

PATH = "/mcp"
_PATIENCE = 1  # seconds for open connections when the server is told to end


class BearerGate:
    """Lets requests through that carry the token; all others are answered 401."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not accepts(Headers(scope=scope).get("authorization"), self._token):
            refusal = PlainTextResponse(
                "This server needs its token: Authorization: Bearer <token>\n",
                status_code=401,
                headers={"WWW-Authenticate": 'Bearer realm="onetool"'},
            )
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)


class _WebServer(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone: uvicorn would raise them again when it is done, before the engine has been closed."""
        yield


async def serve_http(
    app: LateApp, listener: socket.socket, *, token: str | None, ready: Callable[[str], None] = lambda url: None
) -> None:
    """Serve any number of clients until a signal asks this process to end; `ready` hears the address."""
    host, port = listener.getsockname()[:2]
    authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    web_app = _build_web_app(app, {authority, f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"}, token)
    server = _WebServer(
        uvicorn.Config(
            web_app, log_config=None, access_log=False, timeout_graceful_shutdown=_PATIENCE, lifespan="on", ws="none"
        )
    )

    async def stop_on_signal() -> None:
        await wait_for_signal()
        server.should_exit = True

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stop_on_signal)
        ready(f"http://{authority}{PATH}")
        await server.serve(sockets=[listener])
        tasks.cancel_scope.cancel()


def _build_web_app(app: LateApp, hosts: set[str], token: str | None) -> ASGIApp:
    web_app = OneToolServer(app).streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MAX_LINE,
        transport_security=TransportSecuritySettings(
            allowed_hosts=sorted(hosts), allowed_origins=sorted(f"http://{host}" for host in hosts)
        ),
    )
    return web_app if token is None else BearerGate(web_app, token)
