"""The real server as a subprocess, and the official client connected to it over stdio."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from mcp import Client, StdioServerParameters
from mcp.client.extension import ClientExtension
from mcp.client.session import ElicitationFnT, MessageHandlerFnT

from ot.kernel.zygote_process import COMPILED
from tests.demo_pack import with_demo
from tests.measured import MEASURED
from tests.preloaded import preloaded_command
from tests.read_packs import give_definitions


def connect_server(
    folder: Path,
    *,
    config: str = "",
    mode: str = "auto",
    path: str = "",
    person: ElicitationFnT | None = None,
    hear: MessageHandlerFnT | None = None,
    extensions: Sequence[ClientExtension] = (),
) -> Client:
    """A client of a server whose home and project are one folder; use it with `async with`.

    `mode` is the client's way to agree on a protocol: "legacy" for the handshake. `path` is where the server finds
    programs, `person` answers its questions, and `hear` is given its notifications.
    """
    file = folder / "onetool.yaml"
    file.write_text(with_demo(config))
    give_definitions(folder)
    command, *arguments = preloaded_command("onetool", "serve", "--config", str(file))
    return Client(
        StdioServerParameters(
            command=command,
            args=arguments,
            env={"HOME": str(folder), "PATH": path, COMPILED: os.environ[COMPILED], **MEASURED},
            cwd=folder,
        ),
        mode=mode,
        elicitation_callback=person,
        message_handler=hear,
        extensions=extensions,
    )
