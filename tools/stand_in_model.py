"""A stand-in for a language model, for checks with real agents: `python tools/stand_in_model.py FOLDER`.

It speaks to an agent as four vendors' services do (Anthropic Messages, OpenAI Responses and Chat Completions, Gemini),
but says the same to everybody: first a command for the agent's shell, then what it learned from it. Each request goes
to FOLDER as a file, so that a check can look at what an agent put before its model. Prints its address on a line.
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


class Asked:
    """One request: its path, its body, and what to say to it: a call of the agent's shell, or the last word."""

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
        """What the agent's shell takes."""
        if self.shell == "shell":
            return {"command": ["bash", "-c", COMMAND]}
        if self.shell == "exec_command":
            return {"cmd": COMMAND}
        return {"command": COMMAND, "description": "build"}


def anthropic(asked: Asked) -> list[dict[str, Any]]:
    """The events of a message."""
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": asked.body.get("model", "m"), "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 1},
    }  # fmt: skip
    block: dict[str, Any] = {"type": "text", "text": ""}
    delta: dict[str, Any] = {"type": "text_delta", "text": SAID}
    if asked.calls:
        block = {"type": "tool_use", "id": "toolu_1", "name": asked.shell, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(asked.arguments)}
    if not asked.body.get("stream"):
        content = [{**block, "input": asked.arguments} if asked.calls else {"type": "text", "text": SAID}]
        return [{**message, "content": content, "stop_reason": "tool_use" if asked.calls else "end_turn"}]
    end = {"stop_reason": "tool_use" if asked.calls else "end_turn", "stop_sequence": None}
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]


def responses(asked: Asked) -> list[dict[str, Any]]:
    """The events of a response."""
    item: dict[str, Any] = {"type": "message", "role": "assistant", "id": "m1", "status": "completed"}
    item["content"] = [{"type": "output_text", "text": SAID, "annotations": []}]
    if asked.calls:
        arguments = json.dumps(asked.arguments)
        item = {
            "type": "function_call",
            "id": "f1",
            "call_id": "c1",
            "name": asked.shell,
            "arguments": arguments,
        }
    response = {"id": "resp_1", "object": "response", "status": "completed", "output": [item], "usage": USAGE}
    return [
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    ]


def chat(asked: Asked) -> list[dict[str, Any]]:
    """The chunks of a completion."""
    message: dict[str, Any] = {"role": "assistant", "content": SAID}
    if asked.calls:
        function = {"name": asked.shell, "arguments": json.dumps(asked.arguments)}
        call = {"index": 0, "id": "c1", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    end = "tool_calls" if asked.calls else "stop"
    usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    base = {"id": "chat1", "created": 1, "model": asked.body.get("model", "m"), "usage": usage}
    if not asked.body.get("stream"):
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


def gemini(asked: Asked) -> list[dict[str, Any]]:
    """The chunk of an answer."""
    part: dict[str, Any] = {"text": SAID}
    if asked.calls:
        part = {"functionCall": {"name": asked.shell, "args": asked.arguments}}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}
    return [{"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m"}]


FORMS = {"/messages": anthropic, "/responses": responses, "/chat/completions": chat, "enerateContent": gemini}


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers one request."""

    folder = ""
    count = 0
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """An agent asks."""
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
        events = form(Asked(path, body))
        if not (body.get("stream") or "alt=sse" in self.path):
            return self._send(json.dumps(events[0]).encode(), "application/json")
        lines = [f"event: {one['type']}\n" if "type" in one else "" for one in events]
        text = "".join(f"{line}data: {json.dumps(one)}\n\n" for line, one in zip(lines, events, strict=True))
        return self._send((text + ("data: [DONE]\n\n" if form is chat else "")).encode(), "text/event-stream")

    def do_GET(self) -> None:
        """Lists of models and the like."""
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
        """Nothing: the requests are in files."""


def main(folder: str) -> None:
    """Serve until the process is ended."""
    Handler.folder = folder
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1])
