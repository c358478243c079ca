"""Documents as Markdown: one module a kind, and what they share."""
