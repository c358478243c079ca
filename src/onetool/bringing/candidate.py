"""A server that could be added: which package or address it is, and what it is given. Nothing of it runs yet."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from ot.config.team import is_safe
from ot.services.mcp_entries import Argument, Entry, Input, NamedInput, Package, Transport
from ot.services.mcp_registry import BringingError

Kind = Literal["npm", "pypi", "remote", "mcpb"]
INDEXES = {"npm": "https://registry.npmjs.org", "pypi": "https://pypi.org"}
_INSTALLED: tuple[Kind, ...] = ("npm", "pypi", "mcpb")
_HINTS = {"npm": "npx", "pypi": "uvx"}
_PACKAGES = {
    "npm": re.compile(r"(?:@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*"),
    "pypi": re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"),
}
_DIGEST = re.compile(r"[0-9A-Fa-f]{64}", re.ASCII)
_VERSION = re.compile(r"[0-9][0-9A-Za-z.+_-]{0,99}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}", re.ASCII)
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}", re.ASCII)
_PLACE = re.compile(r"\{([A-Za-z0-9_.-]+)\}")
_FLAG = re.compile(r"--?[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)
_STEERING = re.compile(
    r"(LD|DYLD|NPM|UV|PIP|ONETOOL|XDG|DBUS|GIT_SSH|GIT_CONFIG|LC)_.*|NODE_(?!ENV$).*|PYTHON.*|RUBY(OPT|LIB)|PERL5.*"
    r"|PATH|HOME|SHELL|SHELLOPTS|BASH.*|ENV|IFS|PS4|PROMPT_COMMAND|USER|LOGNAME|LANG|TZ|TMP|TEMP|TMPDIR|PWD|CDPATH"
    r"|(HTTPS?|ALL|NO|FTP)_PROXY|SSL_.*|OPENSSL_.*|CURL_.*|REQUESTS_.*|GLIBC_.*|GCONV_PATH|LOCPATH|NLSPATH|MALLOC_.*"
    r"|GIT_(EXEC_PATH|ASKPASS|PAGER|EDITOR|PROXY_COMMAND|TEMPLATE_DIR|DIR|EXTERNAL_DIFF)|HOSTALIASES|RES_OPTIONS|EDITOR|VISUAL"
    r"|PAGER|BROWSER|DISPLAY|CLASSPATH|_?JAVA_.*|JDK_.*|JRE_.*|LUA_.*|ELECTRON_.*|DENO_.*|BUN_.*|DOTNET_.*|CORECLR_.*",
    re.IGNORECASE,
)
"""Variables that say how a program is found, loaded or connected, or that are ours."""


@dataclass(frozen=True)
class Wanted:
    """A value that a person is asked for."""

    name: str
    description: str
    secret: bool
    required: bool
    default: str | None = None
    choices: tuple[str, ...] = ()


OWN_FOLDER = Wanted("__dirname", "", secret=False, required=True)
"""Stands for the folder that a bundle is unpacked into; nobody is asked for it."""

Template = tuple[str | Wanted, ...]  # fixed texts, and what a person is asked for between them


@dataclass(frozen=True)
class Candidate:
    """A server, as its publisher or the person describes it."""

    kind: Kind
    name: str  # in the registry, or that of the package
    identifier: str  # of the package; the address of a remote one, the address or the file of a bundle
    version: str = ""
    publisher: str = ""  # proved to the registry
    author: str = ""  # as a bundle itself says
    description: str = ""
    page: str = ""
    note: str = ""
    arguments: tuple[Template, ...] = ()
    env: Mapping[str, Template] = field(default_factory=dict)
    headers: Mapping[str, Template] = field(default_factory=dict)
    url: Template = ()
    digest: str = ""  # SHA-256 of a bundle
    bundle: str = ""  # the name that it gives itself
    file: Path | None = None  # where it is on this machine
    entry_version: str = ""  # of the entry that names a bundle

    @property
    def package(self) -> str:
        """The part of its identifier that stays the same from one version to the next."""
        if not self.entry_version:
            return self.identifier
        return re.sub(rf"(?<![0-9A-Za-z])v?{re.escape(self.entry_version)}(?![0-9A-Za-z])", "*", self.identifier)

    @property
    def wanted(self) -> list[Wanted]:
        """The values that it asks for, each once, in the order in which it is used."""
        templates = (*self.arguments, *self.env.values(), *self.headers.values(), self.url)
        parts = dict.fromkeys(part for each in templates for part in each if isinstance(part, Wanted))
        return [part for part in parts if part is not OWN_FOLDER]


def candidates_of(entry: Entry) -> tuple[list[Candidate], list[str]]:
    """Return what of an entry could be added, and why the rest of it cannot."""
    found: list[Candidate] = []
    refused: list[str] = []
    ways = [(each.registryType, partial(_of_package, entry, each)) for each in entry.packages]
    ways += [(each.type, partial(_of_remote, entry, each)) for each in entry.remotes]
    for kind, read in ways:
        try:
            found.append(read())
        except BringingError as error:
            refused.append(f"{kind}: {error}")
    return found, refused


def package_candidate(kind: Literal["npm", "pypi"], spec: str, arguments: Sequence[str]) -> Candidate:
    """Return the package that a person names as `npx` or `uvx` would take it, with its own arguments."""
    separator = "==" if kind == "pypi" and "==" in spec else "@"
    identifier, _, version = spec[:1] + spec[1:].partition(separator)[0], "", spec[1:].partition(separator)[2]
    if not _PACKAGES[kind].fullmatch(identifier):
        raise BringingError(f"{spec!r} is not the name of a package")
    version = "" if version == "latest" else version
    if version and not _VERSION.fullmatch(version):
        raise BringingError(f"{version!r} is not one version")
    own = tuple((_plain(word, "argument"),) for word in arguments)
    return Candidate(kind, identifier, identifier, version, arguments=own)


def remote_candidate(url: str) -> Candidate:
    return Candidate("remote", urlsplit(url).hostname or url, url, url=(_address(url),))


def _of_package(entry: Entry, package: Package) -> Candidate:
    kind = next((each for each in _INSTALLED if each == package.registryType), None)
    if package.registryType == "oci":
        raise BringingError("a container image is not started by OneTool; run it yourself, and add its address")
    if kind is None:
        raise BringingError(f"packages of {_plain(package.registryType, 'kind')!r} cannot be installed")
    of_bundle = kind == "mcpb"
    version = package.version or (entry.version if of_bundle else "")
    _check_package(package, kind, version)
    return Candidate(
        kind,
        entry.name,
        package.identifier,
        version,
        publisher=entry.publisher,
        description=entry.description or entry.title,
        page=entry.repository.url,
        arguments=tuple(word for each in package.packageArguments for word in _argument(each)),
        env=dict(_variables(package.environmentVariables)),
        digest=(package.fileSha256 or "").lower() if of_bundle else "",
        entry_version=version if of_bundle else "",
    )


def _check_package(package: Package, kind: Kind, version: str) -> None:
    """Refuse a package that would be fetched or started in another way than ours."""
    index = INDEXES.get(kind) or _origin(package.identifier)
    if (package.registryBaseUrl or index).rstrip("/") != index:
        raise BringingError(f"it names another index than {index}")
    if package.runtimeHint and package.runtimeHint != _HINTS.get(kind):
        raise BringingError("it names a program to start it with")
    if [each.value for each in package.runtimeArguments] not in ([], ["-y"]):
        raise BringingError("it names arguments for the program that starts it")
    if package.transport.type != "stdio":
        raise BringingError("it does not speak over stdin and stdout")
    if kind in _PACKAGES and not _PACKAGES[kind].fullmatch(package.identifier):
        raise BringingError("its package has no valid name")
    if not _VERSION.fullmatch(version):
        raise BringingError("it does not name one version")
    if kind == "mcpb" and not _DIGEST.fullmatch(package.fileSha256 or ""):
        raise BringingError("it gives no SHA-256 of its bundle (fileSha256), so any file could be there")
    if kind == "mcpb" and package.packageArguments:
        raise BringingError("it names arguments beside those in its bundle")


def _origin(url: str) -> str:
    parts = urlsplit(_address(url))
    return f"{parts.scheme}://{parts.netloc}"


def _of_remote(entry: Entry, remote: Transport) -> Candidate:
    if remote.type not in ("streamable-http", "sse"):
        raise BringingError("it does not speak over HTTP")
    headers: dict[str, Template] = {}
    for each in remote.headers:
        if not _HEADER.fullmatch(each.name) or each.name.lower() in ("host", "content-length", "transfer-encoding"):
            raise BringingError(f"it sets the header {_plain(each.name, 'header')!r}")
        if template := _template(each, each.name):
            headers[each.name] = template
    url = tuple(_filled(_address(remote.url), remote.variables))
    return Candidate(
        "remote",
        entry.name,
        remote.url,
        entry.version,
        publisher=entry.publisher,
        description=entry.description or entry.title,
        page=entry.repository.url,
        headers=headers,
        url=url,
    )


def _address(url: str) -> str:
    parts = urlsplit(url)
    if not is_safe(url) or "{" in parts.netloc or "@" in parts.netloc or not url.isascii() or not url.isprintable():
        raise BringingError(f"{_plain(url, 'address')} is not an https address with a fixed host")
    return url


def _variables(inputs: Sequence[NamedInput]) -> Iterator[tuple[str, Template]]:
    for each in inputs:
        if not _VARIABLE.fullmatch(each.name):
            raise BringingError("it sets a variable without a valid name")
        if is_steering(each.name):
            raise BringingError(f"it sets the variable {each.name}, which changes how programs run")
        if template := _template(each, each.name):
            yield each.name, template


def _argument(argument: Argument) -> Iterator[Template]:
    """Yield the words of an argument; none if nobody has to give it."""
    name = argument.name or argument.valueHint or "argument"
    if argument.type == "named" and not _FLAG.fullmatch(argument.name):
        raise BringingError(f"{_plain(name, 'argument')!r} is not the name of an option")
    template = _template(argument, name.lstrip("-"))
    if not template:
        return
    if argument.type == "positional":
        yield template
    elif argument.name.startswith("--"):
        yield (f"{argument.name}=", *template)
    else:
        yield (argument.name,)
        yield template


def _template(given: Input, name: str) -> Template:
    if given.value is not None:
        return tuple(_filled(given.value, given.variables))
    return (_wanted(given, name),)


def _filled(text: str, variables: Mapping[str, Input]) -> Iterator[str | Wanted]:
    """Yield the parts of a text in which `{name}` stands for a variable; any other brace stands for itself."""
    place = 0
    for match in _PLACE.finditer(_plain(text, "value")):
        if match[1] in variables:
            given = variables[match[1]]
            yield text[place : match.start()]
            yield given.value if given.value is not None else _wanted(given, match[1])
            place = match.end()
    yield text[place:]


def _wanted(given: Input, name: str) -> Wanted:
    default = None if given.default is None else _plain(given.default, "default")
    choices = tuple(_plain(each, "choice") for each in given.choices)
    return Wanted(_plain(name, "name"), given.description, given.isSecret, given.isRequired, default, choices)


def is_steering(name: str) -> bool:
    return _STEERING.fullmatch(name) is not None


def _plain(text: str, kind: str) -> str:
    if not text.isprintable():
        raise BringingError(f"it has a {kind} with characters that cannot be shown")
    return text
