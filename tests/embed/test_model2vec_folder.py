"""A folder of model2vec: its layouts, what it has to hold, and that loading it asks nobody and says nothing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from model2vec.persistence.datamodels import FOLDER_LAYOUTS

from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.embed.model2vec_folder import LAYOUTS
from tests.embed.model_kit import opened, write_model

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("missing", ["", "model.safetensors", "tokenizer.json", "config.json"])
def test_a_folder_without_a_whole_model_is_an_error_that_names_the_files(
    tmp_path: Path, missing: str
) -> None:
    if missing:
        (write_model(tmp_path) / missing).unlink()
    with pytest.raises(
        EmbeddingError, match=r"is not a model2vec model: it needs model\.safetensors, tokenizer\.json"
    ):
        opened(tmp_path)


def test_layouts_of_a_folder_are_those_of_model2vec() -> None:
    theirs = [
        (str(one.config), str(one.embeddings.parent).replace(".", ""), one.is_sentence_transformers)
        for one in FOLDER_LAYOUTS
    ]
    assert theirs == [(config, inner, tensor == "embedding.weight") for config, inner, tensor in LAYOUTS]


def test_a_missing_folder_is_never_requested_from_a_hub(tmp_path: Path) -> None:
    embedder = opened(write_model(tmp_path / "model"))
    shutil.rmtree(tmp_path / "model")
    with pytest.raises(EmbeddingError, match="model2vec cannot load the model") as caught:
        embedder.embed_one("git")
    assert "Repo id" in str(caught.value)  # refused as a name before anything is sent


def test_loading_a_folder_says_nothing_on_standard_error(tmp_path: Path) -> None:
    folder = write_model(tmp_path)
    (folder / "config.json").write_text('{"max_length": 512, "normalize": false}', encoding="utf-8")
    code = f"""
from engram.adapters.embed.provider import open_embedder
open_embedder("path", {str(folder)!r}).embed_one("git")
"""
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT)
    assert (found.stdout, found.stderr) == ("", "")
