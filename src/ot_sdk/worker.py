"""The start of a worker: become two processes, take the streams, import the file, serve it."""

from __future__ import annotations

import os
import sys
from types import ModuleType

from ot_guardian import divide, inherit_ledger
from ot_sdk import protocol


def main(file: str, confine: str = "") -> None:
    """Serve an extension, below a guardian that this process becomes; `confine` are its bounds, as text."""
    ledger = inherit_ledger()
    guarded = divide(ledger, confine=confine)
    from ot_sdk.channel import take_channel  # noqa: PLC0415 - the guardian needs nothing of this
    from ot_sdk.server import Server  # noqa: PLC0415

    channel = take_channel()
    start = channel.receive()
    os.read(guarded, 1)  # nothing of the file runs before the guardian is in place
    os.close(guarded)
    if start is None:
        return
    server = Server(channel, ledger)
    server.take_start(start)
    try:
        module = import_file(file)
    except BaseException as error:  # noqa: BLE001 - importing runs the extension's code; the server is told what it does
        channel.send(_failure(start["id"], file, error))
        os._exit(1)
    server.serve(module, start)


def import_file(file: str) -> ModuleType:
    """Run the file as a module, without the part under `if __name__ == "__main__":`.

    It has the name under which multiprocessing knows a main module in the processes that it starts, so that an
    extension may use those. Its folder comes last on the path: files beside it can be imported, and hide nothing.
    """
    module = ModuleType("__mp_main__")
    module.__file__ = file
    sys.argv = [file]
    sys.path.append(os.path.dirname(file))
    sys.modules["__main__"] = sys.modules["__mp_main__"] = module
    with open(file, "rb") as source:
        code = compile(source.read(), file, "exec", dont_inherit=True)
    exec(code, module.__dict__)
    return module


def _failure(number: int, file: str, error: BaseException) -> bytes:
    import traceback  # noqa: PLC0415 - a file that can be imported has no need of it

    from ot_sdk.failures import message_of  # noqa: PLC0415

    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    line = error.lineno if isinstance(error, SyntaxError) and error.filename == file else (lines or [None])[-1]
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))[-8000:]
    kind = type(error).__name__
    reason = f"{kind}: {message_of(error)}"
    return protocol.write_error(number, protocol.NOT_LOADED, reason, kind=kind, line=line, traceback=text)
