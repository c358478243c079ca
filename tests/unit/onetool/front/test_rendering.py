"""The one tool: progress, and answers in the form of the protocol."""

from __future__ import annotations

import base64

import pytest
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from onetool.front.rendering import ProgressReport, render_answer
from ot.clients.caller import Milestone
from ot.run.answer import Answer
from ot_kernel.values import Audio, Image, Resource


@pytest.mark.anyio
async def test_progress_only_grows_and_keeps_the_numbers_of_the_call_in_its_message() -> None:
    sent: list[tuple[float, float | None, str | None]] = []
    now = 0.0

    async def send(progress: float, total: float | None, message: str | None) -> None:
        sent.append((progress, total, message))

    report = ProgressReport(send, interval=1.0, clock=lambda: now)
    await report(5, 10, "web.fetch")
    await report(6, 10, "web.fetch")
    now = 1.0
    await report(1, None, "")

    assert sent == [(1, None, "web.fetch (5/10)"), (2, None, "1")]


@pytest.mark.anyio
async def test_the_first_and_the_last_report_of_a_call_are_sent_and_none_twice() -> None:
    sent: list[str | None] = []

    async def send(progress: float, total: float | None, message: str | None) -> None:
        sent.append(message)

    report = ProgressReport(send, interval=1.0, clock=lambda: 0.0)
    await report(1, None, "web.fetch")
    for done, message in ((1, Milestone("a")), (2, "a"), (3, "a"), (3, Milestone("a")), (1, Milestone("b"))):
        await report(done, 3, message)
    await report(1, 3, Milestone("b"))

    assert sent == ["web.fetch (1)", "a (1/3)", "a (3/3)", "b (1/3)"]


def render_result(answer: Answer, revision: str = "") -> CallToolResult:
    return CallToolResult.model_validate(render_answer(answer, revision))


def test_a_failure_is_marked_as_one() -> None:
    result = render_result(Answer("It broke.", is_error=True))

    assert result.is_error
    assert result.content == [TextContent(text="It broke.")]


def test_an_empty_answer_is_still_text() -> None:
    assert render_result(Answer("")).content == [TextContent(text="")]


def test_attachments_follow_the_text_in_their_own_form() -> None:
    data = base64.b64encode(b"data").decode()
    attachments = (
        Image(b"data"),
        Audio(b"data", "audio/ogg"),
        Resource("mem://a", text="hello", mime_type="text/plain"),
        Resource("mem://b", data=b"data"),
        Resource("mem://c", name="C"),
    )

    assert render_result(Answer("See:", attachments=attachments)).content == [
        TextContent(text="See:"),
        ImageContent(data=data, mime_type="image/png"),
        AudioContent(data=data, mime_type="audio/ogg"),
        EmbeddedResource(resource=TextResourceContents(uri="mem://a", text="hello", mime_type="text/plain")),
        EmbeddedResource(resource=BlobResourceContents(uri="mem://b", blob=data)),
        ResourceLink(uri="mem://c", name="C"),
    ]


def test_a_picture_alone_needs_no_text() -> None:
    [content] = render_result(Answer("", attachments=(Image(b"data"),))).content

    assert isinstance(content, ImageContent)


@pytest.mark.parametrize(
    ("revision", "kinds"),
    [
        ("2024-11-05", ["text", "text", "image"]),
        ("2025-03-26", ["audio", "text", "image"]),
        ("2025-06-18", ["audio", "resource_link", "image"]),
    ],
)
def test_a_client_whose_protocol_cannot_show_something_is_told_that_it_was_there(
    revision: str, kinds: list[str]
) -> None:
    answer = Answer("", attachments=(Audio(b"data"), Resource("mem://c"), Image(b"data")))

    content = render_result(answer, revision).content

    assert [block.type for block in content] == kinds
    named = {"audio/wav", "mem://c"}
    assert all(any(name in block.text for name in named) for block in content if isinstance(block, TextContent))
