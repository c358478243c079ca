"""An MCP server for a Z-Wave network: devices read, switched and locked through the controller that a person runs."""
