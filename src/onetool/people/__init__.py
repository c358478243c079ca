"""The door of a server that many people share: who somebody is, by a token of the team's issuer or an API key."""
