"""The network, as packs reach it: guarded addresses, bounded answers."""
