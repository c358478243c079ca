"""Results too long for an answer: kept on disk under a handle, read page by page, and given back to code."""
