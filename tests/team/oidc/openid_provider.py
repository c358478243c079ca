"""A real OpenID provider (npm's `oidc-provider`) for tests, at which anybody who gives a name is that person.

    with run_openid_provider() as provider:
        token = provider.token("ann", groups=["dev"], resource="http://127.0.0.1:8000/mcp")

    provider.login(url, "ann")      # follows a redirect to it, as a browser does, to the address that it leads back to

The client of a dashboard is `DASHBOARD_CLIENT` with `DASHBOARD_SECRET`: authorization code with PKCE, and refresh tokens
that work once. Any other client can register itself. `make test` installs it (scripts/install-openid-provider).
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin

import httpx2

from tests.availability import report_missing, require_node

DASHBOARD_CLIENT = "dashboard"
DASHBOARD_SECRET = "the-dashboard-is-known-by-this"
MACHINE_CLIENT = "machine"
MACHINE_SECRET = "the-machine-is-known-by-this"
CALLBACKS = ("http://127.0.0.1/oauth/callback", "http://127.0.0.1/login/callback", "http://localhost/oauth/callback")
"""Where the dashboard's people come back to, at any port."""

_FOLDER = Path(__file__).parent
_MOST_REDIRECTS = 20


@dataclass(frozen=True, slots=True)
class OpenIdProvider:
    """One that runs; `client` speaks HTTP to it."""

    issuer: str
    client: httpx2.Client

    def token(
        self, subject: str, *, resource: str | None, groups: Sequence[str] | None = None, seconds: int = 3600
    ) -> str:
        """Return an access token for a person: a JWT, or for no resource, or one `urn:opaque:...`, an opaque one."""
        asked = {"grant_type": "urn:onetool:person", "client_id": "tests", "sub": subject, "seconds": str(seconds)}
        if groups is not None:
            asked["groups"] = " ".join(groups)
        if resource is not None:
            asked["resource"] = resource
        return self._redeem(asked)

    def machine_token(self, *, resource: str) -> str:
        """Return an access token for a program, by its client credentials."""
        asked = {"grant_type": "client_credentials", "resource": resource, "scope": "mcp"}
        return self._redeem(asked, httpx2.BasicAuth(MACHINE_CLIENT, MACHINE_SECRET))

    def login(self, url: str, name: str) -> str:
        """Begin at the address of an authorization request, log in, and return where that leads back to."""
        with httpx2.Client(timeout=60) as browser:
            for _ in range(_MOST_REDIRECTS):
                answer = browser.get(url)
                if answer.status_code == 200:  # its form
                    answer = browser.post(url, data={"login": name})
                assert answer.is_redirect, answer.text
                url = urljoin(url, answer.headers["location"])
                if not url.startswith(self.issuer):
                    return url
        raise AssertionError(f"the login goes in circles: {url}")

    def _redeem(self, asked: Mapping[str, str], auth: httpx2.Auth | None = None) -> str:
        answer = self.client.post(f"{self.issuer}/token", data=dict(asked), auth=auth or httpx2.Auth())
        assert answer.status_code == 200, answer.text
        token = answer.json()["access_token"]
        assert isinstance(token, str)
        return token


@contextmanager
def run_openid_provider(
    *,
    port: int = 0,
    redirect_uris: Sequence[str] = CALLBACKS,
    people: Mapping[str, Sequence[str]] | None = None,
    trusts: str = "",
) -> Iterator[OpenIdProvider]:
    """A provider as long as this is open; `people` are names with their groups, to which `token` may add.

    It gives tokens for assertions (ID-JAG) of the issuer that it `trusts`.
    """
    if not (_FOLDER / "node_modules/oidc-provider").exists():
        report_missing("oidc-provider", remedy="`make test` installs it (scripts/install-openid-provider).")
    options = {
        "port": port,
        "redirect_uris": list(redirect_uris),
        "people": {k: list(v) for k, v in (people or {}).items()},
        "trusts": trusts,
    }
    command = [str(require_node()), str(_FOLDER / "provider.mjs"), json.dumps(options)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            issuer = process.stdout.readline().strip()
            assert issuer, "the OpenID provider did not come up"
            with httpx2.Client(timeout=30) as client:
                yield OpenIdProvider(issuer, client)
        finally:
            process.kill()
