"""The parts of a team's server: its address, issuer, store, keys, telemetry collector and limits."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from urllib.parse import urlsplit

import anyio
import httpx2

from mcp_core.distribution import DISTRIBUTION, with_extra
from mcp_core.installation import install_command
from onetool.console.clean_text import count_of
from onetool.dashboard.logins import CALLBACK
from onetool.doctor import Finding, green, red, yellow
from onetool.http.connections import bounds_within, count_open_files_allowed
from onetool.http.listening import bind_address
from onetool.telemetry_setup import EXTRA, wants_sending
from ot.config.loader import LoadedConfig
from ot.config.paths import state_folder
from ot.config.seal_keys import keys_file, load_sealer
from ot.config.team import EMBEDDED_STORE, AuthSettings, is_safe
from ot.errors import ConfigError
from ot.execution.wording import word_error
from ot.store.owner import StoreUnavailableError


def look_at_address(loaded: LoadedConfig, wanted: str | None) -> Iterator[Finding]:
    """Check where it would listen, and its public address."""
    if wanted is not None:
        try:
            bind_address(wanted, beyond=loaded.config.auth.in_force).close()
        except (ValueError, OSError) as error:
            yield red("address", f"it cannot listen at {wanted}: {error}", "onetool serve --check --http HOST:PORT")
        else:
            yield green("address", f"it can listen at {wanted}")
    public = loaded.config.auth.public_url
    if public is None:
        yield green("address", "a personal server (no auth): it listens on this machine only")
    elif is_safe(public):
        yield green("address", f"people reach it at {public}")
    else:
        text = f"auth.public_url: {public} is not encrypted, so tokens could be read in transit"
        yield red("address", text, "terminate TLS at the load balancer, and write https:// (docs: Deployment)")


def look_at_people(loaded: LoadedConfig) -> Iterator[Finding]:
    """Fetch the issuer's keys, as the server does for the first token."""
    auth = loaded.config.auth
    if not auth.in_force:
        return
    if find_spec("jwt") is None or find_spec("cryptography") is None:
        yield red("people", "the libraries that verify tokens are not installed", install_command(with_extra("team")))
        return
    if auth.issuer is None:
        yield green("people", "only API keys are accepted (no auth.issuer): onetool keys new --for NAME")
    else:
        from onetool.people.tokens import fetch_keys  # noqa: PLC0415 - its library is part of an extra

        try:
            keys = fetch_keys(auth.issuer)
        except (httpx2.HTTPError, ValueError) as error:
            reason = str(error) or type(error).__name__
            fix = f"curl {auth.issuer.rstrip('/')}/.well-known/openid-configuration"
            yield red("people", f"the keys of {auth.issuer} cannot be fetched: {reason}", fix)
        else:
            yield green("people", f"{auth.issuer} publishes {count_of(len(keys), 'key')}")
        yield from _look_at_dashboard(auth)
    if not auth.admins:
        yield yellow("people", "there are no administrators (auth.admins is empty)", "add `admins: [GROUP]`")


def _look_at_dashboard(auth: AuthSettings) -> Iterator[Finding]:
    """Check that people could log in to the dashboard, which takes a client of the issuer."""
    address = f"{(auth.public_url or '').rstrip('/')}{CALLBACK}"
    missing = [f"auth.{key}" for key in ("client_id", "client_secret") if not getattr(auth, key)]
    if not auth.client_id:
        text = f"nobody can log in to the dashboard: {' and '.join(missing)} not set"
        yield yellow("dashboard", text, f"register a client at {auth.issuer} with the redirect address {address}")
    elif missing:
        text = f"{missing[0]} is not set, so {auth.client_id} must be a public client at {auth.issuer}"
        yield yellow("dashboard", text, f"set {missing[0]}, unless the issuer gave none")
    else:
        yield green("dashboard", f"people log in as {auth.client_id}, which must be registered with {address}")


def look_at_store(loaded: LoadedConfig) -> Iterator[Finding]:
    """Connect to the store, and check that its tables fit this version."""
    if loaded.config.store == EMBEDDED_STORE:
        text = f"files and SQLite in {state_folder(loaded.home)}"
        if loaded.config.auth.in_force:
            alone = "for a single replica only, since others cannot see them"
            yield yellow("store", f"{text}: {alone}", "set `store: postgresql://...`")
        else:
            yield green("store", text)
        return
    if find_spec("asyncpg") is None:
        yield red("store", "the library for PostgreSQL is not installed", install_command(with_extra("team")))
        return
    from ot.store.postgres.backend import look_at_database  # noqa: PLC0415 - as above

    try:
        seen = anyio.run(look_at_database, loaded.config.store)
    except StoreUnavailableError as error:
        host = urlsplit(loaded.config.store).hostname or "localhost"
        yield red("store", f"it cannot be reached: {error.reason}", f"pg_isready -h {host}")
        return
    yield green("store", f"{seen.place} answers, version {seen.version}")
    if seen.newer:
        text = f"its tables belong to a newer OneTool (migration {seen.newer[-1]:03}), so this one refuses all runs"
        yield red("store", text, install_command(DISTRIBUTION, "--upgrade"))
    elif seen.missing and not seen.may_create:
        text = "its tables are missing or old, and this user may not create any"
        yield red("store", text, "GRANT CREATE ON DATABASE ... TO ...")
    elif seen.missing:
        text = f"{count_of(len(seen.missing), 'migration')} to apply; the first replica that starts applies them"
        yield yellow("store", text, "start one replica, then the others")
    else:
        yield green("store", "its tables are up to date")


def look_at_sealing(loaded: LoadedConfig) -> Iterator[Finding]:
    config, state = loaded.config, state_folder(loaded.machine_home)
    if not config.auth.in_force and config.store == EMBEDDED_STORE:
        return
    try:
        if config.seal.keys or config.store != EMBEDDED_STORE or keys_file(config, state).exists():
            load_sealer(config, state)
    except ConfigError as error:
        yield red("sealing", word_error(error), "onetool seal key")
        return
    in_file = f"keys in {keys_file(config, state)}, which the server creates if it does not exist"
    count = len(config.seal.keys)
    yield green("sealing", f"keys in the configuration: {count}" if count else in_file)


def look_at_open_files(loaded: LoadedConfig) -> Iterator[Finding]:
    """Check that as many clients can connect as the configuration allows."""
    settings, allowed = loaded.config.http, count_open_files_allowed()
    bounds = bounds_within(settings, allowed)
    if bounds.connections < settings.connections:
        can = f"only {bounds.connections} of {settings.connections} clients can be connected (http.connections)"
        text = f"this process may open {allowed} files, so {can}"
        yield yellow("limits", text, "ulimit -n 65536  # systemd: LimitNOFILE=65536")
    else:
        yield green("limits", f"{settings.connections} clients can be connected (http.connections)")


def look_at_telemetry(loaded: LoadedConfig, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Check that telemetry can be sent, if a collector is configured."""
    if not wants_sending(loaded, environ):
        return
    if find_spec("opentelemetry.exporter.otlp.proto.http") is None:
        text = "a collector is configured, but its libraries are not installed"
        yield red("telemetry", text, install_command(with_extra(EXTRA)))
        return
    place = urlsplit(loaded.config.telemetry.otlp or environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", ""))
    if place.hostname is None:
        return
    port = place.port or (443 if place.scheme == "https" else 80)
    try:
        socket.create_connection((place.hostname, port), timeout=5).close()
    except OSError as error:
        text = f"the collector at {place.hostname}:{port} cannot be reached: {error.strerror or error}"
        yield yellow("telemetry", f"{text}; the server runs without it", "curl -I " + place.geturl())
    else:
        yield green("telemetry", f"the collector at {place.hostname}:{port} answers")
