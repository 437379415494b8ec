"""A stand-in for a language model, for checks with real agents: `python tools/stand_in_model.py FOLDER`.

It implements four vendors' APIs (Anthropic Messages, OpenAI Responses and Chat Completions, Gemini), but always answers the
same: first a command for the agent's shell, then what it learned from it. Each request is written to a file in FOLDER, so
that a check can see what an agent sent to its model. Prints its address on a line.
"""

from __future__ import annotations

import http.server
import json
import os
import sys
from typing import Any

COMMAND = "echo 'ld: error: undefined symbol: tls_get_addr' >&2; exit 1"
SAID = "Root cause: the upload client retries without the multipart header, so the proxy drops the body."
SHELLS = ("Bash", "bash", "exec_command", "shell_command", "shell", "run_shell_command")
USAGE = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20}


class Request:
    """A request: its path and body, and whether the answer is a call of the agent's shell or the final message."""

    def __init__(self, path: str, body: dict[str, Any]) -> None:
        self.path, self.body = path, body
        declared = [
            one for tool in body.get("tools") or () for one in tool.get("functionDeclarations", [tool])
        ]
        self.tools = {one.get("name") or one.get("function", {}).get("name", ""): one for one in declared}
        self.shell = next((name for name in SHELLS if name in self.tools), "")
        results = ('"tool_result"', '"function_call_output"', '"role": "tool"', '"functionResponse"')
        self.calls = bool(self.shell) and not any(mark in json.dumps(body) for mark in results)

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments for the agent's shell."""
        if self.shell == "shell":
            return {"command": ["bash", "-c", COMMAND]}
        if self.shell == "exec_command":
            return {"cmd": COMMAND}
        return {"command": COMMAND, "description": "build"}


def anthropic(request: Request) -> list[dict[str, Any]]:
    """Return the events of a message."""
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": request.body.get("model", "m"), "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 1},
    }  # fmt: skip
    block: dict[str, Any] = {"type": "text", "text": ""}
    delta: dict[str, Any] = {"type": "text_delta", "text": SAID}
    if request.calls:
        block = {"type": "tool_use", "id": "toolu_1", "name": request.shell, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(request.arguments)}
    if not request.body.get("stream"):
        content = [{**block, "input": request.arguments} if request.calls else {"type": "text", "text": SAID}]
        return [{**message, "content": content, "stop_reason": "tool_use" if request.calls else "end_turn"}]
    end = {"stop_reason": "tool_use" if request.calls else "end_turn", "stop_sequence": None}
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]


def responses(request: Request) -> list[dict[str, Any]]:
    """Return the events of a response."""
    item: dict[str, Any] = {"type": "message", "role": "assistant", "id": "m1", "status": "completed"}
    item["content"] = [{"type": "output_text", "text": SAID, "annotations": []}]
    if request.calls:
        arguments = json.dumps(request.arguments)
        item = {
            "type": "function_call",
            "id": "f1",
            "call_id": "c1",
            "name": request.shell,
            "arguments": arguments,
        }
    response = {"id": "resp_1", "object": "response", "status": "completed", "output": [item], "usage": USAGE}
    return [
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    ]


def chat(request: Request) -> list[dict[str, Any]]:
    """Return the chunks of a completion."""
    message: dict[str, Any] = {"role": "assistant", "content": SAID}
    if request.calls:
        function = {"name": request.shell, "arguments": json.dumps(request.arguments)}
        call = {"index": 0, "id": "c1", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    end = "tool_calls" if request.calls else "stop"
    usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    base = {"id": "chat1", "created": 1, "model": request.body.get("model", "m"), "usage": usage}
    if not request.body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": end}
        return [{**base, "object": "chat.completion", "choices": [choice]}]
    return [
        {
            **base,
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
        }
        for delta, reason in ((message, None), ({}, end))
    ]


def gemini(request: Request) -> list[dict[str, Any]]:
    """Return the chunk of an answer."""
    part: dict[str, Any] = {"text": SAID}
    if request.calls:
        part = {"functionCall": {"name": request.shell, "args": request.arguments}}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}
    return [{"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m"}]


FORMS = {"/messages": anthropic, "/responses": responses, "/chat/completions": chat, "enerateContent": gemini}


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers requests."""

    folder = ""
    count = 0
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Write the request to a file and answer it."""
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.partition("?")[0]
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = {}
        Handler.count += 1
        name = os.path.join(self.folder, f"{Handler.count:03}.json")
        with open(name, "w", encoding="utf-8") as file:
            json.dump({"path": self.path, "body": body}, file, ensure_ascii=False, indent=1)
        form = next((form for end, form in FORMS.items() if path.endswith(end)), None)
        if form is None or not isinstance(body, dict):
            return self._send(b'{"input_tokens": 10, "totalTokens": 10}', "application/json")
        events = form(Request(path, body))
        if not (body.get("stream") or "alt=sse" in self.path):
            return self._send(json.dumps(events[0]).encode(), "application/json")
        lines = [f"event: {one['type']}\n" if "type" in one else "" for one in events]
        text = "".join(f"{line}data: {json.dumps(one)}\n\n" for line, one in zip(lines, events, strict=True))
        return self._send((text + ("data: [DONE]\n\n" if form is chat else "")).encode(), "text/event-stream")

    def do_GET(self) -> None:
        """Answer requests for lists of models and the like."""
        self._send(
            b'{"object": "list", "data": [{"id": "m", "object": "model"}], "models": []}', "application/json"
        )

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing, as the requests are in files."""


def main(folder: str) -> None:
    """Serve until the process is stopped."""
    Handler.folder = folder
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1])
