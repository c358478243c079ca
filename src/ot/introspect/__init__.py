"""What OneTool can tell about itself."""
