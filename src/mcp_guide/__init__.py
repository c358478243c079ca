"""An MCP server that gives agents a project's own guidance: Markdown documents in categories."""
