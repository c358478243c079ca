"""Spoken questions, answered by an AI client whose calls go through the one ToolExecutor."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from ot.ai.messages import ToolEnded
from ot.config.assistant import VoiceSettings
from ot_voice.audio import write_wav
from ot_voice.events import AnswerEnded, Answering, Heard, Interrupted, Spoken
from ot_voice.listening import open_listening
from ot_voice.players import FolderPlayer
from ot_voice.sources import WavSource
from tests.models.clients import assert_sound, open_client
from tests.models.servers import ScriptedServer, scripted_server
from tests.opened_executor import add_tool, open_executor
from tests.voice.listening_room import Seen
from tests.voice.spoken_audio import in_a_room, speak

pytestmark = pytest.mark.xdist_group("voice")

# The small engine; the larger ones are tested in test_recognisers, and with answers in tests/e2e/test_spoken_command.py.
SETTINGS = VoiceSettings(engine="grammar", names=("Kitchen Light", "Front Door"), names_from=("house.devices",))
BEFORE: dict[str, Any] = {"hasToolResult": False}
AFTER: dict[str, Any] = {"hasToolResult": True}


@pytest.fixture(scope="module")
def running_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptedServer]:
    with scripted_server(tmp_path_factory.mktemp("fixtures")) as server:
        yield server


@pytest.fixture
def server(running_server: ScriptedServer) -> ScriptedServer:
    running_server.reset()
    return running_server


async def at_once(text: str) -> None:
    """No server is waited for."""


class EndlessPlayer:
    """A loudspeaker that is never done, until it is stopped."""

    def __init__(self) -> None:
        self.playing = anyio.Event()
        self.stopped = False

    async def play(self, wav: bytes) -> None:
        self.playing.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.stopped = True


def record(folder: Path, *sentences: str, between: float = 1.2) -> Path:
    file = folder / "spoken.wav"
    file.write_bytes(write_wav(in_a_room(*(speak(sentence) for sentence in sentences), between=between)))
    return file


@pytest.mark.scenario("executor/ai-client-integration/backgroundtranscriber-tool-execution")
@pytest.mark.parametrize("provider", ["anthropic", "ollama"])
async def test_calls_for_a_spoken_question_are_carried_out_by_the_executor(
    provider: str, server: ScriptedServer, tmp_path: Path
) -> None:
    call = {"name": "house_switch", "arguments": {"device": "Attic Fan", "on": True}}
    server.answer(BEFORE, {"content": "One moment.", "toolCalls": [call]})
    server.answer(AFTER, {"content": "The attic fan is **on**."})
    switched: list[dict[str, Any]] = []
    seen = Seen()

    async def switch(arguments: dict[str, Any]) -> str:
        switched.append(arguments)
        return "on, with key-0123456789"

    async def devices(arguments: dict[str, Any]) -> list[dict[str, str]]:
        return [{"name": "Attic Fan", "location": "Attic"}]

    async with open_executor(secrets={"KEY": "key-0123456789"}) as opened:
        add_tool(opened, "house.switch", switch)
        add_tool(opened, "house.devices", devices)
        async with (
            open_client(provider, opened.executor, server.url, tools=["house.switch"]) as client,
            open_listening(
                WavSource(record(tmp_path, "turn on the attic fan")),
                client,
                opened.executor,
                settings=SETTINGS,
                player=FolderPlayer(tmp_path / "spoken"),
                watch=seen,
                catch_up=at_once,
            ) as listening,
        ):
            with anyio.fail_after(60):
                await listening.finished()
            assert_sound(client)

    assert [event.text for event in seen.only(Heard)] == ["turn on the Attic Fan"]
    assert switched == [{"device": "Attic Fan", "on": True}]
    [ended] = [event.event for event in seen.only(Answering) if isinstance(event.event, ToolEnded)]
    assert (ended.name, ended.text) == ("house.switch", "on, with ***")  # redacted: it came through the executor
    assert [event.sentence for event in seen.only(Spoken)] == ["One moment.", "The attic fan is on."]
    assert seen.only(AnswerEnded)
    assert len(list((tmp_path / "spoken").glob("*.wav"))) == 2


async def test_speech_during_an_answer_stops_the_loudspeaker_the_reply_and_its_tool(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.answer(BEFORE, {"content": "I will look. ", "toolCalls": [{"name": "house_search", "arguments": {}}]})
    seen, player = Seen(), EndlessPlayer()
    searching, stopped = anyio.Event(), anyio.Event()

    async def search(arguments: dict[str, Any]) -> str:
        searching.set()
        try:
            await anyio.sleep_forever()
        finally:
            stopped.set()
        return "never"

    class TwoSentences:
        """The second is said when the answer to the first can be heard."""

        live = True

        async def pieces(self) -> AsyncGenerator[bytes, None]:
            yield in_a_room(speak("lock the front door"))
            await player.playing.wait()
            await searching.wait()
            yield in_a_room(speak("turn on the kitchen light"), after=0.1)
            await anyio.sleep_forever()

    async with open_executor() as opened:
        add_tool(opened, "house.search", search)
        async with (
            open_client("ollama", opened.executor, server.url, tools=["house.search"]) as client,
            open_listening(
                TwoSentences(),
                client,
                opened.executor,
                settings=SETTINGS,
                player=player,
                watch=seen,
                catch_up=at_once,
            ),
        ):
            await seen.wait_for(Interrupted)

            assert player.stopped
            assert stopped.is_set()
            assert_sound(client)

    assert not seen.only(AnswerEnded)
