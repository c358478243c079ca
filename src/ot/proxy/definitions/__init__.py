"""What servers offer, as it was seen last and as a person accepted it."""
