"""Pack names: whoever wants one that is taken is moved or left out, and that is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from ot.registry.definitions import PackDefinition
from ot.registry.from_source import read_pack
from ot.registry.names import Arrangement, NameCollision, arrange
from tests.opened_executor import write_pack


def pack(name: str, file: str) -> PackDefinition:
    return PackDefinition(name, "", file=Path(file))


def reached(arrangement: Arrangement) -> dict[str, str]:
    """Each name with the file that answers to it."""
    return {placed.pack.name: str(placed.original.file) for placed in arrangement.packs}


def test_packs_with_names_of_their_own_keep_them() -> None:
    arranged = arrange([[pack("one", "p/one.py")], [pack("two", "h/two.py")]], [pack("demo", "demo.py")])

    assert reached(arranged) == {"one": "p/one.py", "two": "h/two.py", "demo": "demo.py"}
    assert arranged.collisions == ()


def test_a_built_in_pack_gives_way_and_stays_reachable() -> None:
    arranged = arrange([[pack("demo", "p/demo.py")]], [pack("demo", "demo.py")])

    assert reached(arranged) == {"demo": "p/demo.py", "demo_builtin": "demo.py"}
    assert arranged.collisions == (
        NameCollision("demo", "p/demo.py", "the built-in pack", "demo_builtin", intended=True),
    )


def test_a_built_in_pack_gives_way_once_more_where_its_second_name_is_taken() -> None:
    own = [pack("demo", "p/demo.py"), pack("demo_builtin", "p/other.py")]

    assert reached(arrange([own], [pack("demo", "demo.py")])) == {
        "demo": "p/demo.py",
        "demo_builtin": "p/other.py",
        "demo_builtin_builtin": "demo.py",
    }


@pytest.mark.parametrize("name", ["ot", "proj"])
def test_what_code_relies_on_cannot_be_taken(name: str) -> None:
    arranged = arrange([[pack(name, "p/mine.py")]], [pack(name, "own.py")])

    assert reached(arranged) == {name: "own.py"}
    assert arranged.collisions == (NameCollision(name, "OneTool itself", "p/mine.py", None, intended=False),)


@pytest.mark.parametrize("name", ["json", "list", "class", "ToolError"])
def test_a_name_that_python_uses_itself_is_reached_with_an_underscore(name: str) -> None:
    arranged = arrange([[pack(name, "p/mine.py")]], [])

    assert reached(arranged) == {f"{name}_": "p/mine.py"}
    assert arranged.collisions == (NameCollision(name, "Python itself", "p/mine.py", f"{name}_", intended=False),)


def test_a_built_in_pack_with_a_name_of_the_standard_library_can_be_replaced_by_that_name() -> None:
    arranged = arrange([[pack("code", "p/code.py")]], [pack("code", "code.py")])

    assert reached(arranged) == {"code": "p/code.py", "code_builtin": "code.py"}


def test_of_two_extensions_the_nearer_one_has_the_name() -> None:
    arranged = arrange([[pack("notes", "p/notes.py")], [pack("notes", "h/notes.py")]], [])

    assert reached(arranged) == {"notes": "p/notes.py"}
    assert arranged.collisions == (NameCollision("notes", "p/notes.py", "h/notes.py", None, intended=True),)


def test_two_extensions_of_one_folder_with_one_name_are_a_mistake() -> None:
    arranged = arrange([[pack("notes", "p/a.py"), pack("notes", "p/b.py")]], [])

    assert reached(arranged) == {"notes": "p/a.py"}
    assert arranged.collisions == (NameCollision("notes", "p/a.py", "p/b.py", None, intended=False),)


def test_a_name_with_an_underscore_can_be_taken_too() -> None:
    arranged = arrange([[pack("json_", "p/a.py"), pack("json", "p/b.py")]], [])

    assert reached(arranged) == {"json_": "p/a.py"}
    assert [(c.name, c.kept_by, c.reachable_as) for c in arranged.collisions] == [("json", "p/a.py", None)]


def test_a_moved_pack_is_documented_under_the_name_by_which_it_is_called(tmp_path: Path) -> None:
    file = write_pack(
        tmp_path,
        '''
        """Notes."""
        pack = "json"

        def dump(*, value: int) -> str:
            """Write it.

            Example:
                json.dump(value=1) + json.dump(value=my_json.dump) + json.loads("2")
            """

        def load(*, text): ...
        ''',
    )
    original = read_pack(file)

    [placed] = arrange([[original]], []).packs

    dump, load = placed.pack.tools["dump"], placed.pack.tools["load"]
    assert (dump.name, dump.signature) == ("json_.dump", "json_.dump(*, value: int) -> str")
    assert dump.docs.example == 'json_.dump(value=1) + json_.dump(value=my_json.dump) + json.loads("2")'
    assert (dump.description, load.description) == ("Write it.", "json_.load(*, text)")
    assert (dump.moved_from, original.tools["dump"].moved_from) == ("json.dump", None)
    assert placed.original is original
