"""A sentence transformer in ONNX, run locally by onnxruntime (the extra `onnx`)."""

from __future__ import annotations

import sys

from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.embed.onnx_folder import CLS, HINT, MAX
from engram.adapters.numeric import numpy_module
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    from engram.adapters.embed.onnx_folder import OnnxFolder

INSTALL = "Install it: pip install 'engram-lore[onnx]'"
_BATCH = 16  # texts; they are sorted by length to keep padding small
_THREADS = 4
_TOKEN_VECTORS_RANK = 3


def must_not_load() -> bool:
    """Return whether loading onnxruntime now would crash the process, because usearch is loaded already.

    Seen with usearch 2.26 and onnxruntime 1.31, whose C++ libraries clash; imported in the other order, both work.
    """
    return "usearch.compiled" in sys.modules and "onnxruntime" not in sys.modules


class OnnxEncoder:
    """An `Encoder` over the model in a folder, loaded with the first text."""

    def __init__(
        self, folder: OnnxFolder, read_tokenizer: Callable[[], Any] | None = None, threads: int = _THREADS
    ) -> None:
        """`read_tokenizer` returns the tokenizer (a `tokenizers.Tokenizer`) of a model without a tokenizer file."""
        self._folder = folder
        self._read_tokenizer = read_tokenizer
        self._threads = threads
        self._session: Any = None
        self._tokenizer: Any = None

    def encode(self, texts: Sequence[str], *, patient: bool) -> NDArray[np.float32]:  # noqa: ARG002 - it never waits
        """Return one row per text, of the model's length. Raises EmbeddingError."""
        session = self._session or self._load()
        encoded = self._tokenizer.encode_batch([_clean(text) for text in texts])
        order = sorted(range(len(texts)), key=lambda number: len(encoded[number].ids))
        rows: dict[int, NDArray[np.float32]] = {}
        for start in range(0, len(order), _BATCH):
            part = order[start : start + _BATCH]
            rows.update(
                zip(part, self._pool_batch(session, [encoded[number] for number in part]), strict=True)
            )
        stacked: NDArray[np.float32] = numpy_module().stack([rows[number] for number in range(len(texts))])
        return stacked

    def _pool_batch(self, session: Any, encoded: Sequence[Any]) -> NDArray[np.float32]:
        """Return the vectors of a few tokenised texts, (texts, dimensions)."""
        np = numpy_module()
        width = max(1, *(len(text.ids) for text in encoded))
        mask = np.zeros((len(encoded), width), "int64")
        ids, types = np.zeros_like(mask), np.zeros_like(mask)
        for number, text in enumerate(encoded):
            length = len(text.ids)
            ids[number, :length], types[number, :length] = text.ids, text.type_ids
            mask[number, :length] = 1
        arrays = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        inputs = {one.name: arrays[one.name] for one in session.get_inputs() if one.name in arrays}
        try:
            names = [one.name for one in session.get_outputs()]
            outputs = dict(zip(names, session.run(None, inputs), strict=True))
        except Exception as error:  # the runtime raises types of its own, all below Exception
            raise EmbeddingError(
                f"The model {self._folder.model} cannot be run: {_first_line(error)}", HINT
            ) from error
        return _pool(outputs, mask, self._folder.pooling)

    def _load(self) -> Any:
        """Load tokenizer and model. Two threads may both do it, with the same result."""
        if must_not_load():
            raise EmbeddingError(
                "onnxruntime must be loaded before usearch, which this process has loaded already.",
                "Restart Engram.",
            )
        try:
            import onnxruntime
        except ImportError as error:
            raise EmbeddingError("The provider 'onnx' needs onnxruntime.", INSTALL) from error
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = min(self._threads, _processors())
        # Spinning threads would take processor time from other processes.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 4
        try:
            tokenizer = (
                self._read_tokenizer()
                if self._read_tokenizer
                else Tokenizer.from_file(self._folder.tokenizer)
            )
            tokenizer.no_padding()
            tokenizer.enable_truncation(self._folder.longest)
            session = onnxruntime.InferenceSession(
                self._folder.model, sess_options=options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # neither library raises narrower types
            raise EmbeddingError(
                f"The model {self._folder.model} cannot be loaded: {_first_line(error)}", HINT
            ) from error
        self._tokenizer, self._session = tokenizer, session
        return session


def _pool(outputs: dict[str, Any], mask: NDArray[np.int64], pooling: str) -> NDArray[np.float32]:
    """Return one vector per text: the model's sentence vectors, or else its token vectors pooled."""
    sentences = [value for name, value in outputs.items() if value.ndim == 2 and "sentence" in name]
    if sentences:
        return sentences[0].astype("float32")  # type: ignore[no-any-return]
    tokens = next((value for value in outputs.values() if value.ndim == _TOKEN_VECTORS_RANK), None)
    if tokens is None:
        raise EmbeddingError(f"The model answers with {', '.join(outputs)}, not with token vectors.", HINT)
    if pooling == CLS:
        return tokens[:, 0].astype("float32")  # type: ignore[no-any-return]
    weights = mask[:, :, None].astype("float32")
    if pooling == MAX:
        return numpy_module().where(weights > 0, tokens, -numpy_module().inf).max(axis=1).astype("float32")  # type: ignore[no-any-return]
    total: NDArray[np.float32] = (tokens * weights).sum(axis=1) / weights.sum(axis=1).clip(min=1)
    return total.astype("float32")


def _processors() -> int:
    import os

    return os.cpu_count() or 1


def _clean(text: str) -> str:
    """Replace lone surrogates (undecodable bytes of a command line), which the library rejects."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
