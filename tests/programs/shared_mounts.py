"""`shared_mounts.py FOLDER LEDGER COMMAND...`: start a confined program among mounts, and mount more while it runs.

To be run in a mount namespace of its own, in which mounts are shared, as they are on most systems. The program answers
with a line when it has begun, and with another one when it is told that there are more mounts.
"""

import json
import os
import subprocess
import sys
from pathlib import Path


def mount(name, *options):
    Path(name).mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", name, *options], check=True)
    if not options:
        Path(name, "file").touch()


folder, ledger, *command = sys.argv[1:]
mount(folder)
os.chdir(folder)
for name in ("writable/a mount", "writable/closed/mount", "elsewhere"):
    mount(name)
mount("writable/read_only", "-o", "ro")
Path("writable/folder").mkdir()
before = Path("/proc/self/mountinfo").read_text()
program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, pass_fds=[int(ledger)])
first = json.loads(program.stdout.readline())
unseen = Path("/proc/self/mountinfo").read_text() == before
Path("elsewhere/new").touch()
mount("later")
program.stdin.write("\n")
program.stdin.flush()
print(json.dumps({**first, **json.loads(program.stdout.readline()), "its mounts are unseen": unseen}))
program.stdin.close()
program.wait()
