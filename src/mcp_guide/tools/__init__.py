"""The tools of the guide, one file a subject; what they tell is worded in `mcp_guide.reporting`."""
