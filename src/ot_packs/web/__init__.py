"""Behind the `web` pack: pages fetched, kept, and read."""
