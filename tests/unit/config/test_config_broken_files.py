"""A file that cannot be read, or was made to hurt, is one line and never anything else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ot.config import load_config
from ot.config.documents import MAX_BYTES
from ot.errors import ConfigError
from tests.unit.config.workspace import Workspace

NOBODY = 65534  # the user that owns nothing


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ("execution: {timeout: [", "execution.timeout", "not valid YAML"),
        ("execution:\n\ttimeout: 5\n", "execution", "line 2"),
        ("execution:\n  warm: 1\n\ttimeout: 5\n", "execution.warm", "line 3"),
        ('log:\n  file: "x\nexecution: {}\n', "log.file", "begins on line 2"),
        ("log: {file: @x}", "log.file", "not valid YAML"),
        ("log: file: x", "log", "not valid YAML"),
        ("execution\n", None, "single value where keys are expected"),
        ("- execution\n", None, "a list where keys are expected"),
        ("5\n", None, "single value"),
        ("log: {}\n---\nlog: {}\n", None, "more than one document"),
        ("log: {}\nlog: {}\n", "log", "occurs twice (lines 1 and 2)"),
        ("log:\n  level: info\n  level: info\n", "log.level", "occurs twice (lines 2 and 3)"),
        ("log: {level: 'a\x07b'}", None, "control character (line 1)"),
        ("snippets: {s: {body: {{ q }}}}", "snippets.s.body", "where a key is expected"),
        ("packs: {a: {when: 2024-13-45}}", "packs.a.when", "cannot be read as timestamp"),
        ("packs: {a: {n: !!int many}}", "packs.a.n", "cannot be read as int"),
        ("packs: {a: {n: !!timestamp now}}", "packs.a.n", "cannot be read"),
        ("packs: {a: {n: !!bool perhaps}}", "packs.a.n", "cannot be read"),
        ("packs: {a: {n: !!python/object/apply:os.system [ls]}}", "packs.a.n", "unknown tag"),
        ("packs: {a: {n: !thing x}}", "packs.a.n", "cannot be read"),
        ("packs: {a: {n: *nowhere}}", "packs.a.n", "refers to no anchor"),
        ("packs: {a: {<<: 5}}", "packs.a.<<", "only mappings can be merged"),
    ],
)
def test_broken_yaml_is_named_with_its_place(workspace: Workspace, text: str, key: str | None, words: str) -> None:
    file = workspace.write(text)

    error = workspace.mistake()

    assert (error.file, error.key) == (file, key)
    assert words in error.reason


def test_tabs_are_answered_with_spaces(workspace: Workspace) -> None:
    workspace.write("execution:\n\ttimeout: 5\n")

    assert workspace.mistake().fix == "indent with spaces, not with tabs"


def test_text_that_is_not_utf8_is_named_with_its_line(workspace: Workspace) -> None:
    workspace.write(b"log: {}\ndocs_url: caf\xe9\n")

    assert workspace.mistake().reason == "is not UTF-8 text (line 2)"


def test_a_byte_order_mark_is_no_mistake(workspace: Workspace) -> None:
    workspace.write(b"\xef\xbb\xbfexecution: {timeout: 5}\r\n")

    assert workspace.load().config.execution.timeout == 5


def test_a_folder_in_place_of_the_file_is_named(workspace: Workspace) -> None:
    folder = workspace.home / ".onetool" / "onetool.yaml"
    folder.mkdir(parents=True)

    error = workspace.mistake()

    assert (error.file, error.reason) == (folder, "is a folder, not a file")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_is_refused_and_not_waited_for(workspace: Workspace) -> None:
    pipe = workspace.write("").with_name("pipe.yaml")
    os.mkfifo(pipe)

    assert workspace.mistake(pipe).reason == "is not a regular file"


def test_the_null_device_stands_for_an_empty_file(workspace: Workspace) -> None:
    workspace.write("execution: {timeout: 5}")

    assert workspace.load(Path(os.devnull)).config.execution.timeout == 120


def test_a_link_to_nowhere_is_not_taken_for_no_file(workspace: Workspace) -> None:
    file = workspace.write_home("")
    file.unlink()
    file.symlink_to("nowhere.yaml")

    error = workspace.mistake()

    assert (error.file, error.reason) == (file, "links to a file that does not exist")


def test_a_link_to_itself_is_named(workspace: Workspace) -> None:
    file = workspace.write_home("")
    file.unlink()
    file.symlink_to(file.name)

    assert workspace.mistake().reason.startswith("cannot be read: ")


@contextmanager
def nobody_in_particular(folder: Path) -> Iterator[None]:
    """Every file is open to root: as root, act as somebody else who owns the folder."""
    if os.geteuid() != 0:
        yield
        return
    for path in (folder, *folder.rglob("*")):
        os.chown(path, NOBODY, -1)
    closed = [path for path in folder.parents if path.stat().st_mode & 0o777 == 0o700]
    for path in closed:
        path.chmod(0o711)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        for path in closed:
            path.chmod(0o700)


def test_a_file_without_permission_is_named(workspace: Workspace) -> None:
    file = workspace.write_home("")
    file.chmod(0)

    with nobody_in_particular(workspace.project.parent):
        error = workspace.mistake()

    assert (error.file, error.reason) == (file, "cannot be read: Permission denied")


def test_a_huge_file_is_refused(workspace: Workspace) -> None:
    workspace.write_home(b"#" * (MAX_BYTES + 1))

    assert workspace.mistake().reason == "is larger than 1,000,000 bytes"


def test_aliases_that_explode_are_refused(workspace: Workspace) -> None:
    lines = ["l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"l{n + 1}: &l{n + 1} [{', '.join([f'*l{n}'] * 10)}]" for n in range(12)]
    workspace.write("packs:\n  a:\n" + "".join(f"    {line}\n" for line in lines))

    assert "aliases expand" in workspace.mistake().reason


def test_merged_mappings_that_explode_are_refused(workspace: Workspace) -> None:
    lines = ["l0: &l0 {x: 1}"]
    lines += [f"l{n + 1}: &l{n + 1} {{<<: [{', '.join([f'*l{n}'] * 10)}]}}" for n in range(12)]
    workspace.write("packs:\n  a:\n" + "".join(f"    {line}\n" for line in lines))

    assert "aliases expand" in workspace.mistake().reason


def test_one_long_text_used_often_is_refused(workspace: Workspace) -> None:
    workspace.write(f"packs: {{a: {{text: &t '{'x' * 400_000}', list: [{'*t,' * 50_000}]}}}}")

    assert "aliases expand" in workspace.mistake().reason


@pytest.mark.parametrize("text", ["packs: {a: {l: &l [*l]}}", "packs: {a: {l: &l {x: *l}}}", "packs: &p {a: {<<: *p}}"])
def test_an_alias_inside_itself_is_refused(workspace: Workspace, text: str) -> None:
    workspace.write(text)

    assert "is inside the value it refers to" in workspace.mistake().reason


@pytest.mark.parametrize("text", ["[", "{a: ", "- ", "? ", "[{a: "], ids=["flow", "mapping", "block", "keys", "mixed"])
def test_endless_nesting_is_refused(workspace: Workspace, text: str) -> None:
    workspace.write(f"packs: {{a: {{b: {text * 20_000}" if text[0] in "[{" else text * 20_000)

    assert workspace.mistake().reason


def test_anchors_and_merge_keys_work(workspace: Workspace) -> None:
    workspace.write_home("packs:\n  a: &a {x: 1, y: 1}\n  b: {<<: *a, y: 2}\n  c: {<<: [{x: 3}, *a], z: <<}\n")

    packs = workspace.load().config.packs

    assert packs["b"].options == {"x": 1, "y": 2}
    assert packs["c"].options == {"x": 3, "y": 1, "z": "<<"}


_WORDS = ["execution", "timeout", "servers", "include", "a", "5", "${A}", "$${", "~", "&a ", "*a", "<<", "!!set ", "on"]
_MARKS = [": ", "\n", "  ", "\t", "- ", "{", "}", "[", "]", ", ", '"', "'", "|\n", "#", "---\n", "\ud7ff", "\x85"]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(_WORDS + _MARKS), max_size=30).map("".join) | st.binary(max_size=60))
def test_whatever_a_file_holds_it_loads_or_is_one_line(
    tmp_path_factory: pytest.TempPathFactory, text: str | bytes
) -> None:
    folder = tmp_path_factory.getbasetemp()
    file = folder / "any.yaml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)

    error = _mistake_in(file)

    assert error is None or error.fix
    assert error is None or f"{error.key} {error.reason} {error.fix}".isprintable()


def _mistake_in(file: Path) -> ConfigError | None:
    try:
        load_config(file, environ={"A": "value"}, cwd=file.parent, home=file.parent)
    except ConfigError as error:
        return error
    return None
