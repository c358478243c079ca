"""The built-in packs, one file each; the engine finds them on disk and imports one when it is first called."""
