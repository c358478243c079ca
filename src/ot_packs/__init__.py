"""The code behind built-in packs that need more than one file: a package or a module for each."""
