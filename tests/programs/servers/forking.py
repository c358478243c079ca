"""Starts the other programs here, each as a process of its own, after one import of the SDK for all of them.

Reads lines of JSON: `{"start": [PROGRAM, ARGUMENT, ...], "environ": {}}` or `{"end": PID}`; answers each with the pid.
"""

import json
import os
import runpy
import signal
import sys
import traceback

import mcp.server.mcpserver  # noqa: F401 - what costs the time
import starlette.applications  # noqa: F401
import uvicorn  # noqa: F401

RUNNING = set()


def start(arguments, environ):
    pid = os.fork()
    if pid:
        RUNNING.add(pid)
        return pid
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    os.environ.update(environ)
    sys.argv = arguments
    try:
        runpy.run_path(arguments[0], run_name="__main__")
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(1)


def end(pid):
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    RUNNING.discard(pid)
    return pid


for line in sys.stdin:
    asked = json.loads(line)
    print(end(asked["end"]) if "end" in asked else start(asked["start"], asked["environ"]), flush=True)
for left in list(RUNNING):
    end(left)
