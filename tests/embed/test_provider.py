"""Opening providers: the cost of a start, when an identity changes, and the errors of a broken folder."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model2vec.persistence.datamodels import FOLDER_LAYOUTS

from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.embed.model2vec_folder import LAYOUTS
from engram.adapters.embed.model_files import derived_files, read_header
from engram.adapters.embed.provider import BUNDLED_FOLDER, open_embedder
from engram.domain.errors import EngramError

if TYPE_CHECKING:
    from engram.adapters.embed.protocols import Embedder

ROOT = Path(__file__).resolve().parents[2]
TOKENIZER = {
    "added_tokens": [],
    "normalizer": {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": True,
    },
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "model": {
        "type": "WordPiece",
        "unk_token": "x",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": {"x": 0, "git": 1},
    },
}


def safetensors(tensors: dict[str, tuple[str, list[int], bytes]]) -> bytes:
    header, data = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    encoded = json.dumps({"__metadata__": {"format": "np"}, **header}).encode()
    return len(encoded).to_bytes(8, "little") + encoded + data


TABLE = ("I8", [2, 3], bytes([1, 2, 3, 4, 5, 6]))


def test_the_model_that_the_misfits_vary_is_loaded(tmp_path: Path) -> None:
    assert opened(write_model(tmp_path)).embed_one("git").any()


def write_model(folder: Path, model: bytes = safetensors({"embeddings": TABLE})) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "model.safetensors").write_bytes(model)
    (folder / "tokenizer.json").write_text(json.dumps(TOKENIZER), encoding="utf-8")
    (folder / "config.json").write_text("{}", encoding="utf-8")
    return folder


def opened(folder: Path) -> Embedder:
    embedder = open_embedder("path", str(folder))
    assert embedder is not None
    return embedder


def run(code: str, **environment: str) -> str:
    """The output of `code` in a Python of its own."""
    place = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(
        [sys.executable, "-c", code], env=place, check=True, capture_output=True, text=True
    ).stdout


def test_provider_none_is_no_embedder() -> None:
    assert open_embedder("none") is None


def test_the_bundled_model_says_what_it_is() -> None:
    embedder = open_embedder("bundled")
    assert embedder is not None
    assert (embedder.name, embedder.dimensions) == ("bundled", 256)


def test_the_files_derived_from_the_bundled_model_are_up_to_date() -> None:
    for name, content in derived_files(BUNDLED_FOLDER).items():
        assert Path(BUNDLED_FOLDER, name).read_bytes() == content, name


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


def test_identity_is_the_same_for_a_copy(tmp_path: Path) -> None:
    first = opened(write_model(tmp_path / "a"))
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    assert first.identity == opened(tmp_path / "b").identity
    assert first.name == "path"


def test_identity_changes_with_a_vector_the_shape_and_the_tokenizer(tmp_path: Path) -> None:
    seen = {opened(write_model(tmp_path / "m")).identity}
    seen.add(
        opened(write_model(tmp_path / "m", safetensors({"embeddings": (*TABLE[:2], b"\6" * 6)}))).identity
    )
    seen.add(
        opened(write_model(tmp_path / "m", safetensors({"embeddings": ("I8", [3, 2], TABLE[2])}))).identity
    )
    write_model(tmp_path / "m")
    (tmp_path / "m" / "tokenizer.json").write_text(
        json.dumps({**TOKENIZER, "normalizer": None}), encoding="utf-8"
    )
    seen.add(opened(tmp_path / "m").identity)
    assert len(seen) == 4


@pytest.mark.parametrize("place", [0.0, 0.33, 0.5, 0.999])
def test_identity_of_a_large_model_changes_when_many_vectors_do(tmp_path: Path, place: float) -> None:
    content = bytearray(2_000_000)
    before = opened(write_model(tmp_path, safetensors({"embeddings": ("I8", [20_000, 100], bytes(content))})))
    start = int(place * (len(content) - 40_000))
    content[start : start + 40_000] = b"\1" * 40_000
    after = opened(write_model(tmp_path, safetensors({"embeddings": ("I8", [20_000, 100], bytes(content))})))
    assert before.identity != after.identity


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
def test_a_provider_that_cannot_be_is_an_error_with_a_hint(
    provider: str, path: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EmbeddingError) as caught:
        open_embedder(provider, path)
    assert isinstance(caught.value, EngramError)
    assert caught.value.hint


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


def test_a_folder_that_is_gone_is_never_asked_of_a_hub(tmp_path: Path) -> None:
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


WHOLE = safetensors({"embeddings": TABLE})
BROKEN = {
    "empty": b"",
    "cut in the data": WHOLE[:-1],
    "cut in the header": WHOLE[:40],
    "header longer than the file": (1 << 40).to_bytes(8, "little") + b"{}",
    "header that is no object": (2).to_bytes(8, "little") + b"[]",
    "nested header": (90_000).to_bytes(8, "little") + b"[" * 90_000,
    "a pointer to a file kept elsewhere": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
    "no embeddings": safetensors({"other": TABLE}),
    "embeddings that are no table": safetensors({"embeddings": ("I8", [6], TABLE[2])}),
    "no rows": safetensors({"embeddings": ("I8", [0, 3], b"")}),
    "a shape that does not fit": safetensors({"embeddings": ("I8", [2, 4], TABLE[2])}),
    "a negative shape": safetensors({"embeddings": ("I8", [-2, -3], TABLE[2])}),
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_model_file_is_an_error_when_it_is_opened(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError) as caught:
        opened(write_model(tmp_path, content))
    assert caught.value.hint


MISFITS = {
    "fewer vectors than words": {"embeddings": ("I8", [1, 6], TABLE[2])},
    "an unknown number format": {"embeddings": ("BF16", [2, 3], bytes(12))},
    "a mapping to a row that is not there": {
        "embeddings": TABLE,
        "mapping": ("I32", [2], b"\0\0\0\0\2\0\0\0"),
    },
    "a mapping to a negative row": {
        "embeddings": TABLE,
        "mapping": ("I32", [2], b"\0\0\0\0\xff\xff\xff\xff"),
    },
    "a mapping that is a table": {"embeddings": TABLE, "mapping": ("I8", [2, 2], b"\0\1\0\1")},
    "weights for other tokens": {"embeddings": TABLE, "weights": ("I8", [3], b"\1\1\1")},
    "a mapping for fewer tokens": {"embeddings": TABLE, "mapping": ("I8", [1], b"\1")},
}


@pytest.mark.parametrize("tensors", MISFITS.values(), ids=MISFITS.keys())
def test_tensors_that_do_not_fit_are_an_error_with_the_first_text(
    tensors: dict[str, tuple[str, list[int], bytes]], tmp_path: Path
) -> None:
    embedder = opened(write_model(tmp_path, safetensors(tensors)))
    with pytest.raises(
        EmbeddingError, match=r"number of vectors|bfloat16|names rows|only 1 vectors|'weights' do not fit"
    ) as caught:
        embedder.embed_one("git")
    assert caught.value.hint


def test_a_model_that_shrinks_after_it_was_opened_is_an_error(tmp_path: Path) -> None:
    embedder = opened(write_model(tmp_path))
    os.truncate(tmp_path / "model.safetensors", len(WHOLE) - 2)
    with pytest.raises(EmbeddingError, match="model2vec cannot load the model"):
        embedder.embed_one("git")


@given(st.binary(max_size=60) | st.binary(max_size=60).map(lambda raw: len(raw).to_bytes(8, "little") + raw))
def test_any_bytes_as_a_model_file_give_a_header_or_an_embedding_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.safetensors"
    path.write_bytes(content)
    with contextlib.suppress(EmbeddingError):
        assert read_header(str(path)).size == len(content)
