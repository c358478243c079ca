"""The tools of the Z-Wave server, one file a subject; what goes wrong is worded in `zwave_mcp.reporting`."""
