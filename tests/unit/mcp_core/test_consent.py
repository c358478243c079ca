"""Tools that need explicit consent: how they are declared, described and checked."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import Field

from mcp_core import ArgumentProblemsError, ExtMcpToolDecorator, Result, ToolArguments, requires_consent
from mcp_core.tool_arguments import find_form


class Page(ToolArguments):
    name: str
    password: str = "none"


class PageWithWord(Page):
    explicit_action: Literal["REMOVE_PAGE"] = Field(description="Say so")


class PageWithOtherWord(Page):
    explicit_action: Literal["KEEP_PAGE"]


class PageWithDefault(Page):
    explicit_action: Literal["REMOVE_PAGE"] = "REMOVE_PAGE"


async def remove_page(args: Page) -> Result[str]:
    """Remove a page."""
    return Result.ok(args.name)


async def remove_worded(args: PageWithWord) -> str:
    return args.explicit_action


async def remove_otherwise(args: PageWithOtherWord) -> str:
    return ""


async def remove_by_default(args: PageWithDefault) -> str:
    return ""


@pytest.fixture(autouse=True)
def empty_collection() -> None:
    ToolArguments.get_declared_tools()


def declare(function: Any, word: str = "REMOVE_PAGE", **options: Any) -> Any:
    function.__dict__.clear()  # what an earlier test declared
    return requires_consent(word, effect="removes a file", **options)(function)


async def test_the_function_stays_itself_and_is_collected() -> None:
    assert declare(remove_page) is remove_page
    assert ToolArguments.get_declared_tools() == {"remove_page": remove_page}
    assert (await remove_page(Page(name="a"))).value == "a"


def test_the_arguments_gain_a_required_word() -> None:
    model = find_form(declare(remove_page)).model

    assert issubclass(model, Page)
    assert "explicit_action" not in Page.model_fields
    assert model.to_schema_markdown().splitlines()[-1].startswith('- `explicit_action` ("REMOVE_PAGE", required): ')


def test_the_argument_may_have_another_name() -> None:
    model = find_form(declare(remove_page, argument="really")).model

    assert list(model.model_fields) == ["name", "password", "really"]


def test_a_model_may_have_the_argument_already() -> None:
    assert find_form(declare(remove_worded)).model is PageWithWord


@pytest.mark.parametrize("function", [remove_otherwise, remove_by_default], ids=["another-word", "a-default"])
def test_a_model_whose_own_argument_says_something_else_is_refused(function: Any) -> None:
    with pytest.raises(TypeError, match=r'explicit_action must be a required Literal\["REMOVE_PAGE"\]'):
        declare(function)


@pytest.mark.parametrize("word", ["", "yes", "Remove", "REMOVE PAGE", "REMOVE\n"])
def test_a_word_that_is_not_in_capitals_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match="in capitals"):
        requires_consent(word, effect="removes a file")


def test_the_description_has_docstring_warning_and_arguments() -> None:
    docstring, notice, arguments = ToolArguments.build_tool_description(declare(remove_page)).split("\n\n")

    assert docstring == "Remove a page."
    assert notice.startswith("REQUIRES EXPLICIT USER INSTRUCTION: this tool removes a file.")
    assert '`explicit_action` set to "REMOVE_PAGE"' in notice
    assert "frivolously" in notice
    assert "explicit_action" in arguments


def test_the_question_shows_what_will_be_done_without_secrets_and_without_end() -> None:
    terms = find_form(declare(remove_page)).terms
    assert terms is not None

    question = terms.question(
        terms.model.model_validate({"name": "x" * 5000, "password": "hunter2", "explicit_action": "REMOVE_PAGE"}),
        "remove_page",
    )

    assert question.startswith('Allow remove_page? It removes a file.\n  name = "xxx')
    assert "hunter2" not in question
    assert "explicit_action" not in question
    assert "(5,002 characters, sha256 " in question
    assert len(question) < 5000


async def test_without_a_way_to_ask_the_word_is_needed_and_enough() -> None:
    tools: dict[str, Any] = {}

    class Bag:
        def tool(self, *, name: str, description: str) -> Any:
            return lambda function: tools.setdefault(name, function)

    ExtMcpToolDecorator(Bag(), "").tool(description="")(declare(remove_page))

    assert '"success": true' in await tools["remove_page"](name="a", explicit_action="REMOVE_PAGE")
    with pytest.raises(ArgumentProblemsError, match="explicit_action: missing"):
        await tools["remove_page"](name="a")
    with pytest.raises(ArgumentProblemsError, match="explicit_action: input should be 'REMOVE_PAGE'"):
        await tools["remove_page"](name="a", explicit_action="yes")
