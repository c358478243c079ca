"""A part is not taken for the whole: an answer says which tools gave only a part that the code did not look at."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from ot.app import App
from tests.engine import answer_of, open_engine, write_skill
from tests.unit.journal.resumed import fail_in

pytestmark = pytest.mark.anyio

SHELF = '''
"""Books."""
from ot.effects import best_first, reads
pack = "shelf"

def _part(limit, offset, total=30):
    end = total if limit is None else min(offset + limit, total)
    return {"shelf": "A", "books": list(range(offset, end)), "total": total, "more": end < total}

@reads
async def read(*, limit: int | None = 10, offset: int = 0) -> dict:
    """Read."""
    return _part(limit, offset)

@reads
async def bounded(*, limit: int | None = 10) -> dict:
    """Give four at most."""
    return _part(4, 0)

@reads
async def uncounted(*, limit: int | None = 10) -> dict:
    """Read without a total."""
    found = _part(limit, 0)
    return {"books": found["books"], "more": found["more"]}

@reads
async def page(*, limit: int = 500) -> dict:
    """Read text."""
    return {"text": "x" * limit, "total": 1234, "more": True}

@reads
async def pages(*, count: int = 3) -> list:
    """Read several texts."""
    return [{"text": "x" * 300, "total": 700, "more": True} for _ in range(count)]

@reads
@best_first
async def search(*, limit: int = 10) -> dict:
    """Search."""
    return _part(limit, 0)

async def tidy() -> dict:
    """Change something."""
    return _part(10, 0)

@reads
async def stuck(*, offset: int = 0) -> dict:
    """Say that there is more, and give nothing."""
    return {"books": [], "more": True}

@reads
async def echo(*, value: object) -> object:
    """Give it back."""
    return value
'''

SKILL = '''
def shelves():
    """Count the first books."""
    len(shelf.read()["books"])
'''

TOLD = "[shelf.read gave books 1 to 10 of 30, and the code did not look at `more`."


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[App]:
    folder = tmp_path_factory.mktemp("shelf") / "project"
    async with open_engine(folder, packs={"shelf": SHELF}) as opened:
        write_skill(folder, "shelves", SKILL)
        await answer_of(opened, "ot.reload()")
        yield opened


@pytest.mark.parametrize(
    "code",
    [
        "sum(shelf.read()['books'])",
        "found = shelf.read()\nlen(found['books']) if type(found) is dict else 0",
        "[*shelf.read().values()][1][0]",
        "dict(shelf.read())['books'][0]",
        "(shelf.read() | {'a': 1})['books'][0]",
        "match shelf.read():\n    case {'books': [first, *_]}:\n        print(first)",
        "shelf.echo(value=shelf.read()['books'])[0]",
        "import copy\ncopy.copy(shelf.read())['books'][0]",
        "ot.parallel(lambda: shelf.read()['books'][0])[0]",
        "skills.shelves()",
        "ot.keep(name='found', value=shelf.read()['books'])\n1",
        "import json\nfound = shelf.read()\nlen(json.dumps(found))",
    ],
)
async def test_code_that_drops_the_rest_is_told(app: App, code: str) -> None:
    answer = await answer_of(app, code)

    assert answer.count("[shelf.read gave") == 1, answer
    assert TOLD in answer
    assert "ot.pages(shelf.read, ...) iterates over all parts; limit=None gives all of it at once.]" in answer


@pytest.mark.parametrize(
    "code",
    [
        "found = shelf.read()\n(sum(found['books']), found['more'])",
        "found = shelf.read()\nfound['books'][:found['total']]",
        "found = shelf.read()\nif 'more' in found: print(found['books'])",
        "shelf.read()",
        "[shelf.read(), 1]",
        "print(shelf.read())",
        "f'{shelf.read()}'",
        "import json\njson.dumps(shelf.read())",
        "{name: value for name, value in shelf.read().items()}",
        "shelf.read(limit=10)['books']",
        "shelf.read()['books'] + shelf.read(offset=10)['books']",
        "shelf.read(limit=None)['books']",
        "shelf.read()['shelf']",
        "shelf.search()['books']",
        "shelf.tidy()\n1",
        "sum(sum(part['books']) for part in ot.pages(shelf.read))",
        "next(ot.pages(shelf.read))['books']",
    ],
)
async def test_code_that_knows_of_the_rest_is_told_nothing(app: App, code: str) -> None:
    assert "gave" not in await answer_of(app, code)


@pytest.mark.parametrize(
    ("code", "note"),
    [
        ("len(shelf.uncounted()['books'])", "[shelf.uncounted gave the first 10 books, and"),
        ("len(shelf.page()['text'])", "[shelf.page gave characters 1 to 500 of 1,234, and"),
        ("len(shelf.bounded(limit=None)['books'])", "[shelf.bounded gave books 1 to 4 of 30, and"),
        ("len(shelf.bounded(limit=9)['books'])", "[shelf.bounded gave books 1 to 4 of 30, and"),
        ("shelf.tidy()['books']", "[shelf.tidy gave books 1 to 10 of 30, and"),
        (
            "[len(each['text']) for each in shelf.pages()]",
            "characters 1 to 300 of 700 (the first of 3 such values), and",
        ),
        ("shelf.read()['books']; shelf.read()['books'][0]", "books 1 to 10 of 30 (the first of 2 such values), and"),
    ],
)
async def test_the_figures_are_those_of_the_part(app: App, code: str, note: str) -> None:
    assert note in await answer_of(app, code)


async def test_several_tools_are_told_apart(app: App) -> None:
    answer = await answer_of(app, "[shelf.read()['books'][0], shelf.uncounted()]")

    assert "[shelf.read gave" in answer
    assert "[shelf.uncounted gave" not in answer


@pytest.mark.parametrize("length", [30_000, 300_000], ids=["kept by the server", "kept by the kernel"])
async def test_an_answer_too_long_to_show_it_says_so(app: App, length: int) -> None:
    assert TOLD in await answer_of(app, f"['x' * {length}, shelf.read()]")


async def test_a_kept_part_is_still_a_part(app: App) -> None:
    await answer_of(app, "ot.keep(name='part', value=shelf.read())")

    assert "[ot.kept gave books 1 to 10 of 30, and" in await answer_of(app, "ot.kept(name='part')['books'][0]")


async def test_values_are_what_they_would_be(app: App) -> None:
    code = """
    import json, copy
    found = shelf.read()
    plain = {"shelf": "A", "books": [*range(10)], "total": 30, "more": True}
    assert type(found) is dict and found == plain and plain == found and [*found] == [*plain]
    assert json.dumps(found) == json.dumps(plain) and repr(found) == repr(plain) and str(found) == str(plain)
    assert json.dumps(found, sort_keys=True, indent=1) == json.dumps(plain, sort_keys=True, indent=1)
    assert dict(**found) == plain and copy.deepcopy(found) == plain and {**found, "a": 1} == {**plain, "a": 1}
    assert shelf.echo(value=found) == plain and shelf.echo(value=[*found]) == [*plain]
    assert shelf.echo(**{"value": found}) == plain and sorted(found) == sorted(plain) and set(found) == set(plain)
    assert all(isinstance(name, str) for name in found) and hash("more") in map(hash, found)
    found["more"] = False
    found
    """
    assert await answer_of(app, code) == "{shelf: A, books: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], total: 30, more: false}"


async def test_calls_that_are_answered_from_the_journal_are_told_too(app: App) -> None:
    run = await fail_in(app, "found = shelf.read()\nshelf.tidy()\n1 / 0")

    answer = await answer_of(app, f'ot.resume(run="{run}")\nfound = shelf.read()\nshelf.tidy()\nlen(found["books"])')

    assert TOLD in answer


async def test_pages_gives_every_part(app: App) -> None:
    code = "[book for part in ot.pages(shelf.read, limit=7) for book in part['books']] == [*range(30)]"

    assert await answer_of(app, code) == "True"


async def test_pages_begins_where_it_is_told_and_reads_no_further_than_code_wants(app: App) -> None:
    code = "parts = ot.pages(shelf.read, offset=5)\n[next(parts)['books'][0], next(parts)['books'][0]]"

    assert await answer_of(app, code) == "[5, 15]"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("ot.pages(shelf.uncounted)", "shelf.uncounted has no parameter offset"),
        ("ot.pages(lambda: 1)", "ot.pages takes a tool and its arguments: ot.pages(excel.read, path=...)"),
        ("ot.pages(shelf.read())", "ot.pages takes a tool and its arguments: ot.pages(excel.read, path=...)"),
        ("[*ot.pages(shelf.stuck)]", "shelf.stuck gave nothing at offset 0, though it says that there is more"),
    ],
)
async def test_pages_refuses_what_has_no_parts(app: App, code: str, reason: str) -> None:
    answer = await app.runner.run(code)

    assert answer.is_error
    assert reason in answer.text
