"""`python -m mcp_guide`."""

from __future__ import annotations

import sys

from mcp_guide.main import main

if __name__ == "__main__":
    sys.exit(main())
