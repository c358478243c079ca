"""`onetool serve` without its front: the SDK answers every line."""

import os
import sys
from argparse import Namespace
from functools import partial

import anyio

from mcp_core.standard_streams import claim_standard_streams
from onetool.cli.served import Endpoint, load_served, open_engine
from onetool.front.late_app import open_late_app
from onetool.front.offer import open_offer
from onetool.front.server import OneToolServer
from onetool.telemetry_setup import build_telemetry
from ot.clients.front import KnownClients
from ot.kernel.zygote_process import end_zygote, launch_zygote


async def serve(loaded, launched, source, sink):
    clients, telemetry = KnownClients(), build_telemetry(loaded, os.environ, counted=False)
    open_app = partial(open_engine, loaded, launched, clients, telemetry, Endpoint("stdio"), None)
    async with (
        open_late_app(open_app, loaded.mistakes, clients, look=loaded.config.offer.look) as app,
        open_offer(app) as offer,
    ):
        await OneToolServer(app, offer, telemetry).serve_stdio(source=source, sink=sink)


def main():
    source, sink = claim_standard_streams()
    loaded = load_served(Namespace(config=None, log_level=None, log_file=None, folder=None))
    launched = launch_zygote(loaded.config.execution)
    try:
        anyio.run(serve, loaded, launched, source, sink)
    finally:
        end_zygote(launched)
    return 0


if __name__ == "__main__":
    sys.exit(main())
