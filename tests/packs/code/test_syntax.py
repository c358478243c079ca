"""code.symbols, find and references: what is found, and what is said where nothing can be."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import yaml
from ast_grep_py import SgRoot

from ot.app import App
from ot_packs.code.languages import LANGUAGES
from tests.engine import open_engine

pytestmark = pytest.mark.anyio

PYTHON = '''\
"""parse_header is mentioned here."""
class Reader:
    def parse_header(self, line):  # parse_header
        return line.split(":", 1)

def main():
    reader = Reader()
    print("parse_header", reader.parse_header("é😀: b"))
    print()
'''
FILES = {
    "src/app.py": PYTHON,
    "src/app.ts": "export class Reader { parse_header(line: string) { return line.split(':') } }\nprint(1)\n",
    "src/lib.rs": "struct S;\nimpl S { fn parse_header(&self) {} }\n",
    ".gitignore": "build/\n",
    "build/app.py": PYTHON,
    "script": "print(1)\n",
}


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    project = tmp_path_factory.mktemp("syntax")
    async with open_engine(project) as app:
        for name, text in FILES.items():
            (project / name).parent.mkdir(exist_ok=True)
            (project / name).write_text(text)
        yield app


async def value_of(app: App, command: str) -> Any:
    answer = await app.runner.run(command)
    assert not answer.is_error, answer.text
    return yaml.safe_load(answer.text)


async def test_symbols_of_a_file_come_with_their_kind_lines_and_surroundings(app: App) -> None:
    found = await value_of(app, "code.symbols(path='src/app.py')")

    assert [(s["name"], s["kind"], s["line"], s["end_line"], s["inside"]) for s in found["symbols"]] == [
        ("Reader", "class", 2, 4, ""),
        ("parse_header", "method", 3, 4, "Reader"),
        ("main", "function", 6, 9, ""),
    ]
    assert (found["total"], found["more"], found["unread"]) == (3, False, [])


async def test_symbols_of_a_folder_are_those_of_all_its_files_that_are_not_ignored(app: App) -> None:
    found = await value_of(app, "code.symbols(path='.', limit=4)")

    assert {s["path"] for s in found["symbols"]} == {"src/app.py", "src/app.ts"}
    assert (len(found["symbols"]), found["total"], found["more"]) == (4, 8, True)


async def test_a_pattern_is_found_with_what_its_names_stand_for(app: App) -> None:
    found = await value_of(app, "code.find(pattern='print($FIRST, $$$REST)', language='py')")

    assert found["matches"] == [
        {
            "path": "src/app.py",
            "line": 8,
            "column": 5,
            "end_line": 8,
            "text": 'print("parse_header", reader.parse_header("é😀: b"))',
            "captures": {"FIRST": '"parse_header"', "REST": 'reader.parse_header("é😀: b")'},
        }
    ]


async def test_only_files_of_the_language_are_searched_unless_one_is_named(app: App) -> None:
    every = await value_of(app, "code.find(pattern='print($$$A)', language='python')")
    typescript = await value_of(app, "code.find(pattern='print($$$A)', language='ts')")
    named = await value_of(app, "code.find(pattern='print($$$A)', language='python', path='script')")
    limited = await value_of(app, "code.find(pattern='print($$$A)', language='python', limit=1)")

    assert [match["path"] for match in every["matches"]] == ["src/app.py"] * 2
    assert [match["path"] for match in typescript["matches"]] == ["src/app.ts"]
    assert [match["path"] for match in named["matches"]] == ["script"]
    assert (len(limited["matches"]), limited["total"], limited["more"]) == (1, 2, True)


async def test_references_are_in_code_of_any_language_and_not_in_texts_or_comments(app: App) -> None:
    found = await value_of(app, "code.references(name='parse_header')")

    assert [(r["path"], r["line"], r["declares"]) for r in found["references"]] == [
        ("src/app.py", 3, True),
        ("src/app.py", 8, False),
        ("src/app.ts", 1, True),
        ("src/lib.rs", 2, True),
    ]
    assert found["references"][1]["text"] == 'print("parse_header", reader.parse_header("é😀: b"))'


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("code.find(pattern='a', language='pythn')", "nearest: python"),
        ("code.find(pattern='a', language='cobol')", "Supported languages: bash, c, cpp"),
        ("code.find(pattern='', language='python')", "not one piece of python code: No AST root"),
        (
            "code.find(pattern='$A $B', language='python')",
            "Multiple AST nodes are detected. Please check the pattern source `$A $B`",
        ),
        ("code.find(pattern='a', language='python', limit=0)", "limit must be between"),
        ("code.find(pattern='a', language='python', path='/etc')", "outside the folders"),
        ("code.find(pattern='a', language='python', path='missing')", "Cannot use 'missing'"),
        ("code.symbols(path='script')", "use code.find instead"),
        ("code.references(name='two words')", "one identifier"),
        ("code.references(name='')", "one identifier"),
    ],
)
async def test_a_question_that_makes_no_sense_is_answered_in_words(app: App, call: str, said: str) -> None:
    answer = await app.runner.run(call)

    assert answer.is_error
    assert said in answer.text
    assert "Traceback" not in answer.text
    assert "panic" not in answer.text.lower()


async def test_a_pattern_that_is_half_a_piece_of_code_is_doubted_below_the_answer(app: App) -> None:
    answer = await app.runner.run("code.find(pattern='print(', language='python')")

    assert not answer.is_error
    assert "'print(' is not complete python code by itself" in answer.text


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=LANGUAGES)
def test_the_library_knows_every_language_and_what_declares_something_in_it(language: Any) -> None:
    root = SgRoot("", language.name).root()

    for kind in language.symbols:
        assert root.find(kind=kind) is None  # an unknown kind is an error
