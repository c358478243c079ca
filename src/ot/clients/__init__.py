"""Who calls: the person, the client, what it remembers and what it can be asked."""
