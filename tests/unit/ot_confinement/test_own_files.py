"""The files that a program is made of are found, and a program cannot add to them by what it writes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ot_confinement.own_files import executables_of, files_of_command, files_of_python


def write_program(file: Path, text: str = "#!/bin/sh\n") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)
    return file


def own(
    command: str | Path, *args: str | Path, folder: Path, writable: tuple[Path, ...] = (), path: str = ""
) -> set[str]:
    return set(files_of_command(str(command), list(map(str, args)), path=path, folder=folder, writable=writable))


def test_a_program_has_its_file_its_libraries_and_its_interpreter(tmp_path: Path) -> None:
    node = write_program(tmp_path / "node" / "bin" / "node", "binary")
    server = write_program(
        tmp_path / "installed" / "node_modules" / "pkg" / "cli.js", "#!/usr/bin/env -S node --flag\n"
    )
    link = tmp_path / "commands" / "server"
    link.parent.mkdir()
    link.symlink_to(server)

    found = own("server", folder=tmp_path, path=f"{link.parent}:{node.parent}")

    assert {str(server), str(tmp_path / "installed" / "node_modules"), str(node)} <= found
    assert {str(node.parent), str(node.parent.parent / "lib")} <= found
    assert str(tmp_path) not in found
    assert str(tmp_path / "installed") not in found


def test_an_environment_brings_its_packages_and_the_interpreter_below_it(tmp_path: Path) -> None:
    base = write_program(tmp_path / "python" / "bin" / "python3", "binary")
    python = tmp_path / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(base)
    (tmp_path / "venv" / "pyvenv.cfg").write_text(f"home = {base.parent}\nversion = 3.12\n")

    found = files_of_python(python)

    assert {str(tmp_path / "venv"), str(base), str(base.parent), str(tmp_path / "python" / "lib")} <= {*found}


def test_a_script_brings_its_folder_unless_that_is_for_other_things(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("server/main.py", "loose.py", "work/here.py", "data/table.db"):
        write_program(tmp_path / name)

    def found(name: str, folder: str) -> set[str]:
        return own(sys.executable, tmp_path / name, folder=tmp_path / folder)

    assert str(tmp_path / "server") in found("server/main.py", "work")
    assert str(tmp_path) not in found("loose.py", "work")
    assert str(tmp_path / "work") not in found("work/here.py", "work")
    assert str(tmp_path / "data") not in found("data/table.db", "work")


@pytest.mark.parametrize("wanted", ["interpreter", "link", "environment", "script"])
def test_nothing_follows_from_what_the_program_may_write(tmp_path: Path, wanted: str) -> None:
    secret = write_program(tmp_path / "secrets" / "bin" / "key")
    open_ = tmp_path / "writable"
    program = open_ / "bin" / "server"
    program.parent.mkdir(parents=True)
    match wanted:
        case "interpreter":
            write_program(program, f"#!{secret}\n")
        case "link":
            program.symlink_to(secret)
        case "environment":
            write_program(program)
            (open_ / "pyvenv.cfg").write_text(f"home = {secret.parent}\n")
        case "script":
            (open_ / "main.py").symlink_to(secret)
    command = (sys.executable, open_ / "main.py") if wanted == "script" else (program,)

    assert any(str(secret.parent) in path for path in own(*command, folder=tmp_path))
    assert not any("secrets" in path for path in own(*command, folder=tmp_path, writable=(open_,)))
    assert not any("secrets" in path for path in own(*command, folder=tmp_path, writable=(open_, program)))


def test_what_must_be_executed_is_the_program_and_its_loader(tmp_path: Path) -> None:
    program = Path(sys.executable).resolve()

    found = executables_of(program)

    assert found is not None
    assert found[0] == str(program)
    assert all(Path(path).is_file() for path in found)
    assert executables_of(write_program(tmp_path / "script", "#!/bin/sh\n")) is None
    assert executables_of(tmp_path / "missing") is None


def test_on_macos_the_loader_is_the_systems(tmp_path: Path) -> None:
    program, starter = tmp_path / "rg", tmp_path / "git"
    program.write_bytes(b"\xcf\xfa\xed\xfe" + b"code" * 9)
    starter.write_bytes(b"\xca\xfe\xba\xbe code /usr/lib/libxcselect.dylib\0")

    assert executables_of(program) == (str(program),)
    assert executables_of(starter) is None
