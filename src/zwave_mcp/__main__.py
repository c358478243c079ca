"""`python -m zwave_mcp`."""

from __future__ import annotations

from zwave_mcp.main import main

if __name__ == "__main__":
    raise SystemExit(main())
