"""Raw requests to a real server, and its answers."""

from __future__ import annotations

import socket

from http_kit import KEY, get

from engram.http.routes import ROOT

LONG_ENOUGH = 20.0  # seconds after which a test fails that waits for the server
HEAD = "{method} {path} HTTP/1.1\r\nHost: localhost\r\n"


def request(path: str, *lines: str, method: str = "GET") -> bytes:
    """A request without a body, with these further header lines."""
    return (
        HEAD.format(method=method, path=path) + "".join(f"{line}\r\n" for line in lines) + "\r\n"
    ).encode()


def connected(port: int) -> socket.socket:
    """A connection of one's own to the server."""
    return socket.create_connection(("127.0.0.1", port), LONG_ENOUGH)


def read_to_the_end(connection: socket.socket) -> bytes:
    """What comes until the server closes the connection, which it has to."""
    got = bytearray()
    with connection:
        while data := connection.recv(65536):
            got += data
    return bytes(got)


def statuses(answers: bytes) -> list[int]:
    """The status of each answer, in order."""
    return [int(part[:3]) for part in answers.split(b"HTTP/1.1 ")[1:]]


def seen(port: int, path: str = f"{ROOT}/lore", **headers: str) -> int:
    """The status that a client with the token gets."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return get(f"http://127.0.0.1:{port}{path}", headers={**KEY, **named}).status_code
