"""The assistant as the main thread sees it, by way of `onetool.console.engine_events`; and the commands of the chat."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from onetool.chat.kept_conversations import KeptConversation
from onetool.console.caller import make_caller
from onetool.console.clean_text import count_of, one_line
from onetool.console.engine_events import EngineEvents, ExitRequested, Question
from ot.ai import Event, ToolLoop, Totals
from ot.app import open_app, open_assistant
from ot.clients.caller import Caller
from ot.config.assistant import AiSettings
from ot.config.loader import LoadedConfig
from ot.kernel.zygote_process import ZygoteProcess

CLIENT = "onetool chat"

T = TypeVar("T")


class Conversation:
    def __init__(self, portal: BlockingPortal, client: ToolLoop, events: EngineEvents[Event]) -> None:
        self._portal = portal
        self._client = client
        self._events = events

    def reply(self, text: str) -> Generator[Event | Question | None]:
        """Yield events while the model answers, as `EngineEvents.follow` does; raises ModelError."""

        async def answer(tell: Callable[[Event], None]) -> None:
            async with aclosing(self._client.reply(text)) as events:
                async for event in events:
                    tell(event)

        return self._events.follow(self._portal, answer)

    def see(self, look: Callable[[ToolLoop], T]) -> T:
        return self._portal.call(look, self._client)


@contextmanager
def open_conversation(
    loaded: LoadedConfig, settings: AiSettings, *, launched: ZygoteProcess, may_ask: bool, kept: KeptConversation
) -> Iterator[Conversation]:
    """Start the engine and the model's client, which continues the `kept` conversation; questions are events."""
    events: EngineEvents[Event] = EngineEvents()
    caller = make_caller(CLIENT, ask=events.ask if may_ask else None, memory=kept.memory)
    with (
        start_blocking_portal("asyncio") as portal,
        portal.wrap_async_context_manager(_open(loaded, settings, launched, caller)) as client,
    ):
        portal.call(client.go_on, kept.earlier, kept)
        yield Conversation(portal, client, events)


@asynccontextmanager
async def _open(
    loaded: LoadedConfig, settings: AiSettings, launched: ZygoteProcess, caller: Caller
) -> AsyncIterator[ToolLoop]:
    async with (
        open_app(loaded, launched=launched, offer_run=True) as app,
        open_assistant(app, loaded, settings=settings, caller=caller) as client,
    ):
        yield client


HELP = """\
/help    show this
/tools   list the tools offered to the model
/clear   start a new conversation
/cost    show what this conversation has used
/exit    exit; Ctrl-D does the same
Ctrl-C stops an answer. A line that ends with \\ continues on the next one."""


def run_command(words: str, conversation: Conversation, say: Callable[[str], None]) -> None:
    name = words.split(maxsplit=1)[0].lower()
    match name:
        case "/help" | "/?":
            say(HELP)
        case "/tools":
            offers = conversation.see(lambda client: client.offered().offers)
            width = max((len(offer.name) for offer in offers), default=0)
            first = ((offer.name, offer.description.partition("\n")[0]) for offer in offers)
            lines = [f"{offered:<{width}}  {one_line(about, 90)}" for offered, about in first]
            say("\n".join(lines) or "No tool matches ai.tools: the model can only talk.")
        case "/clear":
            conversation.see(lambda client: client.memory.clear())
            say("Started a new conversation.")
        case "/cost":
            say(conversation.see(lambda client: word_totals(client.totals)))
        case "/exit" | "/quit":
            raise ExitRequested
        case _:
            say(f"There is no {one_line(name, 40)}. Commands: /help, /tools, /clear, /cost, /exit.")


def word_totals(totals: dict[tuple[str, str], Totals]) -> str:
    lines = []
    for (provider, model), total in totals.items():
        cost = f"${total.cost:.4f}" if total.cost is not None else "price unknown (ai.prices)"
        cached = f", {total.cache_read_tokens:,} from its cache" if total.cache_read_tokens else ""
        sent = total.input_tokens + total.cache_read_tokens + total.cache_write_tokens
        requests = count_of(total.requests, "request")
        lines.append(f"{provider} {model}: {requests}, {sent:,} tokens in{cached}, {total.output_tokens:,} out; {cost}")
    return "\n".join(lines) or "Nothing yet."
