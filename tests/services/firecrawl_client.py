"""Firecrawl's own client: python firecrawl_client.py ADDRESS KEY."""

from __future__ import annotations

import json
import sys

from firecrawl import Firecrawl

address, key = sys.argv[1:]
client = Firecrawl(api_key=key, api_url=address)
page = client.scrape("https://pages.example/guide", formats=["markdown", "links"])
crawl = client.crawl("https://pages.example", limit=5, poll_interval=1)
begun = client.start_crawl("https://pages.example", limit=5)
cancelled = client.cancel_crawl(begun.id)
extracted = client.extract(["https://pages.example/pear"], prompt="the price", poll_interval=1)
try:
    Firecrawl(api_key="fc-wrong", api_url=address).scrape("https://pages.example")
    mistake = ""
except Exception as error:  # noqa: BLE001 - whatever it is, its name is what the test looks at
    mistake = type(error).__name__
seen = {
    "title": page.metadata.title,
    "links": page.links,
    "mapped": [link.url for link in client.map("https://pages.example", limit=3).links],
    "crawled": [document.metadata.source_url for document in crawl.data],
    "status": crawl.status,
    "cancelled": cancelled,
    "price": extracted.data["price"],
    "mistake": mistake,
}
print(json.dumps(seen))
