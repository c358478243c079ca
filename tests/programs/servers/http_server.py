"""A server over HTTP, on the official SDK: `http_server.py KIND PORT`.

KIND is `modern`, `handshake` (knows no other), `json` (answers without a stream), `sse` (the transport of 2024), or
`login` (wants a token, and gives one to whoever opens its page; its tokens last as many seconds as LIFETIME says). A
refresh token can be used once: whoever offers a spent one has the whole family revoked, as providers do. Only the
metadata tells where tokens are given, and every request for one has to name the resource that it is for.
"""

import os
import sys
from urllib.parse import urlencode

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse
from starlette.routing import Mount, Route

KIND, PORT = sys.argv[1], int(sys.argv[2])
BASE = f"http://127.0.0.1:{PORT}"
LIFETIME = int(os.environ.get("LIFETIME", "3600"))


async def refuse_discovery(ctx, call_next):
    if ctx.method == "server/discover":
        raise MCPError(METHOD_NOT_FOUND, "Method not found")
    return await call_next(ctx)


server = MCPServer("http", middleware=[] if KIND == "modern" else [refuse_discovery])


@server.tool()
async def echo(text: str) -> str:
    return text


@server.tool()
async def pid() -> int:
    return os.getpid()


@server.tool()
async def large() -> str:
    return "x" * 20 * 1024 * 1024


@server.tool()
async def wait(seconds: float, ctx: Context) -> str:
    await ctx.report_progress(1, 2, "waiting")
    await anyio.sleep(seconds)
    return "done"


PRESENT = []
ALL_PRESENT = anyio.Event()


@server.tool()
async def meet(count: int) -> str:
    """Ends when so many are here at once."""
    PRESENT.append(1)
    if len(PRESENT) >= count:
        ALL_PRESENT.set()
    await ALL_PRESENT.wait()
    return "met"


@server.tool()
async def headers(ctx: Context) -> dict:
    return dict(ctx.headers or {})


@server.resource("notes://today", mime_type="text/plain")
def today() -> str:
    return "buy milk"


@server.resource("notes://{day}/all")
def all_notes(day: str) -> str:
    return f"notes of {day}"


@server.prompt()
def greet(name: str) -> str:
    return f"Greet {name}."


# -- an authorization server, for `login`

ISSUED = {"access": 0, "refresh": 0, "logins": 0, "spent": 0}
CODES = set()
VALID = {"access": set(), "refresh": set()}


async def resource_metadata(request: Request):
    return JSONResponse({"resource": f"{BASE}/mcp", "authorization_servers": [BASE]})


async def server_metadata(request: Request):
    return JSONResponse(
        {
            "issuer": BASE,
            "authorization_endpoint": f"{BASE}/authorize",
            "token_endpoint": f"{BASE}/oauth/tokens",
            "registration_endpoint": f"{BASE}/register",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": ["none"],
        }
    )


async def register(request: Request):
    asked = await request.json()
    return JSONResponse({**asked, "client_id": "onetool-client", "token_endpoint_auth_method": "none"}, 201)


async def authorize(request: Request):
    query = request.query_params
    ISSUED["logins"] += 1
    code = f"code-{ISSUED['logins']}"
    CODES.add(code)
    return RedirectResponse(f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}", 302)


async def token(request: Request):
    form = await request.form()
    if form.get("resource") != f"{BASE}/mcp":
        return JSONResponse({"error": "invalid_target"}, 400)
    if form["grant_type"] == "authorization_code":
        if form["code"] not in CODES:
            return JSONResponse({"error": "invalid_grant"}, 400)
        CODES.discard(form["code"])
    elif form.get("refresh_token") in VALID["refresh"]:
        VALID["refresh"].discard(form["refresh_token"])
        ISSUED["refresh"] += 1
        await anyio.sleep(0.2)  # whoever else is about to refresh does so meanwhile
    else:
        VALID["access"].clear()
        VALID["refresh"].clear()
        ISSUED["spent"] += 1
        return JSONResponse({"error": "invalid_grant"}, 400)
    ISSUED["access"] += 1
    access, refresh = f"access-secret-{ISSUED['access']}", f"refresh-secret-{ISSUED['access']}"
    VALID["access"].add(access)
    VALID["refresh"].add(refresh)
    return JSONResponse(
        {"access_token": access, "token_type": "Bearer", "expires_in": LIFETIME, "refresh_token": refresh}
    )


async def issued(request: Request):
    return JSONResponse(ISSUED)


def guarded(app):
    async def serve(scope, receive, send):
        if scope["type"] == "http" and scope["path"] == "/mcp":
            given = dict(scope["headers"]).get(b"authorization", b"").decode()
            if given.removeprefix("Bearer ") not in VALID["access"]:
                challenge = f'Bearer resource_metadata="{BASE}/.well-known/oauth-protected-resource/mcp"'
                await JSONResponse({}, 401, headers={"WWW-Authenticate": challenge})(scope, receive, send)
                return
        await app(scope, receive, send)

    return serve


def main():
    import uvicorn

    if KIND == "sse":
        app = server.sse_app(host="127.0.0.1")
    else:
        app = server.streamable_http_app(json_response=KIND == "json", host="127.0.0.1")
    if KIND == "login":
        routes = [
            Route("/.well-known/oauth-protected-resource/mcp", resource_metadata),
            Route("/.well-known/oauth-authorization-server", server_metadata),
            Route("/register", register, methods=["POST"]),
            Route("/authorize", authorize),
            Route("/oauth/tokens", token, methods=["POST"]),
            Route("/issued", issued),
            Mount("/", guarded(app)),
        ]
        app = Starlette(routes=routes, lifespan=lambda _: app_lifespan(server))
    uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="warning", timeout_graceful_shutdown=1)


def app_lifespan(server):
    return server.session_manager.run()


main()
