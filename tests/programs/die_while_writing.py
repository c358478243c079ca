"""Is killed by the operating system in the middle of writing a file: at half of its bytes."""

import os
import resource
import signal
import sys

from mcp_core.atomic_write import write_in_folder

folder, name, size, replace = os.open(sys.argv[1], os.O_RDONLY), sys.argv[2], int(sys.argv[3]), sys.argv[4] == "replace"
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, size // 2))
write_in_folder(folder, name, b"b" * size, replace=replace)
