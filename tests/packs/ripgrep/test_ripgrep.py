"""The pack ripgrep: matching lines, how many there are, and where."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from ot.app import App
from tests.engine import open_engine
from tests.packs.answers import refusal_of, value_of

FILES = {
    "src/a.py": "import os\n\ndef first():\n    return os.sep  # TODO later\n",
    "src/b.py": "def second():\n    return first()\n",
    "notes/ideas.md": "todo: write\nTODO: test\n",
    ".hidden": "TODO hidden\n",
    "build/out.txt": "TODO built\n",
    ".ignore": "build\n",
    "-dash": "--pre=sh\n",
    "same.txt": "hit\nhit\n3\n4\n5\nhit\n7\n",
}


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    folder = tmp_path_factory.mktemp("engine") / "p"
    async with open_engine(folder) as app:
        for name, text in FILES.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
        yield app


@pytest.mark.parametrize(
    ("arguments", "places"),
    [
        ("query='TODO'", [("notes/ideas.md", 2), ("src/a.py", 4)]),
        ("query='(?i)todo'", [("notes/ideas.md", 1), ("notes/ideas.md", 2), ("src/a.py", 4)]),
        ("query='TODO', path='src'", [("src/a.py", 4)]),
        ("query='TODO', path='notes/ideas.md'", [("notes/ideas.md", 2)]),
        ("query='TODO', glob='*.md'", [("notes/ideas.md", 2)]),
        ("query='TODO', glob='!*.md'", [("src/a.py", 4)]),
        ("query='TODO', glob='notes/**'", [("notes/ideas.md", 2)]),
        ("query='TODO', type='py'", [("src/a.py", 4)]),
        ("query='TODO', type=['py', 'md']", [("notes/ideas.md", 2), ("src/a.py", 4)]),
        (
            "query='TODO', everything=True",
            [(".hidden", 1), ("build/out.txt", 1), ("notes/ideas.md", 2), ("src/a.py", 4)],
        ),
        (r"query=r'\bfirst\(\)'", [("src/a.py", 3), ("src/b.py", 2)]),
        ("query='first()', literal=True", [("src/a.py", 3), ("src/b.py", 2)]),
        ("query='first().', literal=True", []),
        ("query='--pre=sh'", [("-dash", 1)]),
        ("query='-e'", []),
    ],
)
async def test_search_finds_the_lines_that_match(app: App, arguments: str, places: list[tuple[str, int]]) -> None:
    found = await value_of(app, f"ripgrep.search({arguments})")

    assert [(match["path"], match["line"]) for match in found["matches"]] == places
    assert (found["total"], found["more"]) == (len(places), False)


async def test_a_match_has_its_line_its_column_and_what_stands_around_it(app: App) -> None:
    matches = (await value_of(app, "ripgrep.search(query='hit', path='same.txt', context=1)"))["matches"]

    assert matches == [
        {"path": "same.txt", "line": 1, "column": 1, "text": "hit", "before": [], "after": ["hit"]},
        {"path": "same.txt", "line": 2, "column": 1, "text": "hit", "before": ["hit"], "after": ["3"]},
        {"path": "same.txt", "line": 6, "column": 1, "text": "hit", "before": ["5"], "after": ["7"]},
    ]


async def test_at_its_limit_the_search_ends_and_says_so(app: App) -> None:
    found = await value_of(app, "ripgrep.search(query='.', limit=2)")
    exact = await value_of(app, "ripgrep.search(query='hit', limit=3)")

    assert (len(found["matches"]), found["total"], found["more"]) == (2, None, True)
    assert (len(exact["matches"]), exact["total"], exact["more"]) == (3, 3, False)


async def test_count_adds_up_all_files_and_names_those_with_most(app: App) -> None:
    counted = await value_of(app, "ripgrep.count(query='hit|TODO', limit=1)")
    nothing = await value_of(app, "ripgrep.count(query='nowhere')")

    assert counted == {"total": 5, "files": 3, "by_file": [{"path": "same.txt", "count": 3}], "more": True}
    assert nothing == {"total": 0, "files": 0, "by_file": [], "more": False}


async def test_files_lists_what_would_be_searched_or_what_matches(app: App) -> None:
    python = await value_of(app, "ripgrep.files(type='py')")
    first = await value_of(app, "ripgrep.files(path='src', limit=1)")
    matching = await value_of(app, "ripgrep.files(query='TODO')")

    assert python == {"paths": ["src/a.py", "src/b.py"], "total": 2, "more": False}
    assert first == {"paths": ["src/a.py"], "total": 2, "more": True}
    assert matching["paths"] == ["notes/ideas.md", "src/a.py"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("query='('", "unclosed group. literal=True"),
        ("query='(?=a)b'", "look-ahead"),
        (r"query=r'(a)\1'", "backreferences are not supported"),
        ("query='a{1000}{1000}{1000}'", "size limit"),
        ("query=''", "of 1 to 10,000 characters"),
        ("query='a' * 200_000", "of 1 to 10,000 characters"),
        ("query='a', glob=['b'] * 200_000", "at most 10,000 characters"),
        (r"query='a\nb'", "must be one line of"),
        (r"query=r'a\nb'", "within one line only"),
        ("query='a', type='nonsense'", "unrecognized file type: nonsense; use glob="),
        ("query='a', glob='['", "unclosed character class"),
        ("query='a', path='nowhere'", "No such file or directory"),
        ("query='a', limit=-1", "between 0 and 10,000"),
        ("query='a', context=1000", "between 0 and 100"),
    ],
)
async def test_what_cannot_be_searched_for_is_refused_in_a_sentence(app: App, arguments: str, reason: str) -> None:
    refusal = await refusal_of(app, f"ripgrep.search({arguments})")

    assert reason in refusal
