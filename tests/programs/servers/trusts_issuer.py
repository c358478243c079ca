"""A server over HTTP that takes tokens of one issuer: `trusts_issuer.py ISSUER PORT`; says whose token it got."""

import os
import sys

import jwt
from mcp.server.mcpserver import Context, MCPServer
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

ISSUER, PORT = sys.argv[1], int(sys.argv[2])
BASE = f"http://127.0.0.1:{PORT}"
NAMED = os.environ.get("NAMED_ISSUER", ISSUER)  # that it tells clients of
KEYS = jwt.PyJWKClient(f"{ISSUER}/jwks")

server = MCPServer("trusts_issuer")


@server.tool()
async def who(ctx: Context) -> dict:
    return read((ctx.headers or {})["authorization"])


def read(given):
    token = given.removeprefix("Bearer ")
    key = KEYS.get_signing_key_from_jwt(token).key
    claims = jwt.decode(token, key, algorithms=["ES256", "RS256"], audience=f"{BASE}/mcp", issuer=ISSUER)
    return {"person": claims.get("sub"), "client": claims["client_id"], "scope": claims["scope"]}


async def resource_metadata(request: Request):
    return JSONResponse({"resource": f"{BASE}/mcp", "authorization_servers": [NAMED], "scopes_supported": ["admin"]})


def guarded(app):
    async def serve(scope, receive, send):
        if scope["type"] == "http" and scope["path"] == "/mcp":
            try:
                read(dict(scope["headers"]).get(b"authorization", b"").decode())
            except jwt.PyJWTError:
                where = f'Bearer resource_metadata="{BASE}/.well-known/oauth-protected-resource/mcp", scope="admin"'
                await JSONResponse({}, 401, headers={"WWW-Authenticate": where})(scope, receive, send)
                return
        await app(scope, receive, send)

    return serve


def main():
    import uvicorn

    app = server.streamable_http_app(host="127.0.0.1")
    routes = [Route("/.well-known/oauth-protected-resource/mcp", resource_metadata), Mount("/", guarded(app))]
    app = Starlette(routes=routes, lifespan=lambda _: server.session_manager.run())
    uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="warning", timeout_graceful_shutdown=1)


main()
