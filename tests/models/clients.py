"""Clients of all providers for tests, on a real executor, and what a test wants to know of an answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from ot.ai.failover import Backoff
from ot.ai.messages import AssistantMessage, Event, Model, TextDelta, ToolMessage, UserMessage
from ot.ai.opening import build_model
from ot.ai.tool_loop import ToolLoop
from ot.config.assistant import AiSettings
from ot.execution.tool_executor import ToolExecutor

AT_ONCE = Backoff(retries=2, first=0.01, chance=lambda: 0.0)


def settings_for(url: str, **changes: Any) -> AiSettings:
    """Settings whose providers are all at one address."""
    return AiSettings.model_validate(
        {
            "tools": ["demo.*"],
            "anthropic": {"base_url": url},
            "ollama": {"host": url},
            "openai": {"base_url": f"{url}/v1"},
            "timeout": 20,
            **changes,
        }
    )


@asynccontextmanager
async def open_client(
    provider: str, executor: ToolExecutor, url: str, *, options: dict[str, Any] | None = None, **changes: Any
) -> AsyncIterator[ToolLoop]:
    """A client of one provider, with whatever settings a test changes."""
    settings = settings_for(url, **changes)
    given: dict[str, Any] = {"backoff": AT_ONCE, **(options or {})}
    model = build_model(settings, provider, api_key="key-for-tests")
    async with ToolLoop(executor, settings, model, **given) as client:
        yield client


def model_at(provider: str, url: str, **changes: Any) -> Model:
    """A model alone, as the one that stands in for another."""
    return build_model(settings_for(url, **changes), provider, api_key="key-for-tests")


async def collect(client: ToolLoop, text: str) -> list[Event]:
    """Everything that happens while it answers."""
    return [event async for event in client.reply(text)]


def words(events: list[Event]) -> str:
    """All text of an answer."""
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def only(kind: type[Any], events: list[Event]) -> list[Any]:
    """The events of one kind."""
    return [event for event in events if isinstance(event, kind)]


def assert_sound(client: ToolLoop) -> None:
    """What is remembered is a conversation that every provider accepts."""
    messages = client.memory.messages()
    for before, after in zip([None, *messages], [*messages, None], strict=True):
        if before is None:
            assert after is None or isinstance(after, UserMessage)
        if isinstance(before, AssistantMessage) and before.calls:
            assert isinstance(after, ToolMessage)
            assert [result.call.id for result in after.results] == [call.id for call in before.calls]
        if isinstance(after, ToolMessage):
            assert isinstance(before, AssistantMessage)
        assert type(before) is not type(after)
    assert not messages or isinstance(messages[-1], AssistantMessage)
