"""What the conformance suite starts for each scenario: it hands the scenario to the preloaded client, and waits."""

from __future__ import annotations

import json
import os
import socket
import sys

with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(sys.argv[1])
    asked = json.dumps({"url": sys.argv[2], "environ": dict(os.environ)}).encode()
    socket.send_fds(connection, [asked], [2])
    sys.exit(int(connection.recv(16) or b"1"))
