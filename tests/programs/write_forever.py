"""Replaces one file again and again, all of it with one letter, and says so each time."""

import os
import sys

from mcp_core.atomic_write import write_in_folder

folder, name, size = os.open(sys.argv[1], os.O_RDONLY), sys.argv[2], int(sys.argv[3])
while True:
    for letter in b"ab":
        print("writing", flush=True)
        write_in_folder(folder, name, bytes([letter]) * size, replace=True)
