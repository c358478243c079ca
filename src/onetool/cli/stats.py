"""`onetool stats`: how often tools were called, how that went and what it saved, in the terminal or as a page."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from onetool.cli import OK
from onetool.cli.definitions import read_registry
from onetool.cli.printing import add_json_argument, say, say_json
from onetool.cli.start import load
from onetool.front.definition import own_definition
from ot.files.allowed_files import AllowedFiles
from ot.parts.stores import open_own_store
from ot.stats.figures import Summary
from ot.stats.recorder import build_recorder
from ot.stats.scope import PERIODS
from ot.stats.statistics import build_statistics, describe
from ot.stats.wording import compact, duration, percent, precise, size

_HEADINGS = ("tool", "calls", "failed", "mean", "95 %", "slowest", "sent", "received")


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--period", choices=list(PERIODS), default="all", help="the period to show (default: all)")
    parser.add_argument("--tool", default="", metavar="NAME", help="show only this tool or pack")
    parser.add_argument("--html", metavar="FILE", help="write an HTML report to this .html file")
    add_json_argument(parser)


def main(options: Namespace) -> int:
    loaded = load(options, tolerant=True)
    anywhere = AllowedFiles([Path("/")], project=Path.cwd(), home=loaded.home)  # a person types the path
    with open_own_store(loaded) as store:
        recorder = build_recorder(loaded, store)  # this command records nothing
        own = partial(own_definition, look=loaded.config.offer.look)
        statistics = build_statistics(loaded, recorder, read_registry(loaded), own)
        summary = statistics.summarize(options.period, options.tool)
    written = options.html and statistics.write_report(summary, options.html, files=anywhere)
    if options.json:
        say_json(describe(summary) | ({"html_report": str(written)} if written else {}))
        return OK
    for line in _word_summary(summary):
        say(line)
    if written:
        say(f"\nReport: {written}")
    return OK


def _word_summary(summary: Summary) -> Iterator[str]:
    runs = f"in {precise(summary.runs)} runs, {precise(summary.failed_runs)} of which failed"
    yield f"calls          {precise(summary.total_calls):>9}  {runs}"
    yield f"success        {percent(summary.success_rate):>9}"
    more = f"tokens, estimated; {precise(summary.dearer_runs)} runs cost more than direct calls"
    yield f"context saved  {compact(summary.savings.saved):>9}  {more}"
    if summary.time.known:
        turns = f"{precise(summary.time.turns_avoided)} turns of {duration(summary.time.turn_ms)} avoided"
        yield f"time saved     {duration(summary.time.saved_ms):>9}  estimated; {turns}"
    else:
        yield f"time saved     {'–':>9}  a model's turn is not measured yet"
    if summary.tools:
        rows = [_HEADINGS]
        for tool in summary.tools:
            times = (duration(tool.mean_ms), duration(tool.p95_ms), duration(tool.slowest_ms))
            sizes = (size(tool.sent_bytes), size(tool.received_bytes))
            rows.append((tool.tool, precise(tool.calls), precise(tool.errors), *times, *sizes))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        yield ""
        for name, *figures in rows:
            cells = [f"{figure:>{width}}" for figure, width in zip(figures, widths[1:], strict=True)]
            yield "  ".join([f"{name:<{widths[0]}}", *cells])
        yield ""
    for client in summary.clients:
        yield f"client {client.client or 'command line'}: {precise(client.runs)} runs"
    for model in summary.models:
        tokens = f"{precise(model.input_tokens)} tokens in, {precise(model.output_tokens)} out"
        cost = "" if model.cost is None else f", ${model.cost:.4f}"
        yield f"model {model.model} ({model.provider}): {precise(model.requests)} requests, {tokens}{cost}"
