"""Snippets: a template becomes code, and no value becomes a part of it."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ot.config.models import SnippetSettings
from ot.errors import SnippetError, UnknownSnippetError
from ot.run.snippets import Expanded, Snippets
from ot_kernel.compiler import insert_values
from tests.properties import unhurried

PARAMS = {"q1": {"description": "First"}, "q2": {}, "p": {"default": "Compare both"}}


def snippets(body: str, params: dict[str, Any] | None = None) -> Snippets:
    return Snippets({"wsq": SnippetSettings.model_validate({"params": params or {}, "body": body})})


def evaluate(expanded: Expanded) -> Any:
    """The value of expanded code, its values inserted as the kernel does it."""
    tree = ast.parse(expanded.code)
    insert_values(tree, expanded.values)
    last = tree.body.pop()
    assert isinstance(last, ast.Expr)
    scope: dict[str, Any] = {}
    exec(compile(tree, "<snippet>", "exec"), scope)
    return eval(compile(ast.Expression(last.value), "<snippet>", "eval"), scope)


@pytest.mark.parametrize("text", ["1 + 1", "", "x = '$wsq'", "# $wsq", "$", "$ wsq", "$1", "a $wsq q=1"])
def test_text_that_is_no_snippet_is_unchanged(text: str) -> None:
    assert snippets("1").expand(text) == Expanded(text)


@pytest.mark.scenario("run/snippet-expansion/snippet-invocation")
def test_a_snippet_becomes_its_template_with_the_values_beside_it() -> None:
    expanded = snippets("[{{ q1 }}, '{{ q2 }}!', {{ p }}]", PARAMS).expand("$wsq q1=AI q2=ML p=Compare")

    assert evaluate(expanded) == ["AI", "ML!", "Compare"]
    assert sorted(expanded.values.values()) == ["AI", "Compare", "ML"]
    assert not any(value in expanded.code for value in expanded.values.values())


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ("q=plain", "plain"),
        ("q=it's", "it's"),
        ("q=a=b", "a=b"),
        (r"q=C:\new", r"C:\new"),
        ('q="two words"', "two words"),
        ("q='two words'", "two words"),
        (r'q="say \"so\" \\ C:\new"', r'say "so" \ C:\new'),
        ("q='say \"so\"'", 'say "so"'),
        ("q='two\nlines'", "two\nlines"),
        ("q=", ""),
        ("q=''", ""),
        ("  q=1  ", 1),
        ("q=2.5", 2.5),
        ("q=true", True),
        ("q=null", None),
        ("q='[1, 2]'", "[1, 2]"),
        ("\n q=x\n", "x"),
    ],
    ids=repr,
)
def test_arguments_are_read_as_a_shell_reads_them(arguments: str, value: Any) -> None:
    assert evaluate(snippets("{{ q }}", {"q": {}}).expand(f"$wsq {arguments}")) == value


def test_defaults_are_values_of_the_configuration() -> None:
    params = {"a": {"default": "text"}, "b": {"default": 5}, "c": {"default": None}, "d": {"default": ["x", "y"]}}
    body = "[{{ a }}, {{ b }}, {{ c }}, {% for item in d %}{{ item }}, {% endfor %}]"

    assert evaluate(snippets(body, params).expand("$wsq")) == ["text", 5, None, "x", "y"]


def test_filters_loops_and_conditions_work_on_the_values() -> None:
    body = (
        "[{% for word in q.split(',') %}'{{ word | upper }}{{ loop.index }}', {% endfor %}"
        "{% if q == 'a,b' %}{{ q | length }}{% endif %}, {{ 7 }}]"
    )

    assert evaluate(snippets(body, {"q": {}}).expand("$wsq q=a,b")) == ["A1", "B2", 3, 7]


@pytest.mark.parametrize("body", ['"{{ q }}"', "{{ q }}", "f'{{ q }}'", "'''{{ q }}'''", 'str({"k": {{ q }}}["k"])'])
@pytest.mark.parametrize(
    "value", ['x" + str(6*7) + "', "'''", "{{ 6*7 }}", "{6*7}", "\\", "\n", "__import__('os')", "]"]
)
def test_a_value_cannot_become_code(body: str, value: str) -> None:
    quoted = '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'

    assert evaluate(snippets(body, {"q": {}}).expand(f"$wsq q={quoted}")) == value


@unhurried
@given(st.text(st.characters(exclude_categories=())))
def test_any_text_arrives_as_it_was_given(value: str) -> None:
    quoted = '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'

    assert evaluate(snippets('"{{ q }}"', {"q": {}}).expand(f"$wsq q={quoted}")) == value


@pytest.mark.parametrize(
    "body",
    [
        "{% macro m(x) %}{{ x }}{% endmacro %}{{ m(q) }}",
        "{% macro m(x) %}{{ x }}{% endmacro %}{{ q ~ m('') }}",
        "{% set x %}{{ q }}{% endset %}{{ x }}",
        "{% set x = q %}{{ x }}",
        "{{ '%s' | format(q) }}",
        "{{ q | safe }}",
        "{% autoescape false %}{{ q }}{% endautoescape %}",
    ],
)
def test_a_value_stays_data_on_every_way_through_the_template(body: str) -> None:
    assert evaluate(snippets(body, {"q": {}}).expand("$wsq q='6 * 7'")) == "6 * 7"


@pytest.mark.parametrize(
    "body",
    [
        "{% filter replace('x', q) %}x{% endfilter %}",
        "{% call q.format() %}{% endcall %}",
        "{{ q.__class__.__mro__ }}",
        "{% include q %}",
        "{{ undefined_name }}",
        "{% if %}",
        "{{ 1 / 0 }}",
        "{% for i in range(10**9) %}{% endfor %}",
        "{{ q.nothing }}",
    ],
)
def test_a_template_that_cannot_work_is_an_error_of_the_snippet(body: str) -> None:
    with pytest.raises(SnippetError) as caught:
        snippets(body, {"q": {}}).expand("$wsq q=1+1")

    assert "template" in caught.value.reason


def test_an_unknown_snippet_is_told_with_those_that_exist() -> None:
    with pytest.raises(UnknownSnippetError) as caught:
        snippets("1").expand("$other x=1")

    assert (caught.value.name, caught.value.available) == ("other", ("wsq",))


@pytest.mark.parametrize(
    ("arguments", "clue"),
    [
        ("", "q1, q2 must be given"),
        ("q1=a", "q2 must be given"),
        ("q1=a q2=b zz=c", "zz"),
        ("q1=a q1=b q2=c", "q1 is given twice"),
        ("q1=two words q2=b", "'words q2=b'"),
        ('q1="open q2=b', "quote"),
        ('q1="a"b q2=c', "quote"),
        ("q1 = a q2=b", "key=value"),
        ("AI ML", "key=value"),
    ],
)
def test_wrong_arguments_are_told_with_the_usage(arguments: str, clue: str) -> None:
    with pytest.raises(SnippetError) as caught:
        snippets("1", PARAMS).expand(f"$wsq {arguments}")

    assert clue in caught.value.reason
    assert caught.value.usage == '$wsq q1=<First> q2=<q2> [p="Compare both"]'
