"""Authentication on a team's server: by a token of the team's issuer, or an API key."""
