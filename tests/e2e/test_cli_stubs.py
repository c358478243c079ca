"""`onetool stubs`: what a type checker makes of code in a run."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine import write_skill
from tests.preloaded import run_preloaded
from tests.proxied import program

PAGE = (Path(__file__).parents[2] / "docs" / "terminal.md").read_text(encoding="utf-8")
EXTENSION = '''
"""Orders of a shop."""

from dataclasses import dataclass
from typing import NotRequired, TypedDict

pack = "orders"


class Line(TypedDict):
    article: str
    count: NotRequired[int]


@dataclass
class Receipt:
    number: int


def place(*, lines: list[Line], express: bool = False, note: str | None = None) -> list[Receipt]:
    """Place an order."""


def list(*, since: str = "") -> list[Line]:
    """Orders so far; the name of this tool hides a builtin type."""
'''
SKILL = '''
    def shout(*, text: str) -> str:
        """Shout a text.

        Example:
            skills.shout(text="hey")
        """
        demo.upper(text=text)
'''
RIGHT = """
import file, gives, odd, onetool_packs, orders, proj, skills
from onetool_packs import code
from pathlib import Path

for line in orders.list():
    print(line["article"].upper(), line.get("count", 1) + 1)
receipts = orders.place(lines=[{"article": "ink"}, {"article": "pen", "count": 2}], note=None)
print(receipts[0].number + 1, receipts[0]["number"])
entries = file.list(".")["entries"]
names = [entry["path"] for entry in entries]
print(file.read(path=Path(names[0]))["lines"][0].upper(), file.read(proj.notes / "todo.md"))
print(gives.declared(value=[1])["sum"] + 1)
for row in gives.open_0(value=1):
    print(row["id"] + 1, row.get("labels", []))
odd.recursion(root={"name": "a", "children": [{"name": "b"}]})
odd.get_env(from_="here", x_loc="there")
odd.choice(value=3)
print(skills.shout(text="hey").lower(), code.symbols(path="a.py"))
"""
WRONG = """\
import file, gives, odd, orders, skills
orders.place(lines=[{"articel": "ink"}])
orders.place(lines="ink")
orders.place(line=[])
orders.list()[0]["price"]
file.read(path=3)
file.read()
file.list(".")["entry"]
gives.declared(value=1)["total"]
gives.open_0(value=1)[0]["name"]
odd.choice(value=[])
odd.get_env(form="here")
skills.shout(text="hey").lover()
file.lst()
"""


def onetool(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {"HOME": str(folder), "PATH": os.environ["PATH"]}
    done = run_preloaded(*arguments, cwd=folder, env=environ)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.long
def test_a_type_checker_finds_what_is_wrong_with_run_code(tmp_path: Path) -> None:
    write_extension(tmp_path)
    write_skill(tmp_path, "shout", SKILL)
    servers = {"gives": program("gives", tmp_path / "version"), "odd": program("odd_schemas")}
    servers["gone"] = {"command": "no-such-program-anywhere"}
    settings = {"servers": servers, "projects": {"notes": {"path": str(tmp_path)}}, "aliases": {"ls": "file.list"}}
    (tmp_path / ".onetool/onetool.yaml").write_text(json.dumps(settings))
    onetool(tmp_path, "run", "gives.open_0(value=[{'id': 1}, {'id': 2, 'labels': ['x']}])")

    done = onetool(tmp_path, "stubs")
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text(WRONG)
    (tmp_path / "page.py").write_text(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0])
    stubs = [str(path) for path in (tmp_path / "onetool_stubs").rglob("*.pyi")]
    mypy = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, "--no-site-packages"]
    environ = {"PATH": os.environ["PATH"], "MYPYPATH": "onetool_stubs"}
    checked = subprocess.run(
        [*mypy, "right.py", "wrong.py", "page.py"],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )

    [example] = re.findall(r"```text\n\$ MYPYPATH=onetool_stubs mypy page.py\n(.*?)\n```", PAGE, re.DOTALL)
    assert example in checked.stdout
    found = [(name, int(line)) for name, line in re.findall(r"^(\S+?):(\d+): error", checked.stdout, re.MULTILINE)]
    assert sorted(set(found)) == [("page.py", 4)] + [("wrong.py", line) for line in range(2, WRONG.count("\n") + 1)], (
        checked.stdout
    )
    assert "gone has no stubs, because its tools are not known: " in done.stderr
    assert "import list as ls" in (tmp_path / "onetool_stubs/__builtins__.pyi").read_text()
    assert all(ast.parse(Path(stub).read_text()) for stub in stubs)
    assert not [stub for stub in stubs if Path(stub).stat().st_mode & 0o022]


def test_stubs_are_written_once_and_go_with_their_packs(tmp_path: Path) -> None:
    extension = write_extension(tmp_path)
    folder = tmp_path / "typings"

    first = json.loads(onetool(tmp_path, "stubs", "typings", "--json").stdout)
    (folder / "own.pyi").write_text("def mine() -> int: ...\n")
    (folder / "old.pyi").write_text((folder / "orders.pyi").read_text())
    before = (folder / "file.pyi").stat().st_mtime_ns
    second = json.loads(onetool(tmp_path, "stubs", "typings", "--json").stdout)
    extension.unlink()
    third = json.loads(onetool(tmp_path, "stubs", "typings", "--json").stdout)

    assert {"orders.pyi", "onetool_packs/orders.pyi", "file.pyi", "__builtins__.pyi"} < set(first["written"])
    assert not {"code.pyi", "__init__.pyi"} & set(first["written"])  # the standard library has a module of that name
    assert (second["written"], second["removed"]) == ([], ["old.pyi"])
    assert before == (folder / "file.pyi").stat().st_mtime_ns
    assert third["removed"] == ["orders.pyi", "onetool_packs/orders.pyi"]
    assert (folder / "own.pyi").exists()
    assert not list(folder.rglob("*.tmp"))


def test_a_file_of_somebody_else_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "git.pyi").write_text("def mine() -> int: ...\n")

    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    done = run_preloaded("stubs", ".", cwd=tmp_path, env=environ)

    assert done.returncode == 2
    assert "git.pyi is there already, and `onetool stubs` did not write it; name another folder" in done.stderr
    assert [path.name for path in tmp_path.glob("*.pyi")] == ["git.pyi"]


def write_extension(folder: Path) -> Path:
    file = folder / ".onetool/tools/orders.py"
    file.parent.mkdir(parents=True)
    file.write_text(EXTENSION)
    return file
