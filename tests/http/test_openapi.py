"""The OpenAPI document matches the answers and the schemas of the tools."""

from __future__ import annotations

from pathlib import Path

from apikit import COLOUR, QUEUE, TIDES
from http_kit import lore, open_client, post_document

from engram.http.openapi import build_document
from engram.http.routes import RESOURCES, ROOT

ID = "01KEZ6S41TSV4RRFFQ69G5FAVA"


async def test_answers_match_the_openapi_document(root: Path) -> None:
    from jsonschema import Draft202012Validator

    said = build_document()
    schemas = {"components": said["components"]}
    async with open_client(root) as client:
        for path in (f"{ROOT}/openapi.json", "/openapi.json"):
            assert (await client.get(path)).json() == said
        await post_document(client, "/lore", lore(QUEUE), 201)
        bodies = {
            ("POST", "/lore"): [lore(COLOUR), {"nothing": 1}], ("POST", "/query"): {"query": "queue consumers"},
            ("POST", "/lore/feedback"): {"helpful": ["L1"]}, ("PATCH", "/lore/{id}"): {"pinned": True},
            ("PUT", "/lore/{id}"): lore(TIDES),
        }  # fmt: skip
        order = sorted(RESOURCES, key=lambda one: (one.path != "/query", one.method == "DELETE"))
        for resource in order:
            if resource.path == "/sync" or resource.path.startswith("/tools/"):
                continue  # test_http_putting and test_http_tools have what they need
            path = f"{ROOT}{resource.path}".replace("{id}", ID if resource.method == "PUT" else "L1")
            answer = await client.request(
                resource.method, path, json=bodies.get((resource.method, resource.path)),
                params={"since": "2020-01-01T00:00:00Z"} if resource.path.endswith("delta") else None,
            )  # fmt: skip
            assert answer.status_code < 300, (path, answer.text)
            operation = said["paths"][ROOT + resource.path][resource.method.lower()]
            content = operation["responses"][str(answer.status_code)]["content"]
            media = answer.headers["content-type"].partition(";")[0]
            if media == "application/json":
                Draft202012Validator({**content[media]["schema"], **schemas}).validate(answer.json())
            else:
                assert media in content


def test_the_openapi_document_has_the_schemas_of_the_tools() -> None:
    from engram.mcp.tools.core import TOOLS

    said = build_document()
    body = said["paths"][f"{ROOT}/query"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body == TOOLS["recall_query"].parameters
    assert {f"{method.upper()} {path}" for path, methods in said["paths"].items() for method in methods} == {
        f"{one.method} {ROOT}{one.path}" for one in RESOURCES
    }
