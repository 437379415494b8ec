"""Opening providers: the cost of a start, when an identity changes, and the errors of a broken folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.embed.provider import BUNDLED_FOLDER, open_embedder
from engram.domain.errors import EngramError

ROOT = Path(__file__).resolve().parents[2]


def run(code: str, **environment: str) -> str:
    """The output of `code` in a Python of its own."""
    place = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(
        [sys.executable, "-c", code], env=place, check=True, capture_output=True, text=True
    ).stdout


def test_the_provider_none_gives_no_embedder() -> None:
    assert open_embedder("none") is None


def test_the_bundled_model_says_what_it_is() -> None:
    embedder = open_embedder("bundled")
    assert embedder is not None
    assert (embedder.name, embedder.dimensions) == ("bundled", 256)


def test_the_bundled_model_carries_its_card_and_sources() -> None:
    assert "apache-2.0" in Path(BUNDLED_FOLDER, "README.md").read_text(encoding="utf-8")
    assert json.loads(Path(BUNDLED_FOLDER, "SOURCES.json").read_text(encoding="utf-8"))["sources"]


def test_opening_loads_no_numpy_and_plain_text_no_tokenizer_library() -> None:
    code = """
import sys
from engram.adapters.embed.provider import open_embedder
embedder = open_embedder("bundled")
assert embedder.identity and embedder.dimensions
print([name for name in ("numpy", "tokenizers", "mmap") if name in sys.modules])
embedder.embed_one("how to undo a git push")
heavy = ("tokenizers", "model2vec", "safetensors", "dataclasses", "pathlib", "logging", "asyncio", "tempfile")
print([name for name in heavy if name in sys.modules])
"""
    assert run(code).split("\n") == ["[]", "[]", ""]


@pytest.mark.parametrize(("before", "after"), [({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3")])
def test_numpy_is_told_to_use_one_thread_unless_someone_chose(before: dict[str, str], after: str) -> None:
    unset = (
        "import os, sys; os.environ.pop('OPENBLAS_NUM_THREADS', None);" if not before else "import os, sys;"
    )
    code = f"{unset} from engram.adapters.numeric import numpy_module; assert 'numpy' not in sys.modules;"
    assert (
        run(f"{code} numpy_module().ones(1); print(os.environ['OPENBLAS_NUM_THREADS'])", **before).strip()
        == after
    )


def test_a_broken_installation_says_to_install_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engram.adapters.embed.provider.BUNDLED_FOLDER", str(tmp_path))
    with pytest.raises(EmbeddingError) as caught:
        open_embedder("bundled")
    assert "Install Engram again" in caught.value.hint
    shutil.copy(Path(BUNDLED_FOLDER, "model.safetensors"), tmp_path)
    with pytest.raises(EmbeddingError, match="incomplete"):
        open_embedder("bundled")
    shutil.copy(Path(BUNDLED_FOLDER, "identity.txt"), tmp_path)
    embedder = open_embedder("bundled")
    assert embedder is not None
    with pytest.raises(EmbeddingError, match="incomplete"):
        embedder.embed_one("git")


@pytest.mark.parametrize(
    ("provider", "path"), [("path", None), ("path", ""), ("path", "gone"), ("hub", None), ("", "x")]
)
def test_an_invalid_provider_is_an_error_with_a_hint(
    provider: str, path: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EmbeddingError) as caught:
        open_embedder(provider, path)
    assert isinstance(caught.value, EngramError)
    assert caught.value.hint
