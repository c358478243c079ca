"""Ten tasks over servers that others wrote: few calls, and no name in them that had not been told before.

The page of the docs is the transcript; `WRITE_TEN_TASKS=1 pytest tests/e2e/test_ten_tasks.py` writes it again.
"""

from __future__ import annotations

import ast
import builtins
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp_types import TextContent

from tests.e2e.ten_tasks import LOOK_UP, TASKS, Task
from tests.real_server import connect_server
from tests.reference_servers.servers import reference_server

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("reference servers")]

PAGE = Path(__file__).parents[2] / "docs" / "ten-tasks.md"
SHOP = "/home/ada/shop"
MOST_CALLS = 14
MOST_LINES = 6  # of an answer on the page

EXPECTED = [
    "[FILE] may.csv",
    "[3, ask Bob about the blue cups]",
    "[9, 7, 16]",
    "- tea: 10\n- cups: 6",
    "2",
    "[Ada]",
    "{from: Ada, to: Bob, relationType: delivers to}",
    "3",
    "'item': 'tea', 'amount': 7",
    "notes.txt",
]
"""A part of the answer to each task."""

PYTHON = {name for kind in (str, list, dict, int) for name in dir(kind)} | set(dir(builtins))


class Told(list[tuple[Task, str, str]]):
    """Calls with their answers, each beside everything that had been told before."""


@pytest.fixture(scope="module")
async def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    home = tmp_path_factory.mktemp("home")
    shop = home / "filesystem"
    for name in ("filesystem", "memory", "sqlite"):
        (home / name).mkdir()
    (shop / "notes.txt").write_text("call Ada\nask Bob about the blue cups\nbuy string\n")
    (shop / "may.csv").write_text("item,amount\ntea,4\ncups,2\ntea,3\n")
    (shop / "june.csv").write_text("item,amount\ntea,3\ncups,4\n")
    servers = {name: reference_server(name, home / name).settings() for name in ("filesystem", "memory", "sqlite")}
    calls = Told()
    async with connect_server(home, config=json.dumps({"servers": servers})) as client:
        listed = "\n".join(tool.model_dump_json() for tool in (await client.list_tools()).tools)
        known = f"{client.instructions}\n{listed}"
        for task in (*LOOK_UP, *TASKS):
            known += f"\n{task.words}"
            result = await client.call_tool("run", {"command": task.code.replace("{shop}", str(shop))})
            answer = "\n".join(block.text for block in result.content if isinstance(block, TextContent))
            assert not result.is_error, answer
            calls.append((task, known, answer.replace(str(shop), SHOP)))
            known += f"\n{answer}"
    return calls


def names_in(code: str) -> Iterator[str]:
    """Every name that code takes from elsewhere: packs, tools, arguments, keys; not Python's, nor its own."""
    tree = ast.parse(code)
    nodes = list(ast.walk(tree))
    modules = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    assert modules <= set(sys.stdlib_module_names)
    own = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own |= {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    own |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Load()) if name not in own | modules | PYTHON:
                yield name
            case ast.Attribute(value=ast.Name(id=module)) if module in modules:
                pass
            case ast.Attribute(attr=name) if name not in PYTHON and name != "most_common":
                yield name
            case ast.Call(func=function, keywords=keywords) if not _is_of_python(function):
                yield from (keyword.arg for keyword in keywords if keyword.arg)
            case ast.Subscript(slice=ast.Constant(value=str(key))):
                yield key
            case ast.Dict(keys=keys):
                yield from (key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str))


def _is_of_python(function: ast.expr) -> bool:
    return isinstance(function, ast.Name) and hasattr(builtins, function.id)


async def test_each_task_is_done_in_few_calls(told: Told) -> None:
    answers = [answer for _, _, answer in told[len(LOOK_UP) :]]

    assert len(told) <= MOST_CALLS
    assert len(answers) == len(EXPECTED) == 10
    for answer, expected in zip(answers, EXPECTED, strict=True):
        assert expected in answer


async def test_no_call_uses_a_name_that_had_not_been_told(told: Told) -> None:
    unheard = {
        (task.words, name)
        for task, known, _ in told
        for name in names_in(task.code)
        if re.search(rf"\b{re.escape(name)}\b", known) is None
    }

    assert unheard == set()


def test_a_name_that_nobody_has_told_would_be_noticed() -> None:
    code = 'import csv\nfound = mail.fetch(folder="a")["subject"]\nlen(csv.reader([found]), {"b": 1})'

    assert sorted(names_in(code)) == ["b", "fetch", "folder", "mail", "subject"]


async def test_the_page_is_the_transcript(told: Told) -> None:
    page = write_page(told)
    if os.environ.get("WRITE_TEN_TASKS"):
        PAGE.write_text(page)

    assert PAGE.read_text() == page


def write_page(told: Told) -> str:
    introduction = (
        "What a model does with OneTool for ten everyday requests, over three servers that others wrote (`filesystem`, "
        f"`memory` and `sqlite`): {len(told)} calls of `run`, {len(LOOK_UP)} of them to look tools up. Every name in the "
        "code, of a pack, a tool, an argument or a key, stood in an earlier answer or in a request. A test makes these "
        "calls and writes this page; of what was looked up, only some signatures are shown here."
    )
    parts = ["# Ten tasks", introduction]
    for task, _, answer in told:
        lines = answer.splitlines()
        if task in LOOK_UP:
            lines = [line.strip() for line in lines if line.startswith(("  filesystem.", "  memory.", "  sqlite."))]
        shown = "\n".join([*lines[:MOST_LINES], *(["…"] if len(lines) > MOST_LINES else [])])
        code = task.code.replace("{shop}", SHOP)
        parts += [f"**{task.words.replace('{shop}', SHOP)}**", f"```py\n{code}\n```", f"```\n{shown}\n```"]
    return "\n\n".join(parts) + "\n"
