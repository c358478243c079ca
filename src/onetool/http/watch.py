"""Questions of machines over HTTP, beside MCP: is the server alive, may it be sent requests, what are its figures."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import anyio
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from onetool.http.listening import is_loopback
from ot.telemetry.meters import PROMETHEUS, Meters, render_prometheus

PATIENCE = 2.0  # seconds that a part may take to say that it is there
# Headers with which a balancer says that it passes on the request of another machine.
_FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")

Check = Callable[[], Awaitable[str]]
"""Says why requests should go elsewhere for now; an empty text if they may come."""


async def _ask(check: Check) -> str:
    with anyio.move_on_after(PATIENCE):
        return await check()
    return f"gave no answer within {PATIENCE:g} s"


def watch_routes(
    checks: Mapping[str, Check], meters: Meters, is_administrator: Callable[[Request], Awaitable[bool]]
) -> list[Route]:
    """Build the routes; the figures are for this machine and for administrators, the rest is for everybody.

    `checks` are asked, by the name of a part, whether requests should come here.
    """

    async def healthz(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_: Request) -> Response:
        found = {name: await _ask(check) for name, check in checks.items()}
        problems = {name: reason for name, reason in found.items() if reason}
        return JSONResponse({"ready": not problems, "problems": problems}, status_code=503 if problems else 200)

    async def metrics(request: Request) -> Response:
        if not is_on_this_machine(request) and not await is_administrator(request):
            return PlainTextResponse("The figures are for administrators and for this machine itself.\n", 403)
        return Response(render_prometheus(meters), media_type=PROMETHEUS)

    return [
        Route("/healthz", healthz, methods=["GET"]),
        Route("/readyz", readyz, methods=["GET"]),
        Route("/metrics", metrics, methods=["GET"]),
    ]


def is_on_this_machine(request: Request) -> bool:
    """True if whoever asks is on this machine; a balancer there asks for others, and a page may have made up a host."""
    peer = request.client
    if peer is not None and not is_loopback(peer.host):
        return False
    host = request.headers.get("host", "").rpartition(":")[0] or request.headers.get("host", "")
    named_here = host in ("", "localhost") or is_loopback(host.strip("[]"))
    return named_here and not any(header in request.headers for header in _FORWARDED)
