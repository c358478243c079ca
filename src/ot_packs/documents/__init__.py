"""Documents: told apart by content. Archives are unpacked once, bounded, before a library that trusts declared sizes
opens them."""
