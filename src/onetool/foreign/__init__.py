"""Other MCP clients: their configuration files, read for servers and edited to know OneTool."""
