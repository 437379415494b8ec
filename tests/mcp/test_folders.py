"""Finding the store: by the client's folders, or by name; only local file URIs are folders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from apikit import make_plain_store
from mcp_kit import ERAS, connect_inside, ok, roots_in

from engram.mcp import folders

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("era", ERAS)
async def test_the_store_is_found_from_the_folders_of_the_client(
    root: Path, tmp_path: Path, era: str
) -> None:
    (root / "src").mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    client_folders = roots_in(tmp_path / "gone", elsewhere, root / "src")
    async with connect_inside(None, era, list_roots_callback=client_folders) as client:
        assert "Newest" not in (await client.read_resource("lore://session")).contents[0].text
        assert (await ok(client, "recall_status"))["store"] == str(root)


async def test_a_named_store_takes_precedence_over_the_folders_of_the_client(
    root: Path, tmp_path: Path
) -> None:
    other = make_plain_store(tmp_path / "other")
    async with connect_inside(other, list_roots_callback=roots_in(root)) as client:
        assert (await ok(client, "recall_status"))["store"] == str(other)


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///tmp/a%20b", "/tmp/a b"),
        ("file://localhost/tmp", "/tmp"),
        ("file:///C:/work", "C:/work"),
        ("file://server/share", ""),
        ("https://example.invalid/x", ""),
        ("file:///a%00b", ""),
    ],
)
def test_only_a_local_file_uri_is_a_folder(uri: str, path: str) -> None:
    assert folders._path(uri) == path
