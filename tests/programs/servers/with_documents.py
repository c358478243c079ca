"""A server with one document and one prompt, named as those of the reference server `everything`."""

from plain_server import Server


class WithDocuments(Server):
    capabilities = {"tools": {}, "resources": {}, "prompts": {}}
    uri = "demo://resource/static/document/features.md"

    def answer(self, request):
        method, params = request["method"], request.get("params") or {}
        if method == "resources/list":
            return {"resources": [{"uri": self.uri, "name": "features"}]}
        if method == "resources/templates/list":
            return {"resourceTemplates": []}
        if method == "resources/read":
            return {"contents": [{"uri": self.uri, "mimeType": "text/markdown", "text": "# Features"}]}
        if method == "prompts/list":
            return {"prompts": [{"name": "args-prompt", "arguments": [{"name": "city", "required": True}]}]}
        if method == "prompts/get":
            content = {"type": "text", "text": f"What is the weather in {params['arguments']['city']}?"}
            return {"messages": [{"role": "user", "content": content}]}
        return super().answer(request)


if __name__ == "__main__":
    WithDocuments().serve()
