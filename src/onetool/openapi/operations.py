"""The operations of a description as the functions of a pack, each with the secrets that it needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import NamedTuple

from mcp_core.json_types import Schema, list_of, mapping_of
from onetool.openapi.description import Description, text_of
from onetool.openapi.types import ANY, Types, UniqueNames, class_name, function_name, parameter_name


class Credential(NamedTuple):
    """One secret and its place in a request: a header, query parameter or cookie `name`, with the prefix `before`."""

    secret: str
    place: str
    name: str
    before: str = ""
    meaning: str = ""
    required: bool = True


class Credentials:
    """The credentials of one pack; `used` are the secrets that its operations need."""

    def __init__(self, description: Description, pack: str) -> None:
        self._description = description
        self._pack = pack
        self.used: dict[str, str] = {}  # by name: what the secret is

    def of(self, security: object) -> tuple[Credential, ...]:
        """Return what an operation needs: of several alternatives the first that is supported."""
        ways = [mapping_of(way) for way in list_of(security)]
        required = {} not in ways
        for way in filter(None, ways):
            credentials = [self._credential(str(name), required=required) for name in way]
            if all(credentials):
                known = tuple(credential for credential in credentials if credential is not None)
                self.used |= {credential.secret: credential.meaning for credential in known}
                return known
        return ()

    def _credential(self, name: str, *, required: bool) -> Credential | None:
        scheme = self._description.scheme(name)
        secret = f"{self._pack}_{parameter_name(name, otherwise='key')}".upper().rstrip("_")
        match scheme.get("type"), str(scheme.get("scheme", "")).lower():
            case "apiKey", _ if scheme.get("in") in ("header", "query", "cookie") and scheme.get("name"):
                return Credential(secret, str(scheme["in"]), str(scheme["name"]), "", "an API key", required)
            case ("http", "bearer") | ("oauth2" | "openIdConnect", _):
                return Credential(secret, "header", "Authorization", "Bearer ", "a token", required)
            case "http", "basic":
                return Credential(secret, "header", "Authorization", "Basic ", "user:password", required)
        return None


_NOT_SENT = frozenset({"accept", "content-type", "authorization"})  # as headers: the client's own
_BODIES = (  # media types in the order of preference, and how httpx is given such a body
    ("application/json", "json"),
    ("application/x-www-form-urlencoded", "data"),
    ("multipart/form-data", "files"),
)


class Parameter(NamedTuple):
    """One parameter of a function: its name in Python, and where it goes in the request."""

    name: str
    own_name: str
    place: str
    annotation: str
    required: bool
    summary: str
    style: str  # how lists and objects are written: comma, space, pipe, repeat, deep, json


class Body(NamedTuple):
    """The body of a request: `form` is how it is sent, `media_type` what it is sent as if that says no more."""

    name: str
    annotation: str
    required: bool
    summary: str
    form: str
    media_type: str


class Operation(NamedTuple):
    name: str
    method: str
    path: str
    summary: str
    parameters: tuple[Parameter, ...]
    body: Body | None
    returns: str
    returned: str  # what the description says of it
    credentials: tuple[Credential, ...]
    server: str  # if it is not the one of all others


def read_operations(
    description: Description, types: Types, credentials: Credentials, only: Sequence[str]
) -> list[Operation]:
    """Read the operations, or those whose name, `operationId`, tag or "METHOD /path" fits one of the patterns."""
    names = UniqueNames()
    found = []
    for path, method, item, operation in description.paths():
        identifier = text_of(operation.get("operationId")) or f"{method} {path}"
        name = names.take(function_name(identifier))
        labels = (name, identifier, f"{method.upper()} {path}", *map(text_of, list_of(operation.get("tags"))))
        if not only or any(fnmatchcase(label, pattern) for label in labels for pattern in only):
            found.append(_Reader(description, types, credentials).read(name, method, path, item, operation))
    return found


def _style(place: str, parameter: Schema) -> str:
    style = parameter.get("style") or ("form" if place in ("query", "cookie") else "simple")
    explode = parameter.get("explode", style == "form")
    if style in ("spaceDelimited", "pipeDelimited") and explode is not True:
        return "space" if style == "spaceDelimited" else "pipe"
    repeat = place == "query" and explode is True
    return "deep" if style == "deepObject" else "repeat" if repeat else "comma"


@dataclass(frozen=True, slots=True)
class _Reader:
    _description: Description
    _types: Types
    _credentials: Credentials

    def read(self, name: str, method: str, path: str, item: Schema, operation: Schema) -> Operation:
        own = class_name(name)
        names = UniqueNames()
        parameters = tuple(self._parameters(path, item, operation, names, own))
        returns, returned = self._result(operation, own)
        server = self._description.server(operation, item)
        return Operation(
            name=name,
            method=method.upper(),
            path=path,
            summary=text_of(operation.get("summary")) or text_of(operation.get("description")),
            parameters=parameters,
            body=self._body(operation, names, own),
            returns=returns,
            returned=returned,
            credentials=self._credentials.of(operation.get("security", self._description.security)),
            server=server if server != self._description.server() else "",
        )

    def _parameters(
        self, path: str, item: Schema, operation: Schema, names: UniqueNames, own: str
    ) -> Iterator[Parameter]:
        """Yield the parameters, the operation's own in place of the path's, and those that only the path mentions."""
        chosen: dict[tuple[str, str], Schema] = {}
        for each in (*list_of(item.get("parameters")), *list_of(operation.get("parameters"))):
            parameter = self._description.resolve(each)
            place, name = parameter.get("in"), parameter.get("name")
            known = place in ("path", "query", "header", "cookie")
            if isinstance(name, str) and known and not (place == "header" and name.lower() in _NOT_SENT):
                chosen[str(place), name] = parameter
        for part in path.split("{")[1:]:
            chosen.setdefault(("path", part.partition("}")[0]), {"schema": {"type": "string"}})
        for (place, name), parameter in chosen.items():
            if place == "path" and f"{{{name}}}" not in path:
                continue
            content = mapping_of(parameter.get("content"))
            media = mapping_of(next(iter(content.values()), {})) if content else parameter
            yield Parameter(
                name=names.take(parameter_name(name)),
                own_name=name,
                place=place,
                annotation=self._types.annotate(media.get("schema"), f"{own}{class_name(name)}"),
                required=place == "path" or parameter.get("required") is True,
                summary=text_of(parameter.get("description")),
                style="json" if content else _style(place, parameter),
            )

    def _body(self, operation: Schema, names: UniqueNames, own: str) -> Body | None:
        request = self._description.resolve(operation.get("requestBody"))
        content = mapping_of(request.get("content"))
        if not content:
            return None
        kinds = {kind.partition(";")[0].strip().lower(): kind for kind in map(str, content)}
        media_type, form = next(((kind, form) for kind, form in _BODIES if kind in kinds), ("", ""))
        if not form:
            media_type = next((kind for kind in kinds if kind.endswith("+json")), next(iter(kinds)))
            form = "json" if media_type.endswith("+json") else "content"
        schema = mapping_of(content[kinds[media_type]]).get("schema")
        annotation = self._types.annotate(schema, f"{own}Body") if form != "content" else "str | bytes"
        if form in ("data", "files"):
            annotation = annotation if annotation != ANY else "dict[str, Any]"
        required, summary = request.get("required") is True, text_of(request.get("description"))
        return Body(names.take("body"), annotation, required, summary, form, media_type)

    def _result(self, operation: Schema, own: str) -> tuple[str, str]:
        """Return the annotation of what a success gives, and what is said of it."""
        responses = mapping_of(operation.get("responses"))
        codes = sorted(str(code) for code in responses if str(code).startswith("2")) or ["default"]
        response = self._description.resolve(responses.get(codes[0]))
        content = mapping_of(response.get("content"))
        said = text_of(response.get("description"))
        if not content:
            return ("None" if codes[0] != "default" and response else ANY), said
        for kind, media in content.items():
            if "json" in str(kind).lower():
                return self._types.annotate(mapping_of(media).get("schema"), f"{own}Result"), said
        first = str(next(iter(content))).lower()
        return ("ot_sdk.Image" if first.startswith("image/") else "str" if first.startswith("text/") else ANY), said
