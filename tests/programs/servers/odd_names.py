"""A server whose tools have names that code cannot write."""

from plain_server import Server, tool


class OddNames(Server):
    def tools(self):
        return [tool("echo"), tool("odd-one"), tool("delete-all")]


if __name__ == "__main__":
    OddNames().serve()
