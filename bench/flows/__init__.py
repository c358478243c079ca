"""Consent, measured on AgentDojo's programs: attacks stopped, tasks done, and how often a person is asked."""
