"""The rooms of the pack `ripgrep`: the program in its bounds, and what it finds as values."""
