"""The order for a worker on a node: the extension's file as it is now, its lock, its bounds, what it needs there."""

from __future__ import annotations

import logging

from ot.config.confine import ConfineSettings
from ot.logs import write_log
from ot.workers.environment import confinement_of
from ot.workers.extension import Extension
from ot.workers.header_options import CONFINE, Placement, read_options, read_placement
from ot.workers.host import WorkerHost
from ot.workers.installing import Installer
from ot.workers.pep723 import read_header
from ot.workers.uv_program import PreparationError, Tell
from ot_ray.orders import Bounds, Order


async def make_order(extension: Extension, host: WorkerHost, tell: Tell) -> tuple[Placement, Order]:
    """Read an extension, and resolve its dependencies if there is no lock yet; raises PreparationError and OSError."""
    file = extension.source
    header, warning = read_header(file)
    if header is None:
        raise PreparationError(warning or "its header is gone, so where it should run is unknown")
    if warning is not None:
        write_log(logging.WARNING, "worker.header", file=file, problem=warning)
    confine = confinement_of(file, header, host)
    _check_paths(read_options(header).get(CONFINE))
    installer = Installer(file, header, host, tell)
    lock = await installer.locked()
    order = Order(
        name=file.name,
        source=file.read_bytes(),
        header=header.as_comments().encode(),
        lock=lock,
        checked=installer.lock.kind == "shipped",
        bounds=None if confine is None else _as_text(confine),
    )
    return read_placement(header), order


def needs_of(placement: Placement) -> dict[str, object]:
    """Return what an actor asks Ray for."""
    return {
        "num_cpus": placement.cpus,
        "num_gpus": placement.gpus,
        "memory": placement.memory,
        "resources": dict(placement.resources),
    }


def _check_paths(confine: object) -> None:
    """Accept whole paths only, since a node has neither this project nor the home of this person."""
    places = [*confine.get("read", ()), *confine.get("write", ())] if isinstance(confine, dict) else []
    for place in places:
        if not str(place).startswith("/"):
            raise PreparationError(
                f"confine in its header names {place!r}, which a node of the cluster does not have; "
                'with engine = "ray", write absolute paths as they are on the nodes'
            )


def _as_text(confine: ConfineSettings) -> Bounds:
    read, write = (tuple(map(str, places)) for places in (confine.read, confine.write))
    return Bounds(read, write, confine.hosts, confine.memory)
