"""OneTool's view of itself: listings, help, health, reload."""
