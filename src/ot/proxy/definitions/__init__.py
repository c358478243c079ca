"""The tools that servers offer, as last seen and as accepted by a person."""
