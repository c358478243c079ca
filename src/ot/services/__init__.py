"""Shared by packs that call web services: rate limits, waiting times, certificates."""
