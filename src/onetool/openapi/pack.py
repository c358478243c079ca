"""The text of a pack, which is parsed again as a check before it is used.

Whatever comes from the description is a literal or a docstring, never code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from onetool.openapi.description import Description, DescriptionError, text_of
from onetool.openapi.operations import Body, Credentials, Operation, Parameter, read_operations
from onetool.openapi.types import Types, literal, parameter_name
from ot.errors import PackLoadError
from ot.registry.from_source import parse_pack

_LONGEST_LINE = 110
_SHOWN = 12  # operations
_LONGEST_TEXT = 300  # characters of one description
_EFFECTS = {"GET": "reads", "HEAD": "reads", "OPTIONS": "reads", "PUT": "idempotent", "DELETE": "idempotent"}
_PLACED = {"path": "parts", "query": "query", "header": "headers", "cookie": "cookies"}

_HEADER = """\
# /// script
# requires-python = ">=3.11"
# dependencies = ["httpx>=0.28"]
# ///
"""

_HELPERS = '''\
def _send(
    method: str,
    path: str,
    *,
    server: str = "",
    parts: dict[str, Any] | None = None,
    query: tuple[tuple[str, Any, str], ...] = (),
    headers: dict[str, Any] | None = None,
    cookies: dict[str, Any] | None = None,
    body: Any = None,
    form: str = "",
    media_type: str = "",
    credentials: tuple[tuple[str, str, str, str, bool], ...] = (),
) -> Any:
    """Make one request and return the content of the answer; raises ToolError if it reports a failure."""
    base = str(ot_sdk.config().get("base_url") or server or BASE_URL).rstrip("/")
    if not base.startswith(("http://", "https://")):
        raise ot_sdk.ToolError(f"the address of the service is not known: set packs.{pack}.base_url in onetool.yaml")
    asked = [pair for name, value, style in query for pair in _pairs(name, value, style)]
    sent = {name: _join(value) for name, value in (headers or {}).items() if value is not None}
    kept = {name: _join(value) for name, value in (cookies or {}).items() if value is not None}
    for secret, place, name, before, required in credentials:
        credential = _credential(secret, before, required)
        if credential is not None:
            asked += [(name, credential)] if place == "query" else []
            {"header": sent, "cookie": kept, "query": {}}[place][name] = credential
    if kept:
        sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in kept.items())
    content = _content(body, form, media_type) if body is not None else {}
    sent |= content.pop("headers", {})
    response = _client().request(method, base + _fill(path, parts or {}), params=tuple(asked), headers=sent, **content)
    return _read(response, f"{method} {path}")


@cache
def _client() -> httpx.Client:
    return httpx.Client(timeout=60)


def _credential(secret: str, before: str, required: bool) -> str | None:
    try:
        value = ot_sdk.secret(secret)
    except ot_sdk.ToolError:
        if required:
            raise
        return None
    return before + (base64.b64encode(value.encode()).decode() if before == "Basic " else value)


def _fill(path: str, parts: dict[str, Any]) -> str:
    for name, value in parts.items():
        text = quote(_join(value), safe=",")
        if text in ("", ".", ".."):
            raise ot_sdk.ToolError(f"{name} cannot be {text!r}: it is part of the address {path}")
        path = path.replace("{" + name + "}", text)
    return path


def _pairs(name: str, value: Any, style: str) -> list[tuple[str, str]]:
    if value is None:
        return []
    if style == "json":
        return [(name, json.dumps(value))]
    if isinstance(value, dict) and style in ("deep", "repeat"):
        return [(f"{name}[{key}]" if style == "deep" else str(key), _join(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple, set)) and style in ("deep", "repeat"):
        return [(name, _join(item)) for item in value]
    return [(name, _join(value, {"space": " ", "pipe": "|"}.get(style, ",")))]


def _join(value: Any, between: str = ",") -> str:
    if isinstance(value, dict):
        return between.join(_join(item) for pair in value.items() for item in pair)
    if isinstance(value, (list, tuple, set)):
        return between.join(_join(item) for item in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _content(body: Any, form: str, media_type: str) -> dict[str, Any]:
    if form == "data":
        return {"data": {key: _join(item) for key, item in body.items()}}
    if form == "files":
        files = {key: (key, item) if isinstance(item, bytes) else (None, _join(item)) for key, item in body.items()}
        return {"files": files}
    content = json.dumps(body) if form == "json" else body
    return {"content": content, "headers": {"Content-Type": media_type}}


def _read(response: httpx.Response, what: str) -> Any:
    if not response.is_success:
        told = response.text.strip()
        told = f": {told[:2000]}" if told else ""
        raise ot_sdk.ToolError(f"{what}: {response.status_code} {response.reason_phrase}{told}")
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not response.content:
        return None
    if kind == "application/json" or kind.endswith("+json"):
        try:
            return response.json()
        except ValueError as error:
            raise ot_sdk.ToolError(f"{what}: the answer is not valid JSON") from error
    if kind.startswith("image/"):
        return ot_sdk.Image(response.content, kind)
    return response.text if kind.startswith("text/") else response.content


if __name__ == "__main__":
    ot_sdk.serve()
'''


def _write_source(
    pack: str, description: Description, types: Types, secrets: Mapping[str, str], operations: Sequence[Operation]
) -> str:
    shapes = []
    for shape in types.shapes:
        about = f'    """{_docstring(shape.summary)}"""\n\n' if shape.summary else ""
        fields = "".join(f"    {name}: {annotation}\n" for name, annotation in shape.fields.items())
        shapes.append(f"class {shape.name}(TypedDict):\n{about}{fields}".rstrip("\n"))
    body = "\n\n\n".join([*shapes, *map(_write_function, operations), _HELPERS])
    used = [name for name in ("Any", "Literal", "NotRequired", "TypedDict") if re.search(rf"\b{name}\b", body)]
    known = f"secrets = ({', '.join(map(literal, secrets))},)\n" if secrets else ""
    meanings = "".join(f"\n{name} in secrets.yaml is {meaning}." for name, meaning in secrets.items())
    summary = description.summary or "the tools of a service"
    summary = f"{description.title}: {summary}" if description.title else summary
    about = f"{_docstring(summary)}\n\nMade from an OpenAPI description.{meanings}"
    return (
        f'{_HEADER}"""{about}\n"""\n\nfrom __future__ import annotations\n\n'
        "import base64\nimport json\nfrom functools import cache\n"
        f"from typing import {', '.join(used)}\nfrom urllib.parse import quote\n\nimport httpx\nimport ot_sdk\n\n"
        f"pack = {literal(pack)}\n{known}"
        f"BASE_URL = {literal(description.server())}  # packs.{pack}.base_url overrides it\n"
        f"\n\n{body}"
    )


def _write_function(operation: Operation) -> str:
    given: list[Parameter | Body] = [*operation.parameters, *([operation.body] if operation.body else [])]
    ordered = [*(each for each in given if each.required), *(each for each in given if not each.required)]
    words = ["*"] if ordered else []
    for each in ordered:
        optional = each.annotation in ("Any", "None") or each.annotation.endswith(" | None")
        default = "" if each.required else " = None" if optional else " | None = None"
        words.append(f"{each.name}: {each.annotation}{default}")
    effect = f"@ot_sdk.{_EFFECTS[operation.method]}\n" if operation.method in _EFFECTS else ""
    head = _write_list(f"def {operation.name}(", words, f") -> {operation.returns}:", "")
    arguments = list(_list_arguments(operation))
    into, after = (
        ("", "") if operation.returns == "None" else (f"_answer: {operation.returns} = ", "\n    return _answer")
    )
    last = _write_list(f"    {into}_send(", arguments, ")", "    ") + after
    lines = [_docstring(operation.summary) or f"{operation.method} {_docstring(operation.path)}"]
    if described := [f"    {each.name}: {_docstring(each.summary)}" for each in ordered if each.summary]:
        lines += ["", "Args:", *described]
    if operation.returned and operation.returns != "None":
        lines += ["", "Returns:", f"    {_docstring(operation.returned)}"]
    inner = "".join(f"\n    {line}" if line else "\n" for line in lines[1:])
    about = f'    """{lines[0]}{inner}' + ('\n    """' if inner else '"""')
    return f"{effect}{head}\n{about}\n{last}"


def _docstring(text: str) -> str:
    """Return a text as it may stand between the quotes of a docstring: nothing in it ends them, or is an escape."""
    line = text_of(text)
    cut = line if len(line) <= _LONGEST_TEXT else f"{line[:_LONGEST_TEXT].rstrip()}…"
    plain = cut.replace("\\", "\\\\")
    return plain.replace('"', '\\"') if '""' in plain or plain.endswith('"') else plain


def _write_list(before: str, words: Sequence[str], after: str, indent: str) -> str:
    """Write words in brackets: on one line, or one to a line where that is too long."""
    line = f"{before}{', '.join(words)}{after}"
    if len(line) <= _LONGEST_LINE or not words:
        return line
    return "\n".join([before, *(f"{indent}    {word}," for word in words), f"{indent}{after}"])


def _list_arguments(operation: Operation) -> Iterator[str]:
    yield from (literal(operation.method), literal(operation.path))
    if operation.server:
        yield f"server={literal(operation.server)}"
    for place, word in _PLACED.items():
        found = [each for each in operation.parameters if each.place == place]
        if found and place == "query":
            triples = ", ".join(f"({literal(each.own_name)}, {each.name}, {literal(each.style)})" for each in found)
            yield f"{word}=({triples},)"
        elif found:
            pairs = ", ".join(f"{literal(each.own_name)}: {each.name}" for each in found)
            yield f"{word}={{{pairs}}}"
    if operation.body is not None:
        yield f"body={operation.body.name}"
        yield f"form={literal(operation.body.form)}"
        yield f"media_type={literal(operation.body.media_type)}"
    if operation.credentials:
        known = ((each.secret, each.place, each.name, each.before, each.required) for each in operation.credentials)
        written = (f"({', '.join(map(literal, words))})" for words in known)
        yield f"credentials=({', '.join(written)},)"


class PackSource(NamedTuple):
    text: str
    tools: tuple[str, ...]
    secrets: dict[str, str]  # by name: what each is
    server: str


def name_pack(description: Description) -> str:
    return parameter_name(description.title, otherwise="service")


def build_pack(description: Description, pack: str, only: Sequence[str]) -> PackSource:
    """Build a pack of the operations that fit one of the patterns, by default all; raises DescriptionError."""
    types, credentials = Types(description), Credentials(description, pack)
    operations = read_operations(description, types, credentials, only)
    if not operations:
        known = [f"{method.upper()} {path}" for path, method, _, _ in description.paths()]
        if not known:
            raise DescriptionError("it has no operations")
        more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
        there = f"there are {', '.join(known[:_SHOWN])}{more}"
        raise DescriptionError(f"no operation matches {' or '.join(only)}; {there}")
    text = _write_source(pack, description, types, credentials.used, operations)
    names = tuple(operation.name for operation in operations)
    # The file must have exactly these tools, whatever the description contains.
    try:
        tools = parse_pack(text.encode("utf-8"), Path("pack.py")).tools
    except PackLoadError as error:
        raise DescriptionError(f"no pack can be generated from it: {error.reason} (line {error.line})") from error
    if set(tools) != set(names):
        raise DescriptionError("no pack can be generated from it: its names or descriptions would become code")
    return PackSource(text, names, dict(credentials.used), description.server())
