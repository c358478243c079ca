"""The settings of another MCP server, and of what a program that is confined may access."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Annotated, Literal

from ot.config.reading import After, Bounds
from ot.config.section import (
    PERSON,
    Bytes,
    Count,
    FilePath,
    HostName,
    Name,
    Pattern,
    Seconds,
    Section,
    Url,
    setting,
    subsection,
)
from ot.config.team import is_safe
from ot.config.values import INCOMPLETE, mistake, word_size
from ot_confinement.confine import Confine


class ConfineSettings(Section):
    """The access that a program has beyond its own files and its temporary folder; none if empty."""

    read: tuple[FilePath, ...] = setting((), "files and folders that it may read", example=["~/notes"])
    write: tuple[FilePath, ...] = setting((), "files and folders that it may read and write")
    hosts: tuple[HostName, ...] = setting(
        (),
        "hosts that it may reach by HTTP, on ports 80 and 443 or on `:port`; with none, it has no network",
        example=["api.github.com", "*.example.com"],
    )
    memory: Bytes | None = setting(None, "memory that all its processes together may use")

    def build(self, own: Iterable[str], *, closed: tuple[str, ...] = ()) -> Confine:
        """Return its bounds, as its guardian takes them; `own` are its own files, `closed` what folders do not open."""
        readable, writable = (*own, *map(os.path.normpath, self.read)), tuple(map(os.path.normpath, self.write))
        return Confine(readable, writable, self.hosts, self.memory, closed=closed)

    def describe(self) -> str:
        """Say in one line what it may touch."""
        places = (("reads", self.read), ("writes", self.write))
        parts = [f"{verb} {', '.join(map(str, paths))}" for verb, paths in places if paths]
        parts.append(f"reaches {', '.join(self.hosts)}" if self.hosts else "no network")
        if self.memory is not None:
            parts.append(f"at most {word_size(self.memory)} of memory")
        return "; ".join(["its own files", *parts])


class ToolFilter(Section):
    """The tools of the server that are offered: shell patterns over its own tool names."""

    allow: tuple[Pattern, ...] = setting(("*",), "patterns of the tools that are offered", layers="intersection")
    deny: tuple[Pattern, ...] = setting(
        (), "patterns of the tools that are not offered, even if allowed", layers="union"
    )


Grant = Literal["login", "client_credentials", "enterprise"]


class OAuthSettings(Section):
    """The login at a `url`; without a client of its own, OneTool registers itself."""

    grant: Grant = setting(
        "login",
        "how OneTool gets a token: `login` by a person in a browser; `client_credentials` with a client of its own; "
        "`enterprise` for each person of a team, from the issuer of their login",
    )
    issuer: Url | None = setting(
        None, "the authorization server to which `client_id` belongs, for the grants other than `login`"
    )
    client_id: Name | None = setting(None, "the client that OneTool logs in as; if not set, OneTool registers itself")
    client_secret: str | None = setting(None, "the password of that client", hidden=True)
    client_metadata_url: Url | None = setting(
        None, "the address of a document that describes the client, for servers that accept one"
    )
    scope: str | None = setting(None, "the permissions to ask for, if the server names none")
    port: Annotated[Count, Bounds(ge=1, le=65535)] | None = setting(
        None, "the local port that a login returns to; if not set, a free one is chosen"
    )

    def model_check(self) -> None:
        if self.grant == "login":
            return
        for key in ("issuer", "client_id", "client_secret"):
            if not getattr(self, key):
                raise mistake(f"{key} is missing", f"add it, or leave out grant: {self.grant}", kind=INCOMPLETE)
        if not is_safe(self.issuer or ""):
            raise mistake("without TLS, the issuer could be replaced on the way", 'write issuer: "https://..."')


def check_registry(value: str) -> str:
    """Accept a registry whose answers nobody can replace on the way."""
    if not is_safe(value):
        raise mistake("without TLS, its answers could be replaced on the way", 'write "https://..."')
    return value


class RegistrySettings(Section):
    """The registry in which `onetool add` looks for servers."""

    url: Annotated[Url, After(check_registry)] = setting(
        "https://registry.modelcontextprotocol.io", "the address of a registry with the API of the MCP registry (v0.1)"
    )
    suggest: bool = setting(
        False,
        "`true` lets `ot.help` say that the registry has servers for what no tool does; it sends words of the request "
        "there",
    )


class ServerSettings(Section):
    """Another MCP server: started by `command`, or reached at `url`. What may hold a secret is not in its repr."""

    command: Name | None = setting(None, "the program that starts the server; set either this or `url`")
    args: tuple[str, ...] = setting((), "its arguments", hidden=True)
    env: dict[str, str] = setting({}, "variables added to its environment", hidden=True)
    cwd: FilePath | None = setting(None, "the folder it starts in")
    url: Url | None = setting(None, "the address of a server that is already running", hidden=True)
    headers: dict[str, str] = setting({}, "HTTP headers sent to it", hidden=True)
    enabled: bool = setting(True, "`false` leaves the server out", layers="stays off")
    timeout: Seconds | None = setting(None, "seconds that a call to it may take", layers="smaller")
    start_timeout: Seconds = setting(
        60, "seconds until it must be ready; this time does not count towards other limits", layers="smaller"
    )
    listing_timeout: Seconds = setting(
        10,
        "seconds to wait for what it has not listed yet: tools in a listing, a prompt or a resource when it is used",
        layers="smaller",
    )
    tools: ToolFilter = subsection(ToolFilter)
    offer: tuple[Literal["tools", "prompts", "resources"], ...] = setting(
        ("tools", "prompts", "resources"), "the parts of it that are offered", layers="intersection"
    )
    json_text: bool = setting(False, "`true` turns JSON text in its answers into values")
    own: bool = setting(
        False, "`true` says that it brings nothing that strangers wrote ([Flows](policy.md#flows))", layers=PERSON
    )
    hints: bool = setting(
        False,
        "`true` believes its hints about which of its tools only read ([Looking](policy.md#looking))",
        layers=PERSON,
    )
    oauth: OAuthSettings = subsection(OAuthSettings)
    confine: ConfineSettings | None = setting(
        None, "what its process may access; `{}` allows its own files and a temporary folder, and no network"
    )

    def model_check(self) -> None:
        if self.command is None and self.url is None:
            raise mistake("neither command nor url is given", "add one of the two", kind=INCOMPLETE)
        if self.command is not None and self.url is not None:
            raise mistake("both command and url are given", "remove one of the two")
        if self.url is not None and self.confine is not None:
            raise mistake("confine belongs to a command, not to a url", "remove it")
        if self.url is not None and (self.args or self.env or self.cwd):
            raise mistake("args, env and cwd belong to a command, not to a url", "remove them, or use headers")
        if self.command is not None and self.headers:
            raise mistake("headers belong to a url, not to a command", "remove them, or use env")
        if self.command is not None and "oauth" in self.model_fields_set:
            raise mistake("oauth belongs to a url, not to a command", "remove it, or use env")
