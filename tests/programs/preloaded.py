"""Puts a preloaded program in its own place: `SOCKET PROGRAM ARGUMENT...`, with its streams, signals and status."""

import json
import os
import signal
import socket
import sys

connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
connection.connect(sys.argv[1])
socket.send_fds(connection, [json.dumps((sys.argv[2:], os.getcwd(), dict(os.environ))).encode()], [0, 1, 2])
pid = int(connection.recv(16))
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda number, _: os.kill(pid, number))
nothing = os.open(os.devnull, os.O_RDWR)
for stream in (0, 1, 2):
    os.dup2(nothing, stream)  # whoever reads them sees their end when the program has ended
status = int(connection.recv(16))
if status < 0:
    signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
os._exit(status)
