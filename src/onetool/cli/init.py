"""`onetool init`: a configuration file to start from, every key in it as a comment."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from onetool.cli import OK
from onetool.cli.printing import say
from ot.config.paths import CONFIG_FILE, FOLDER
from ot.errors import ConfigError

TEMPLATE = """\
# OneTool's configuration for this project. Everything below is optional: take away the # of what you want to change.
# `onetool check` says what is wrong with it. Secrets belong into secrets.yaml beside this file (mode 0600).

# Other files with the same keys, relative to this one.
#include: [snippets.yaml]

# Names for directories, reached from code as proj.<name>.
#projects:
#  notes: ~/notes
#  site: {path: ~/site, attrs: {language: en}}

# Short names for tools.
#aliases:
#  up: demo.upper

# Named templates of code: `$shout text=hello` runs this one.
#snippets:
#  shout:
#    description: Say it louder
#    params: {text: {description: What to say}, times: {default: 1}}
#    body: |
#      [demo.upper(text={{ text }})] * {{ times }}

# Other MCP servers, each offered as a pack of its name. ${NAME} is taken from secrets.yaml, then from the environment.
# `onetool import` takes over those that other clients know.
#servers:
#  github: {command: npx, args: [-y, "@modelcontextprotocol/server-github"]}
#  docs: {url: "https://example.com/mcp", timeout: 30}

# Limits of a run: seconds, memory, how strictly it is confined (strict, standard or off), how many kernels are kept
# ready, and which folders its code may read and write besides its own scratch folder.
#execution: {timeout: 120, memory: 1g, sandbox: standard, warm: 4, readable: [], writable: []}

# Processes of extensions, in seconds.
#workers: {idle_timeout: 600, call_timeout: 60, start_timeout: 300}

# How much of an answer is shown (characters), and how long the rest is kept (seconds).
#results: {inline_limit: 20000, keep_for: 3600, max_size: 500m}

# Counting of calls.
#stats: {enabled: true}

# Tools that are never called, and tools for which you are asked first.
#policy: {deny: ["shell.*"], ask: ["file.delete"]}

# Refuse a server's tools when their definitions change.
#security: {pin_tools: false}

# Where ot.notify writes.
#topics: [{pattern: "notes*", file: notes.yaml}]

# Advice to the model that is shown with a pack.
#prompts: {packs: {demo: "Only for trying things out."}}

# Settings of single packs; `timeout` works for every one.
#packs: {demo: {timeout: 20}}

# trace, debug, info, warning or error; to stderr where no file is named.
#log: {level: info, file: null}

# Who answers in `onetool chat`, who stands in for them, and with which tools: run, or patterns of them.
#ai:
#  provider: anthropic
#  failover: ollama
#  tools: run
#  ollama: {model: llama3.2}

# How `onetool listen` hears and speaks: after which word, which names it knows, with which voice.
#voice:
#  wake_word: hey_jarvis
#  names: [Desk Lamp, Coffee Machine]
#  voice: en-us

# Where the documentation of packs is.
#docs_url: https://onetool.beycom.online/reference/tools/
"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.epilog = "Writes .onetool/onetool.yaml in this folder, or the file that --config names; never over another."


def main(options: Namespace) -> int:
    file = options.config or Path(FOLDER) / CONFIG_FILE
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8") as stream:
            stream.write(TEMPLATE)
    except FileExistsError:
        say(f"{file} is there already and stays as it is")
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", file=file) from error
    else:
        say(f"wrote {file}")
    return OK
