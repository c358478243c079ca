"""Snippets: `$name key=value` becomes the code of a template, with the values beside it.

A value never becomes part of the code's text. Each output of the template (`{{ ... }}`) is written as a placeholder,
an identifier that nobody can guess, and the kernel puts the value into the syntax tree in its place.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import field

from mcp_core.quick_dataclass import dataclass
from ot.config.models import SnippetParameter, SnippetSettings
from ot.errors import SnippetError, UnknownSnippetError, UntrustedSnippetError, WrongSnippetError
from ot.trust.project_trust import Untrusted

_INVOCATION = re.compile(r"\s*+\$(?P<name>[^\W\d][\w-]*+)(?=\s|\Z)")
_ARGUMENT = re.compile(
    r"""
      \s*+ (?P<key>[^\W\d][\w-]*+) =
      (?: "(?P<double>(?:[^"\\]++|\\.)*+)" | '(?P<single>[^']*+)' | (?P<bare>[^\s"']\S*+)? )
      (?=\s|\Z)
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPED = re.compile(r'\\(["\\])')
# What a template can do wrong at render time: arithmetic, lookups, wrong types and endless macros.
_TEMPLATE_MISTAKES = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Expanded:
    """Code, and the text that each placeholder in it stands for."""

    code: str
    values: dict[str, str] = field(default_factory=dict)


def expand_with(settings: Mapping[str, SnippetSettings]) -> Callable[[str], tuple[str, Mapping[str, str]]]:
    """Return what help shows a snippet's expansion with: code, and the values of its placeholders."""

    def expand(invocation: str) -> tuple[str, Mapping[str, str]]:
        expanded = Snippets(settings).expand(invocation)
        return expanded.code, expanded.values

    return expand


@dataclass(frozen=True, slots=True)
class Snippets:
    """The configured snippets, by name; `wrong` are those that are off because of a mistake, which is told."""

    settings: Mapping[str, SnippetSettings]
    untrusted: Untrusted | None = None
    wrong: Mapping[str, str] = field(default_factory=dict)

    def expand(self, text: str) -> Expanded:
        """Expand `$name key=value ...`; other text comes back as it is. Raises UnknownSnippetError or SnippetError."""
        invocation = _INVOCATION.match(text)
        if invocation is None:
            return Expanded(text)
        name = invocation["name"]
        snippet = self.settings.get(name)
        if snippet is None and self.untrusted is not None and name in self.untrusted.snippets:
            raise UntrustedSnippetError(name, str(self.untrusted.project))
        if snippet is None and name in self.wrong:
            raise WrongSnippetError(name, self.wrong[name])
        if snippet is None:
            raise UnknownSnippetError(name, sorted(self.settings))
        usage = " ".join([f"${name}", *(_parameter_usage(key, param) for key, param in snippet.params.items())])
        arguments = _parse_arguments(name, text[invocation.end() :], usage)
        return _render(name, snippet.body, _complete(name, snippet.params, arguments, usage), usage)


def _parameter_usage(key: str, parameter: SnippetParameter) -> str:
    """Show how a parameter is given: `q1=<First>`, `[p=Compare]`."""
    if parameter.required:
        return f"{key}=<{parameter.description or key}>"
    default = _as_text(parameter.default)
    return f"[{key}={default}]" if re.fullmatch(r"[^\s\"']+", default) else f"[{key}={json.dumps(default)}]"


def _parse_arguments(name: str, text: str, usage: str) -> dict[str, str]:
    """Read `key=value` pairs: a value with spaces stands in quotes; in double ones `\\"` and `\\\\` are escapes."""
    arguments: dict[str, str] = {}
    position = 0
    while position < len(text.rstrip()):
        argument = _ARGUMENT.match(text, position)
        if argument is None:
            rest = text[position:].strip()
            shown = rest if len(rest) <= 40 else f"{rest[:40]}..."
            reason = f"cannot read {shown!r} as key=value; put a value with spaces in quotes, and close every quote"
            raise SnippetError(name, reason, usage)
        key = argument["key"]
        if key in arguments:
            raise SnippetError(name, f"{key} is given twice", usage)
        quoted = argument["double"]
        unquoted = argument["single"] or argument["bare"] or ""
        arguments[key] = unquoted if quoted is None else _ESCAPED.sub(r"\1", quoted)
        position = argument.end()
    return arguments


def _complete(
    name: str, params: Mapping[str, SnippetParameter], arguments: dict[str, str], usage: str
) -> dict[str, object]:
    unknown = [key for key in arguments if key not in params]
    if unknown:
        raise SnippetError(name, f"it has no parameter {', '.join(unknown)}", usage)
    missing = [key for key, param in params.items() if param.required and key not in arguments]
    if missing:
        raise SnippetError(name, f"{', '.join(missing)} must be given", usage)
    return {key: arguments.get(key, param.default) for key, param in params.items()}


def _render(name: str, body: str, arguments: dict[str, object], usage: str) -> Expanded:
    # Start-up path: the template library is loaded by the first command that needs it.
    from jinja2 import StrictUndefined, TemplateError, nodes  # noqa: PLC0415
    from jinja2.sandbox import SandboxedEnvironment  # noqa: PLC0415

    prefix, values = f"__ot_value_{secrets.token_hex(8)}_", dict[str, str]()
    placeholder = re.compile(rf"{prefix}\d+__")

    def put_out(value: object) -> str:
        # The text of a macro or block that is put out again may hold placeholders: all of it is data now.
        text = placeholder.sub(lambda found: values[found[0]], _as_text(value))
        values[key := f"{prefix}{len(values)}__"] = text
        return key

    environment = SandboxedEnvironment(finalize=put_out, undefined=StrictUndefined)
    try:
        tree = environment.parse(body)
        # What these two write goes past `finalize`, so a value could get into the text of the code.
        if tree.find(nodes.FilterBlock) or tree.find(nodes.CallBlock):
            raise SnippetError(
                name, "its template has a filter or call block; write {{ value | filter }} instead", usage
            )
        code = environment.from_string(tree).render(arguments)
    except TemplateError as error:
        raise SnippetError(name, f"its template fails: {error.message}", usage) from error
    except _TEMPLATE_MISTAKES as error:
        raise SnippetError(name, f"its template fails: {type(error).__name__}: {error}", usage) from error
    return Expanded(code, values)


def _as_text(value: object) -> str:
    """Write a default of the configuration as the caller would have typed it."""
    if value is None or isinstance(value, bool | int | float | list | tuple | dict):
        return json.dumps(value, default=str)
    return str(value)
