"""`call_packs.py PROJECT`: reads a list of calls, each a name and arguments, from stdin, and prints what came of each."""

import json
import sys
from pathlib import Path

import anyio

sys.path.insert(0, str(Path(__file__).parents[2]))

from ot.errors import CallError  # noqa: E402
from ot.execution.wording import word_error  # noqa: E402
from tests.opened_executor import open_executor  # noqa: E402


async def main():
    answers = []
    async with open_executor(project=Path(sys.argv[1])) as opened:
        for name, arguments in json.load(sys.stdin):
            try:
                answers.append(await opened.executor.call(name, arguments))
            except CallError as error:
                answers.append(word_error(error))
    print(json.dumps(answers))


anyio.run(main)
