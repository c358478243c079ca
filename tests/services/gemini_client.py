"""Google's own client: python gemini_client.py ADDRESS KEY."""

from __future__ import annotations

import json
import sys

from google import genai
from google.genai import errors, types

address, key = sys.argv[1:]
client = genai.Client(api_key=key, http_options=types.HttpOptions(base_url=address))
config = types.GenerateContentConfig(tools=[types.Tool(google_search=types.GoogleSearch())])
answer = client.models.generate_content(model="gemini-flash-latest", contents="Which releases?", config=config)
found = answer.candidates[0].grounding_metadata
try:
    wrong = genai.Client(api_key="AIza-wrong", http_options=types.HttpOptions(base_url=address))
    wrong.models.generate_content(model="gemini-flash-latest", contents="x")
    mistake = ""
except errors.ClientError as error:
    mistake = f"{error.code} {error.status}"
seen = {
    "text": answer.text,
    "sources": [chunk.web.uri for chunk in found.grounding_chunks],
    "passages": [[support.segment.text, support.grounding_chunk_indices] for support in found.grounding_supports],
    "queries": found.web_search_queries,
    "tokens": answer.usage_metadata.total_token_count,
    "model": answer.model_version,
    "mistake": mistake,
}
print(json.dumps(seen))
