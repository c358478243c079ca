"""Several identical servers of a team: who is there, what they say to each other, and how one of them leaves."""
