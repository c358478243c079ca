"""The sections of a server that many people share: where its state lies, who they are, what each may do and use."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated
from urllib.parse import urlsplit

from ot.config.call_rules import CallRule
from ot.config.reading import After, Bounds
from ot.config.section import Bytes, Count, Dollars, FilePath, Name, Pattern, Section, Url, setting
from ot.config.values import mistake

EMBEDDED_STORE = "sqlite"
_POSTGRES = ("postgresql://", "postgres://")


def check_store(value: str) -> str:
    """Accept the embedded store, or the address of a PostgreSQL database."""
    if value != EMBEDDED_STORE and not value.startswith(_POSTGRES):
        raise mistake("must be sqlite or postgresql://...", "name one of them")
    try:
        urlsplit(value).port  # noqa: B018 - looked at, since a password with a / or an @ in it ends in the wrong place
    except ValueError:
        fix = "percent-encode special characters in the password, such as %2F for / and %40 for @"
        raise mistake("the address cannot be read", fix) from None
    return value


Store = Annotated[str, After(check_store)]
Limit = Annotated[Count, Bounds(ge=1, le=1_000_000)]


def check_seal_key(value: str) -> str:
    from ot.store.sealing import key_id  # noqa: PLC0415 - start-up path: most configurations have none

    try:
        key_id(value)
    except ValueError as error:
        raise mistake("is not a key", "print one with `onetool seal key`") from error
    return value.strip()


def is_safe(url: str) -> bool:
    """True for an address that nobody between it and us can change: with TLS, or on this machine."""
    split = urlsplit(url)
    return split.scheme == "https" or (split.scheme == "http" and split.hostname in ("127.0.0.1", "localhost", "::1"))


def check_issuer(value: str) -> str:
    """Accept an issuer whose keys cannot be swapped on the way."""
    if not is_safe(value):
        raise mistake("without TLS, the issuer's keys could be replaced on the way", 'write "https://..."')
    return value


class AuthSettings(Section):
    """Logins of people, for a server that many share; in force once `public_url` is set."""

    issuer: Annotated[Url, After(check_issuer)] | None = setting(
        None, "the OpenID Connect issuer whose tokens are accepted; if not set, API keys are the only way in"
    )
    audience: Name | None = setting(
        None, "the audience that a token must be made for; if not set, the address of the MCP endpoint"
    )
    public_url: Url | None = setting(
        None, "the address at which people reach the server; with a load balancer, its address"
    )
    client_id: Name | None = setting(None, "the OAuth client with which people log in to the dashboard")
    client_secret: str | None = setting(None, "the password of that client", hidden=True)
    groups_claim: Name = setting("groups", "the claim of a token that lists a person's groups")
    admins: tuple[Name, ...] = setting(
        (), "groups whose members are administrators: they see the whole dashboard and manage the server"
    )

    def model_check(self) -> None:
        given = (key for key in self.model_fields_set if getattr(self, key) != type(self).settings[key].default)
        if self.public_url is None and any(given):
            raise mistake("public_url is missing", "add the address at which people reach the server")

    @property
    def in_force(self) -> bool:
        """True if everybody who comes has to say who they are."""
        return self.public_url is not None


class SealSettings(Section):
    """The keys that encrypt people's secrets and logins, with `auth`: the first one seals, every one opens."""

    # Without any, one is made in the state folder; a `postgresql://` store needs them given.
    keys: tuple[Annotated[str, After(check_seal_key)], ...] = setting(
        (), "keys printed by `onetool seal key`; the same on all replicas", hidden=True
    )
    file: FilePath | None = setting(
        None, "a file with one key per line instead, readable only by its owner; `onetool seal rotate` writes it"
    )


class GrantSettings(Section):
    """The rights of a group's members: shell patterns over `pack.tool`, added to those of `policy`."""

    allow: tuple[Pattern, ...] = setting(
        (), "patterns of `pack.tool` that they may call without being asked, even in packs that are off"
    )
    ask: tuple[CallRule, ...] = setting(
        (), "patterns of `pack.tool` for which they are asked before each call, or rules on arguments"
    )
    deny: tuple[CallRule, ...] = setting((), "patterns of `pack.tool` that they may not call, or rules on arguments")


class LimitSettings(Section):
    """The limits of one person; a key that is not set is no limit."""

    runs_per_minute: Limit | None = setting(None, "maximum number of runs per minute")
    calls_per_minute: Limit | None = setting(None, "maximum number of tool calls per minute")
    concurrent_runs: Limit | None = setting(
        None, "maximum number of runs at the same time; if not set, 16 per replica, and further ones wait"
    )
    stored_bytes: Bytes | None = setting(None, "maximum size of all stored results together")
    model_cost_per_day: Dollars | None = setting(None, "maximum cost of models per day, in US dollars")


class TeamLimits(LimitSettings):
    """Limits on what each person may use, with `auth`."""

    groups: dict[Name, LimitSettings] = setting(
        {},
        "limits of groups, instead of the general ones; with several groups, the most generous limit counts",
        example={
            "robots": {
                "runs_per_minute": 600,
                "calls_per_minute": 6000,
                "concurrent_runs": 8,
                "stored_bytes": "100m",
                "model_cost_per_day": 5,
            }
        },
    )

    def of(self, groups: Collection[str]) -> LimitSettings:
        """Return the limits of somebody in these groups: each key as the most generous group has it that gives it."""
        theirs = [limits for name, limits in self.groups.items() if name in groups]
        found: dict[str, float | None] = {}
        for key in LimitSettings.settings:
            given = [getattr(limits, key) for limits in theirs if key in limits.model_fields_set]
            given = given or [getattr(self, key)]
            found[key] = None if None in given else max(given)
        return LimitSettings.model_validate(found)


class TelemetrySettings(Section):
    """Traces and metrics for whoever operates the server."""

    otlp: Url | None = setting(
        None, "the OTLP endpoint that spans and metrics are sent to; if not set, `OTEL_EXPORTER_OTLP_ENDPOINT`"
    )
