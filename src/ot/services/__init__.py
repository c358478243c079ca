"""What packs that call web services share: rate limits, waiting times, certificates."""
