"""One snippet as its author would write it, how it is called, and the code that it becomes."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Mapping

import yaml

from ot.config.models import SnippetParameter, SnippetSettings
from ot.errors import OneToolError
from ot.execution.wording import word_error

Expand = Callable[[str], tuple[str, Mapping[str, str]]]
"""Gives the code of `$name key=value`, and the text that each placeholder in it stands for."""


class _Dumper(yaml.SafeDumper):
    """A dumper that writes texts of several lines as they are."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _represent_text)


def describe_snippet(name: str, snippet: SnippetSettings, expand: Expand) -> str:
    """Write a snippet's definition, an example invocation, and what that expands to."""
    body = snippet.body if snippet.body.endswith("\n") else f"{snippet.body}\n"
    params = {key: _describe_parameter(param) for key, param in snippet.params.items()}
    example = example_invocation(name, snippet)
    parts = [
        _dump({"name": name, "description": snippet.description}),
        _dump({"params": params}, inner_flow=True) if params else "",
        _dump({"body": body}),
        f"\n# Example with defaults:\n# {example}\n# Expands to:\n{_expansion(example, expand)}",
    ]
    return "".join(parts)


def example_invocation(name: str, snippet: SnippetSettings) -> str:
    """Write the shortest call of a snippet: required parameters, each with its own name as its value."""
    return " ".join([f"${name}", *(f"{key}={key}" for key, param in snippet.params.items() if param.required)])


def _describe_parameter(parameter: SnippetParameter) -> dict[str, object]:
    described: dict[str, object] = {} if parameter.required else {"default": parameter.default}
    if parameter.description:
        described["description"] = parameter.description
    return described


def _dump(part: Mapping[str, object], *, inner_flow: bool = False) -> str:
    style = None if inner_flow else False  # None: what holds no other collection stands on one line
    return str(
        yaml.dump(part, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**31 - 1, default_flow_style=style)
    )


def _expansion(invocation: str, expand: Expand) -> str:
    try:
        code, values = expand(invocation)
    except OneToolError as error:
        return f"# It fails: {word_error(error)}"
    bare = _bare_names(code)
    for placeholder, value in values.items():
        code = code.replace(placeholder, _literal(value) if placeholder in bare else _quoted(value))
    return code.rstrip("\n")


def _bare_names(code: str) -> set[str]:
    """Find the placeholders that stand for a value of their own, not for a part of a text."""
    try:
        return {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()


def _literal(text: str) -> str:
    """Read a bare value as the code will see it: a number, true, false or null if the text is one, else a text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return repr(text)
    return repr(text if isinstance(value, list | dict | str) else value)


def _quoted(text: str) -> str:
    """Write a value inside a string literal, which it cannot end."""
    return json.dumps(text, ensure_ascii=False)[1:-1]
