"""`ot_sdk.log`: a logger of the standard library whose lines appear in the server's log."""

from __future__ import annotations

import logging

from ot_sdk import protocol
from ot_sdk.host import PROCESS


class _ServerHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        host = PROCESS.host
        if host is None:
            logging.lastResort.handle(record)  # type: ignore[union-attr]  # it is there unless somebody removed it
            return
        try:
            params = {"level": record.levelno, "message": self.format(record)}
            host.send(protocol.write_notification("log", params))
        except Exception:  # noqa: BLE001 - what logging does with a message that cannot be written
            self.handleError(record)


log = logging.getLogger("ot_sdk.extension")
log.propagate = False
log.setLevel(PROCESS.log_level)
log.addHandler(_ServerHandler())
