"""Crawls and extractions that Firecrawl does while a call waits."""
