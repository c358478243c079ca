"""What travels to a node by content: the order for a worker, and the bundle of what the driver and nodes need of us."""

from __future__ import annotations

import hashlib
import io
import logging
import zipfile
from functools import cache
from pathlib import Path

import ot_confinement
import ot_guardian
import ot_kernel
import ot_ray
import ot_sdk
from mcp_core.atomic_write import write_file
from ot.logs import write_log
from ot.workers.environment import confinement_of
from ot.workers.extension import Extension, WorkerHost
from ot.workers.header_options import CONFINE, Placement, read_options, read_placement
from ot.workers.installing import Installer
from ot.workers.pep723 import read_header
from ot.workers.uv_program import PreparationError, Tell
from ot_ray.frames import Bounds, Order


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
    bounds = None
    if confine is not None:
        read, write = (tuple(map(str, places)) for places in (confine.read, confine.write))
        bounds = Bounds(read, write, confine.hosts, confine.memory)
    installer = Installer(file, header, host, tell)
    lock = await installer.locked()
    order = Order(
        name=file.name,
        source=file.read_bytes(),
        header=header.as_comments().encode(),
        lock=lock,
        checked=installer.lock.kind == "shipped",
        bounds=bounds,
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


_PACKAGES = (ot_ray, ot_sdk, ot_kernel, ot_guardian, ot_confinement)
_DATE = (1980, 1, 1, 0, 0, 0)  # the same content gives the same bytes


def write_bundle(state: Path) -> Path:
    """Return the file, written below `state` if it is not there; raises OSError."""
    content = _build()
    file = state / "ray" / f"{hashlib.sha256(content).hexdigest()[:16]}.zip"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_file(file, content, mode=0o600)
    return file


@cache
def _build() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as bundle:
        for package in _PACKAGES:
            folder = Path(str(package.__file__)).parent
            for file in sorted(folder.rglob("*.py")):
                name = file.relative_to(folder.parent).as_posix()
                bundle.writestr(zipfile.ZipInfo(name, _DATE), file.read_bytes(), zipfile.ZIP_DEFLATED)
    return packed.getvalue()
