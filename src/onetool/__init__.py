"""OneTool: the MCP server of `run`, and the command line."""
