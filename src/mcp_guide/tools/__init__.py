"""The tools of the guide, one file per subject; errors are worded in `mcp_guide.reporting`."""
