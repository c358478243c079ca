"""The tools of the Z-Wave server, one file per subject; errors are worded in `zwave_mcp.answers`."""
