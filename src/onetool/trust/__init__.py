"""What a person is shown before they trust a project."""
