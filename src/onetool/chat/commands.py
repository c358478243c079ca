"""The commands of the chat itself, which begin with a slash."""

from __future__ import annotations

from collections.abc import Callable

from onetool.chat.conversation import Conversation
from onetool.console.clean_text import count_of, one_line
from onetool.console.engine_events import ExitRequested
from ot.ai import ToolLoop, Totals

HELP = """\
/help    show this
/tools   list the tools offered to the model
/clear   start a new conversation
/cost    show what this conversation has used
/exit    exit; Ctrl-D does the same
Ctrl-C stops an answer. A line that ends with \\ continues on the next one."""


def run_command(words: str, conversation: Conversation, say: Callable[[str], None]) -> None:
    """Run a command, or explain an unknown one."""
    name = words.split(maxsplit=1)[0].lower()
    match name:
        case "/help" | "/?":
            say(HELP)
        case "/tools":
            say(conversation.see(_list_tools))
        case "/clear":
            conversation.see(lambda client: client.memory.clear())
            say("Started a new conversation.")
        case "/cost":
            say(conversation.see(lambda client: word_totals(client.totals)))
        case "/exit" | "/quit":
            raise ExitRequested
        case _:
            say(f"There is no {one_line(name, 40)}. Commands: /help, /tools, /clear, /cost, /exit.")


def _list_tools(client: ToolLoop) -> str:
    offers = client.offered().offers
    width = max((len(offer.name) for offer in offers), default=0)
    lines = [f"{offer.name:<{width}}  {one_line(offer.description.partition(chr(10))[0], 90)}" for offer in offers]
    return "\n".join(lines) if lines else "No tool matches ai.tools: the model can only talk."


def word_totals(totals: dict[tuple[str, str], Totals]) -> str:
    """Return one line for each model that was asked."""
    lines = []
    for (provider, model), total in totals.items():
        cost = f"${total.cost:.4f}" if total.cost is not None else "price unknown (ai.prices)"
        cached = f", {total.cache_read_tokens:,} from its cache" if total.cache_read_tokens else ""
        sent = total.input_tokens + total.cache_read_tokens + total.cache_write_tokens
        requests = count_of(total.requests, "request")
        lines.append(f"{provider} {model}: {requests}, {sent:,} tokens in{cached}, {total.output_tokens:,} out; {cost}")
    return "\n".join(lines) or "Nothing yet."
