"""Pages about code in a run are true: their examples run in their order, and answer what they show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.engine import open_engine

pytestmark = pytest.mark.anyio

NAMES = ("ot.md", "results.md", "snippets.md", "reference/errors.md", "reference/run-code.md")
DOCS = Path(__file__).parents[2] / "docs"
PAGES = {name: (DOCS / name).read_text(encoding="utf-8") for name in NAMES}
HANDLE = "k7w2m9x4qd"  # stands on the page for the one that a run got
RUN = "r7k2m9xqd"  # and this for the name of a run that can be resumed


def blocks_of(page: str) -> list[tuple[str, str]]:
    return re.findall(r"^```(\w+)\n(.*?)^```$", PAGES[page], re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
async def test_every_example_answers_what_the_page_shows(page: str, tmp_path: Path) -> None:
    blocks = blocks_of(page)
    config = "\n".join(text for language, text in blocks if language == "yaml")
    answer, handle, run = "", HANDLE, RUN
    async with open_engine(tmp_path, config=config, demo=False) as app:
        for language, text in blocks:
            if language == "python":
                outcome = await app.runner.run(text.replace(HANDLE, handle).replace(RUN, run))
                found = re.match(r"\{handle: (\w+)", outcome.text)
                handle = found[1] if found else handle
                failed = re.search(r"ot\.resume\(run=.(\w+)", outcome.text)
                run = failed[1] if failed else run
                assert outcome.is_error == bool(failed), outcome.text
                answer = outcome.text.replace(handle, HANDLE).replace(run, RUN).replace(str(tmp_path), "/home/me")
            elif language == "text":
                assert re.fullmatch(_pattern(text), answer.strip()), f"{answer}\n--- but the page shows\n{text}"


@pytest.mark.parametrize("page", PAGES)
def test_no_kind_of_block_is_left_out(page: str) -> None:
    assert {language for language, _ in blocks_of(page)} - {"yaml"} == {"python", "text"}
    assert PAGES[page].count("```") == 2 * len(blocks_of(page))


def _pattern(text: str) -> re.Pattern[str]:
    """The text as it stands; `…` is whatever differs from one time to another."""
    return re.compile(".*".join(map(re.escape, text.strip().split("…"))), re.DOTALL)
