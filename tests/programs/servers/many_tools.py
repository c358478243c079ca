"""500 tools, in pages; with an argument, pages that lead in a circle."""

import sys

from plain_server import Server, text, tool

PAGE = 120


class Many(Server):
    def answer(self, request):
        if request["method"] != "tools/list":
            return super().answer(request)
        start = int((request.get("params") or {}).get("cursor") or 0)
        page = [tool(f"tool_{number}", properties={"n": {"type": "integer"}}) for number in range(start, start + PAGE)]
        page = [each for each in page if int(each["name"].partition("_")[2]) < 500]
        following = start + PAGE if start + PAGE < 500 else None
        if "circle" in sys.argv:
            following = 0
        return {"tools": page, **({} if following is None else {"nextCursor": str(following)})}

    def call(self, name, arguments, request):
        return text(f"{name} {arguments.get('n')}")


Many().serve()
