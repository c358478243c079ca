"""The person's notes, in a database that all of their projects share."""
