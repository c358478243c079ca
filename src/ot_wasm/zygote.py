"""The zygote of this engine: it has the component loaded, and forks a kernel whenever the server asks."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from ot_kernel import zygote
from ot_system.sockets import MessageSocket
from ot_wasm.component import BrokenWasmtimeError, NoComponentError, find_or_compile

if TYPE_CHECKING:
    from ot_kernel.message_types import ZygoteReport, ZygoteSettings

ROOM = 256 * 1024**2  # bytes for the process around an instance, whose own memory is limited to that of the settings


def main(control_fd: int, settings: ZygoteSettings) -> None:
    """Run as the whole program of the zygote's process; it ends where there is no component, and says why."""
    sys.path[:] = [*sys.path, *settings["path"]]
    with MessageSocket(fileno=os.dup(control_fd)) as control:
        try:
            _refuse_files(settings["opened"])
            file = find_or_compile(settings["compiled"], partial(_tell, control, {"compiling": True}))
        except NoComponentError as error:
            _refuse(control, error)
    memory = settings["memory"] + ROOM
    zygote.main(control_fd, {**settings, "path": [], "memory": memory}, partial(_load, file, settings))


def _refuse_files(opened: Mapping[str, bool]) -> None:
    """Raise NoComponentError if a single file is to be opened: a component can be given only whole folders."""
    for path, writing in opened.items():
        if Path(path).exists() and not Path(path).is_dir():
            key = f"execution.{'writable' if writing else 'readable'}"
            raise NoComponentError(f"{key} names the file {path}, and it can open only folders; name a folder instead")


def _tell(control: MessageSocket, message: ZygoteReport) -> None:
    control.send_message(json.dumps(message).encode())


def _refuse(control: MessageSocket, error: NoComponentError) -> NoReturn:
    """Say why there will be no kernel, and end when the server lets go."""
    _tell(control, {"refused": str(error), "install": error.install})
    while control.receive_message(zygote.MAX_REQUEST)[0]:
        pass
    sys.exit()


def _load(file: str, settings: ZygoteSettings, control: MessageSocket) -> zygote.Lives:
    """Load the component; late, since its handlers of signals must be the last ones."""
    try:
        from ot_wasm.host import WasmKernels  # noqa: PLC0415 - wasmtime may be missing, as was said above
    except Exception as error:  # noqa: BLE001 - a broken package may raise anything
        _refuse(control, BrokenWasmtimeError(str(error)))

    folders = {folder: writing for folder, writing in settings["opened"].items() if Path(folder).is_dir()}
    kernels = WasmKernels(file, settings["memory"], folders, settings["path"])
    return zygote.Lives(kernels.run_kernel, kernels.probe_kernel)
