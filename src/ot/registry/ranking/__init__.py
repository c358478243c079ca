"""The full-text index behind `ot.help`: tools ranked for a request in plain words, without a dependency or a model.

    index = ToolIndex.of_tools([{"name": "read_file", "pack": "fs", "description": "Read a file.", "inputSchema": {}}])
    [hit.key for hit in index.rank("open a document", limit=5)]

BM25 over fields: a word in the name counts four times as much as one in the description, one in a parameter half as
much. A word that names a pack counts for all its tools, weighted by how many *packs* have it. A request is split into
needs, and a tool is scored by the need that it meets best; quoted text, addresses and file names count a fifth.
Synonyms (`vocabulary.txt`) are general words at half weight; product names do not belong there. What people call the
tools of a pack, and their descriptions do not say, is in `keywords.txt` beside its file. A word that no tool uses is
compared with those in use. Where nothing fits well, the five nearest are shown, and the answer says so.

`make bench` scores the requests of `bench/requests`, and the sets in the folder `TOOL_SEARCH_SETS`;
docs/decisions/0006 has the figures.
"""
