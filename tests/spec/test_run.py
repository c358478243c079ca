"""The run tool as it is specified, through the whole engine: text in, a real kernel, text out."""

from __future__ import annotations

import ast
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import ot.run.runner
from ot.app import App
from ot.registry.tool_loader import ToolLoader
from ot.run import fence_processor
from ot.run.namespace import Namespace
from ot_kernel import program_run
from ot_kernel.pack_proxy import PackProxy
from tests.engine import answer_of as run
from tests.engine import open_engine
from tests.engines import on_wasm

CONFIG = """
projects: {onetool: ~/projects/onetool}
aliases: {ws: brave.web_search, short: ws, loop: round_about, round_about: loop}
snippets:
  wsq:
    description: Search two subjects and compare them
    params: {q1: {description: First}, q2: {description: Second}, p: {default: Compare}}
    body: |
      demo.echo(value=[ws(query={{ q1 }}), ws(query="about {{ q2 }}"), {{ p }}])
"""

BRAVE = '''
"""A search engine that knows one answer."""

pack = "brave"


async def web_search(*, query: str, count: int = 1) -> str:
    """Search the web."""
    return f"web: {query}" + "!" * (count - 1)


async def search(*, query: str) -> str:
    """Search with brave."""
    return f"brave: {query}"
'''

CONTEXT7 = '''
"""Another search engine."""

pack = "context7"


async def search(*, query: str) -> str:
    """Search the documentation."""
    return f"context7: {query}"
'''


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    folder = tmp_path_factory.mktemp("engine")
    async with open_engine(folder, config=CONFIG, packs={"brave": BRAVE, "context7": CONTEXT7}) as app:
        yield app


async def fail(app: App, command: str) -> str:
    """The answer to a command that must fail."""
    answer = await app.runner.run(command)
    assert answer.is_error, answer.text
    return answer.text


@pytest.mark.scenario("run/robust-fence-stripping/triple-backtick-with-language")
async def test_a_fence_with_a_language_is_taken_off(app: App) -> None:
    assert await run(app, "```python\n6 * 7\n```") == "42"


@pytest.mark.scenario("run/robust-fence-stripping/triple-backtick-without-language")
async def test_a_bare_fence_is_taken_off(app: App) -> None:
    assert await run(app, "```\n6 * 7\n```") == "42"


@pytest.mark.scenario("run/robust-fence-stripping/inline-backticks")
async def test_inline_backticks_are_taken_off(app: App) -> None:
    assert await run(app, "`6 * 7`") == "42"


@pytest.mark.scenario("run/robust-fence-stripping/nested-fences-preserved")
async def test_fences_that_are_data_are_kept(app: App) -> None:
    assert await run(app, 'text = """\n```python\nx\n```\n"""\ntext.count("`")') == "6"


@pytest.mark.scenario("run/robust-fence-stripping/no-fences")
async def test_a_command_without_fences_is_run_as_it_is(app: App) -> None:
    assert await run(app, "x = 'a`b'\nx") == "a`b"


@pytest.mark.scenario("run/robust-fence-stripping/legacy-prefix-rejected")
async def test_the_legacy_prefix_is_invalid_syntax(app: App) -> None:
    assert "invalid syntax" in (await fail(app, '!onetool upper(text="hello")')).lower()


@pytest.mark.parametrize("prefix", ["__ot", "__onetool", "__onetool__run", "mcp__onetool__run", ">>>"])
async def test_a_trigger_prefix_is_accepted(app: App, prefix: str) -> None:
    assert await run(app, f"{prefix} 6 * 7") == "42"


@pytest.mark.scenario("run/unified-execution-path/simple-function-call")
async def test_a_single_call_runs_in_a_kernel_like_everything(app: App) -> None:
    assert await run(app, 'brave.search(query="test")') == "brave: test"
    assert await run(app, "__import__('os').getpid()") != str(os.getpid())


@pytest.mark.scenario("run/unified-execution-path/python-code-block")
async def test_a_block_of_code_runs_in_a_kernel_of_its_own(app: App) -> None:
    code = "import os\ndef who():\n    os.seen = getattr(os, 'seen', 0) + 1\n    return os.seen, os.getpid()\nwho()"
    first, second = await run(app, code), await run(app, code)

    assert first.startswith("[1, ")
    assert second.startswith("[1, ")
    assert on_wasm() or first != second  # an instance is told no number of its process


@pytest.mark.scenario("run/robust-result-capture/expression-result")
async def test_the_value_of_an_expression_is_the_answer(app: App) -> None:
    assert await run(app, 'brave.web_search(query="test")') == "web: test"


@pytest.mark.scenario("run/robust-result-capture/last-expression-in-block")
async def test_the_value_of_the_last_expression_is_the_answer(app: App) -> None:
    assert await run(app, "a = 40\nb = 2\na + b") == "42"


@pytest.mark.scenario("run/robust-result-capture/explicit-return")
async def test_a_return_gives_its_value_and_ends_the_run(app: App) -> None:
    assert await run(app, "for i in range(10):\n    if i == 4:\n        return i\nraise SystemError") == "4"


@pytest.mark.scenario("run/robust-result-capture/no-return-value")
async def test_code_without_a_value_says_that_it_succeeded_without_one(app: App) -> None:
    text = await run(app, "x = 1")

    assert "no value" in text.lower()


@pytest.mark.scenario("run/robust-result-capture/none-return")
@pytest.mark.parametrize("code", ["return None", "None", "def f(): pass\nf()", "[].sort()"])
async def test_none_is_an_answer_of_its_own(app: App, code: str) -> None:
    assert await run(app, code) == "None"


@pytest.mark.scenario("run/indentation-safe-code-wrapping/already-indented-code")
async def test_code_that_is_indented_as_a_whole_keeps_its_strings(app: App) -> None:
    code = '    text = """a\n    b"""\n    if text:\n        text = text.upper()\n    text'

    assert await run(app, code) == "A\n    B"


@pytest.mark.scenario("run/indentation-safe-code-wrapping/mixed-indentation")
async def test_tabs_and_spaces_are_read_as_they_were_meant(app: App) -> None:
    assert await run(app, "def f():\n\tx = 1\n        return x\nf()") == "1"
    assert await run(app, "def f():\n\tx = 1\n    return x\nf()") == "1"


async def test_tabs_that_could_mean_two_programs_are_refused(app: App) -> None:
    text = await fail(app, "def f(x):\n\tif x:\n\t    y = 1\n        return y\nf(1)")

    assert "TabError" in text
    assert "line 4" in text


@pytest.mark.scenario("run/indentation-safe-code-wrapping/empty-lines")
async def test_empty_lines_anywhere_do_no_harm(app: App) -> None:
    assert await run(app, "\n\n    def f():\n\n        x = 1\n\n\n        return x\n\n    f()\n\n") == "1"


@pytest.mark.scenario("run/error-context/syntax-error-location")
@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("x = 1\ny = = 2", 2),
        ("```python\nx = 1\ny = = 2\n```", 2),
        ("    x = 1\n    y = = 2", 2),
        ("return 1\nx = = 2", 2),
    ],
    ids=["plain", "fenced", "indented", "with a return"],
)
async def test_a_syntax_error_names_the_line_that_the_author_wrote(app: App, command: str, line: int) -> None:
    text = await fail(app, command)

    assert "SyntaxError" in text
    assert f"line {line}" in text


@pytest.mark.scenario("run/error-context/runtime-error-context")
async def test_an_exception_is_told_with_type_message_and_line(app: App) -> None:
    text = await fail(app, "```\ndef f(x):\n    return 1 / x\n\nf(0)\n```")

    assert "ZeroDivisionError: division by zero" in text
    assert "line 2, in f: return 1 / x" in text


@pytest.mark.scenario("run/error-context/tool-not-found")
async def test_an_unknown_tool_comes_with_those_there_are(app: App) -> None:
    text = await fail(app, "brave.find(query='x')")

    assert "web_search" in text
    assert "search" in text


@pytest.mark.scenario("run/error-context/argument-error")
@pytest.mark.parametrize(
    "call", ["brave.web_search(q='x')", "getattr(brave, 'web_search')(q='x')", "brave.web_search(query=5)"]
)
async def test_wrong_arguments_come_with_the_expected_signature(app: App, call: str) -> None:
    assert "brave.web_search(*, query: str, count: int = 1) -> str" in await fail(app, call)


async def test_all_mistakes_are_found_before_the_first_side_effect(app: App, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    code = f"demo.block(seconds=0, path={str(marker)!r})\nbrave.nothing()\nnowhere.call()\nbrave.search()"

    text = await fail(app, code)

    assert not marker.exists()
    assert all(f"line {line}" in text for line in (2, 3, 4))


@pytest.mark.scenario("run/pack-resolution/simple-pack-call")
async def test_a_pack_and_a_tool_are_called_by_their_names(app: App) -> None:
    assert await run(app, 'brave.web_search(query="test", count=3)') == "web: test!!"


@pytest.mark.scenario("run/pack-resolution/unknown-pack")
async def test_an_unknown_pack_comes_with_those_there_are(app: App) -> None:
    text = await fail(app, "unknown.func()")

    assert all(pack in text for pack in ("brave", "context7", "demo", "ot", "proj"))


@pytest.mark.scenario("run/pack-resolution/function-not-in-pack")
@pytest.mark.parametrize("code", ["brave.nonexistent()", "brave.nonexistent", "getattr(brave, 'nonexistent')"])
async def test_a_function_that_the_pack_lacks_comes_with_those_it_has(app: App, code: str) -> None:
    text = await fail(app, code)

    assert "search, web_search" in text or "web_search, search" in text


@pytest.mark.scenario("run/pack-resolution/same-function-name-in-different-packs")
async def test_one_name_in_two_packs_is_two_tools(app: App) -> None:
    code = 'brave.search(query="a") + " / " + context7.search(query="b")'

    assert await run(app, code) == "brave: a / context7: b"


@pytest.mark.scenario("run/alias-resolution/simple-alias")
@pytest.mark.parametrize("alias", ["ws", "short"])
async def test_an_alias_stands_for_its_tool(app: App, alias: str) -> None:
    assert await run(app, f'{alias}(query="test")') == "web: test"
    assert await run(app, f'list(map(lambda q: {alias}(query=q), ["a", "b"]))') == "['web: a', 'web: b']"


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("'ws(query=1)'", "ws(query=1)"),
        ("def ws(query): return 'mine'\nws(query='x')", "mine"),
        ("for ws in ['loop name']: pass\nws", "loop name"),
        ("(lambda ws: ws)(1)", "1"),
    ],
    ids=["in a string", "a function of the code's own", "a variable", "a parameter"],
)
async def test_an_alias_gives_way_to_what_the_code_defines(app: App, code: str, answer: str) -> None:
    assert await run(app, code) == answer


async def test_aliases_that_lead_in_a_circle_are_named(app: App) -> None:
    assert "loop -> round_about -> loop" in await fail(app, "loop(query='x')")


@pytest.mark.scenario("run/alias-resolution/unknown-alias-passthrough")
async def test_a_name_that_is_no_alias_is_tried_as_it_stands(app: App) -> None:
    assert "NameError: name 'unknown' is not defined" in await fail(app, "unknown(arg=1)")
    assert await run(app, "def unknown(arg): return arg\nunknown(arg=1)") == "1"


@pytest.mark.scenario("run/snippet-expansion/snippet-invocation")
async def test_a_snippet_is_expanded_and_run(app: App) -> None:
    text = await run(app, "$wsq q1=AI q2=ML p=Compare")

    assert text == "['web: AI', 'web: about ML', Compare]"


@pytest.mark.parametrize(
    "value",
    ['x" + str(6*7) + "', "x' + str(6*7) + '", "{{ 6*7 }}", "__import__('os')", "\\", 'a"""b', "{x}", "#", "$(id)"],
)
async def test_a_snippets_value_is_data_whatever_it_holds(app: App, value: str) -> None:
    quoted = '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'

    text = await run(app, f"$wsq q1={quoted} q2={quoted}")

    assert "42" not in text
    assert await run(app, f"{value!r}") in (text, value)


@pytest.mark.scenario("run/project-pack-proxy/dynamic-attribute-resolution")
async def test_a_project_is_an_attribute_of_proj(app: App) -> None:
    assert (await run(app, "str(proj.onetool)")).endswith("/projects/onetool")
    assert await run(app, "type(proj.onetool).__name__") == "ProjectPath"


@pytest.mark.scenario("run/project-pack-proxy/function-priority")
async def test_the_functions_of_proj_come_before_projects(tmp_path: Path) -> None:
    async with open_engine(tmp_path, config="projects: {path: /somewhere, list: /else}") as app:
        assert await run(app, "proj.path(name='list')") == "/else"
        assert "/somewhere" in await run(app, "proj.list()")


@pytest.mark.scenario("run/project-pack-proxy/path-operations-in-code")
async def test_a_project_path_is_joined_and_stays_one(app: App) -> None:
    code = "path = proj.onetool / 'src' / 'ot'\n[type(path).__name__, path.parent.name, str(path).split('/')[-2:]]"

    assert await run(app, code) == "[ProjectPath, src, [src, ot]]"


@pytest.mark.scenario("run/project-pack-proxy/error-message-for-unknown-project")
async def test_an_unknown_project_comes_with_functions_and_projects(app: App) -> None:
    code = "try:\n    proj.unknown\nexcept AttributeError as error:\n    text = str(error)\ntext"

    text = await run(app, code)

    assert all(name in text for name in ("path", "list", "onetool"))


def _imports(module_file: str) -> set[str]:
    tree = ast.parse(Path(module_file).read_text(encoding="utf-8"))
    return {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}


@pytest.mark.scenario("run/runner-module-organization/fence-processing-isolation")
def test_the_runner_leaves_fences_to_their_module() -> None:
    assert fence_processor.__name__ in _imports(ot.run.runner.__file__)
    assert fence_processor.strip_fences("```\nx\n```") == "x"


@pytest.mark.scenario("run/runner-module-organization/tool-loading-isolation")
async def test_tools_are_loaded_by_their_module_and_only_once(app: App) -> None:
    assert ToolLoader.__module__ == "ot.registry.tool_loader"
    assert app.registry.executor("brave.search") is app.registry.executor("brave.search")


@pytest.mark.scenario("run/runner-module-organization/pack-proxy-isolation")
def test_the_runner_leaves_the_namespace_to_its_module() -> None:
    assert PackProxy.__module__ == "ot_kernel.pack_proxy"
    assert PackProxy.__module__ in _imports(program_run.__file__)
    assert Namespace.__module__ in _imports(ot.run.runner.__file__)


@pytest.mark.scenario("run/runner-module-organization/runner-focused-on-orchestration")
def test_the_runner_only_arranges_steps() -> None:
    source = Path(ot.run.runner.__file__).read_text(encoding="utf-8")

    assert {"ot.run.fence_processor", "ot.run.namespace", "ot.run.kernel_session"} <= _imports(ot.run.runner.__file__)
    assert not {"ast", "re", "jinja2", "subprocess"} & {
        line.split()[1] for line in source.splitlines() if line.startswith("import ")
    }
