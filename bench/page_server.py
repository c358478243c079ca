"""A server of one page under any address: `/html/…` as HTML, others as text; prints its port."""

from __future__ import annotations

import asyncio

_PARAGRAPH = "The quick brown fox jumps over the lazy dog, and <code>returns</code> a value. " * 6
_SECTIONS = "".join(f"<h2>Part {n}</h2><p>{_PARAGRAPH}</p><pre><code>run({n})</code></pre>" for n in range(30))
_PAGE = f"<html><head><title>Page</title></head><body><main><h1>Page</h1>{_SECTIONS}</main></body></html>".encode()


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            path = (await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1]
            status = "404 Not Found" if b"robots" in path else "200 OK"
            kind = "html" if b"html" in path else "plain"
            head = f"HTTP/1.1 {status}\r\ncontent-type: text/{kind}; charset=utf-8\r\ncache-control: no-store\r\n"
            head += f"content-length: {len(_PAGE)}\r\n\r\n"
            writer.write(head.encode() + _PAGE)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def _main() -> None:
    server = await asyncio.start_server(_serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main())
