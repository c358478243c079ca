"""Libraries as Context7 knows them, and their versions."""
