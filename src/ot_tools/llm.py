"""Models that work on data: transform it, answer for each item of a list, extract values that match a schema."""

from __future__ import annotations

import json
from typing import Any, TypedDict

from ot.ai.messages import AssistantMessage, Text, UserMessage
from ot.context import current
from ot.effects import reads
from ot.errors import CallError, ToolError
from ot.execution.wording import word_error
from ot_packs.llm.asking import ask_all, open_asker, question
from ot_packs.llm.choosing import check_tokens
from ot_packs.llm.values import AnswerMistakeError, read_answer, read_schema, write_value

pack = "llm"
timeout = 300

_LONGEST_PROMPT = 50_000  # characters
_MOST_ITEMS = 1000
_MOST_PARALLEL = 32
_LONGEST_ITEMS = 4_000_000  # characters of all items together
_SHOWN = 300  # characters of an answer that does not fit


class Failure(TypedDict):
    index: int
    error: str


class MappedAnswers(TypedDict):
    """An answer for each item, in order; None for those in `failed`."""

    answers: list[str | None]
    failed: list[Failure]


@reads
async def transform(*, input: Any, prompt: str, model: str | None = None, max_tokens: int | None = None) -> str:
    """Have a model process a value: summarise, translate, classify, rewrite.

    Args:
        input: A text, or any other value, which is sent as JSON; up to 400,000 characters.
        prompt: What to do with it.
        model: A model of the configured provider, instead of the configured one.
        max_tokens: Maximum number of tokens that the model may write.

    Returns:
        The model's answer. A model wrote it from other people's data: check it before you act on it.

    Example:
        results = [{"title": "Tea", "text": "Grown on hills."}, {"title": "Coffee", "text": "Grown in shade."}]
        llm.transform(input=results, prompt="Extract key findings")
    """
    asked = question(_checked_prompt(prompt, max_tokens), write_value(input, "input"))
    async with open_asker(model=model, max_tokens=max_tokens) as asker:
        return await asker.ask(asked, progress=True)


@reads
async def map(
    *, items: list[Any], prompt: str, parallel: int = 8, model: str | None = None, max_tokens: int | None = None
) -> MappedAnswers:
    """Have a model process each item of a list, several at a time.

    Args:
        items: Up to 1,000 values, as for `transform`; 4,000,000 characters in total.
        prompt: What to do with each.
        parallel: Number of requests at a time, up to 32.
        model: A model of the configured provider, instead of the configured one.
        max_tokens: Maximum number of tokens that the model may write for an item.

    Returns:
        `answers` in the order of the items, and `failed` with the `index` and `error` of each item without an answer.

    Example:
        pages = ["Tea is grown on hills.", "Coffee is grown in shade."]
        llm.map(items=pages, prompt="Summarise in five words")["answers"]
    """
    instruction = _checked_prompt(prompt, max_tokens)
    if not 1 <= parallel <= _MOST_PARALLEL:
        raise ToolError(f"parallel must be between 1 and {_MOST_PARALLEL}, not {parallel}")
    if len(items) > _MOST_ITEMS:
        raise ToolError(f"there are {len(items):,} items; one call accepts up to {_MOST_ITEMS:,}")
    texts = [write_value(item, f"items[{number}]") for number, item in enumerate(items)]
    size = sum(len(text) for text in texts)
    if size > _LONGEST_ITEMS:
        raise ToolError(f"the items have {size:,} characters; one call accepts up to {_LONGEST_ITEMS:,}")
    if not texts:
        return {"answers": [], "failed": []}
    async with open_asker(model=model, max_tokens=max_tokens) as asker:
        found = await ask_all(asker, [question(instruction, text) for text in texts], parallel)
    errors = [one for one in found if isinstance(one, CallError)]
    if len(errors) == len(found):
        raise errors[0]
    failed: list[Failure] = []
    for number, one in enumerate(found):
        if isinstance(one, CallError):
            one.tool = one.tool or current().tool
            failed.append({"index": number, "error": word_error(one)})
    return {"answers": [one if isinstance(one, str) else None for one in found], "failed": failed}


@reads
async def extract(
    *,
    input: Any,
    schema: dict[str, Any] | list[Any] | str,
    prompt: str = "",
    model: str | None = None,
    max_tokens: int | None = None,
) -> Any:
    """Have a model extract values that match a schema from a text or another value.

    The answer is checked. If it does not match, the model is told what is wrong and asked once more.

    Args:
        input: A text, or any other value, which is sent as JSON; up to 400,000 characters.
        schema: A JSON Schema, or a short form: {"name": "str", "age": "int?", "tags": ["str"]}, where ? allows null.
        prompt: Further instructions for the model.
        model: A model of the configured provider, instead of the configured one.
        max_tokens: Maximum number of tokens that the model may write.

    Returns:
        A value that matches the schema.

    Example:
        text = "Ada Lovelace was born in 1815."
        llm.extract(input=text, schema={"name": "str", "born": "int"})
    """
    wanted = read_schema(schema)
    instruction = (
        "Extract from the data what this JSON Schema describes. Answer with one JSON value that fits it, and nothing "
        f"else.\n\n{json.dumps(wanted, ensure_ascii=False)}"
    )
    if prompt.strip():
        instruction += f"\n\n{_checked_prompt(prompt, max_tokens)}"
    asked = question(instruction, write_value(input, "input"))
    async with open_asker(model=model, max_tokens=max_tokens) as asker:
        answer = await asker.ask(asked, progress=True)
        try:
            return read_answer(answer, wanted)
        except AnswerMistakeError as mistake:
            correction = UserMessage(f"That does not fit: {mistake}. Answer with the corrected JSON and nothing else.")
        answer = await asker.ask(asked, AssistantMessage((Text(answer),)), correction, progress=True)
    try:
        return read_answer(answer, wanted)
    except AnswerMistakeError as mistake:
        raise ToolError(
            f"the model's answer does not match the schema, even after it was told what was wrong: {mistake}. It "
            f"answered {answer[:_SHOWN]!r}. Try a simpler schema, or another model"
        ) from mistake


def _checked_prompt(prompt: str, max_tokens: int | None) -> str:
    if not prompt.strip():
        raise ToolError("prompt is empty")
    if len(prompt) > _LONGEST_PROMPT:
        raise ToolError(f"prompt has {len(prompt):,} characters, more than {_LONGEST_PROMPT:,}: pass data as input")
    if max_tokens is not None:
        check_tokens(max_tokens, "max_tokens")
    return prompt
