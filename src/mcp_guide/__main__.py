"""`python -m mcp_guide`."""

from __future__ import annotations

from mcp_guide.main import main

if __name__ == "__main__":
    raise SystemExit(main())
