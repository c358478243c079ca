"""Ends while it is imported."""

import os
import sys

print("leaving", file=sys.stderr, flush=True)
os._exit(7)
