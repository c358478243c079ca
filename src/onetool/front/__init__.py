"""The front: commands of MCP clients reach the engine here."""
