"""The MCP tools of the server, one file each."""
