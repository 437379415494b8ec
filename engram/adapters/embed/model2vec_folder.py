"""A folder saved by model2vec or sentence-transformers: found cheaply, then loaded and checked by model2vec.

Only the folder is ever read, since an absolute path cannot be the name of a model on a hub.
"""

from __future__ import annotations

import os

from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.embed.model_files import (
    HINT,
    MODEL_FILE,
    TABLE,
    TOKENIZER_FILE,
    folder_identity,
    read_header,
    table_dimensions,
)
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from model2vec import StaticModel as Loaded
    from numpy.typing import NDArray

    from engram.adapters.embed.model import StaticModel


class FoundModel(NamedTuple):
    """The facts about a model that an index needs."""

    identity: str
    dimensions: int


# Configuration, folder of the other files, tensor: as in `model2vec.persistence.datamodels.FOLDER_LAYOUTS`, in its order
# (a test compares them). Importing model2vec takes 0.11 CPU-s, which commands that embed nothing save.
LAYOUTS = (
    ("config.json", "", TABLE),
    ("config_sentence_transformers.json", "", "embedding.weight"),
    ("config_sentence_transformers.json", "0_StaticEmbedding", "embedding.weight"),
)


def find_model(folder: str) -> FoundModel:
    """Return identity and dimensions of the model in a folder. Raises EmbeddingError if it has none."""
    for config, inner, tensor in LAYOUTS:
        model, tokenizer = (os.path.join(folder, inner, name) for name in (MODEL_FILE, TOKENIZER_FILE))
        if all(map(os.path.exists, (model, tokenizer, os.path.join(folder, config)))):
            file = read_header(model)
            return FoundModel(folder_identity(file, tokenizer), table_dimensions(file, tensor))
    raise EmbeddingError(
        f"The folder {folder} is not a model2vec model: it needs {MODEL_FILE}, {TOKENIZER_FILE} and config.json.",
        HINT,
    )


def load_model(folder: str) -> StaticModel:
    """Load the model in a folder with model2vec. Raises EmbeddingError if it cannot be loaded or is inconsistent.

    model2vec's `encode` is not used: passages and late interaction need sums and vectors of tokens, and it modifies
    its tokenizer, which threads share, in every call.
    """
    from engram.adapters.embed.model import StaticModel
    from engram.adapters.embed.table import TokenTable
    from engram.adapters.embed.tokenizing import LibraryTokenizer
    from engram.adapters.numeric import numpy_module

    numpy_module()  # sets the number of threads before model2vec imports numpy
    loaded = _load(folder)
    vectors = loaded.embedding
    if vectors.dtype not in ("int8", "float32"):  # numpy multiplies float16 very slowly
        vectors = vectors.astype("float32")
    weights = None if loaded.weights is None else loaded.weights.astype("float32")
    mapping = None if loaded.token_mapping is None else loaded.token_mapping.astype("intp")
    table = TokenTable(vectors, weights, mapping)
    _check(folder, loaded, table.tokens, mapping)
    tokenizer = loaded.tokenizer
    return StaticModel(LibraryTokenizer(lambda: tokenizer, loaded.unk_token_id), table)


def _load(folder: str) -> Loaded:
    """Return model2vec's model, without truncation of texts."""
    from model2vec import StaticModel as Loaded

    try:
        loaded = Loaded.from_pretrained(os.path.abspath(folder))
        loaded.config.pop("max_length", None)  # else the next line logs a warning
        loaded.max_length = None
    except Exception as error:  # model2vec, safetensors and tokenizers have no common type for a bad file
        reason = str(error).rstrip(".") or type(error).__name__
        raise EmbeddingError(f"model2vec cannot load the model in {folder}: {reason}.", HINT) from error
    loaded.tokenizer.no_padding()
    return loaded


def _check(folder: str, loaded: Loaded, tokens: int, mapping: NDArray[np.intp] | None) -> None:
    """Raise EmbeddingError for inconsistencies that model2vec notices late or never."""
    wrong = ""
    rows = len(loaded.embedding)
    words = 1 + max(loaded.tokenizer.get_vocab().values())
    if mapping is not None and (mapping.ndim != 1 or not ((mapping >= 0) & (mapping < rows)).all()):
        wrong = "its 'mapping' names rows beyond its vectors"
    elif words > tokens:
        wrong = f"{words} words and only {tokens} vectors"
    elif loaded.weights is not None and loaded.weights.shape != (tokens,):
        wrong = f"its 'weights' do not fit its {tokens} words"
    if wrong:
        raise EmbeddingError(f"The model in {folder} is inconsistent: {wrong}.", HINT)
