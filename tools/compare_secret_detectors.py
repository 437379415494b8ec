"""Compare the built-in secret detection with detect-secrets (`pip install detect-secrets` first).

Usage: python tools/compare_secret_detectors.py [FOLDER-OF-MARKDOWN]
Prints recall and false positives on the labelled set of the tests, µs per text, and the hits in the folder.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests/admission")]

from test_secrets_labelled import NEGATIVES, POSITIVES  # noqa: E402

from engram.domain.admission.secrets import find_secrets  # noqa: E402

Detector = Callable[[str], list[str]]


def built_in(text: str) -> list[str]:
    return [f"{found.line}: {found.rule} {found.preview}" for found in find_secrets(text)]


def detect_secrets() -> Detector:
    """Return a detector that scans a file with all plugins and heuristic filters, without the network."""
    from detect_secrets import SecretsCollection
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
    from detect_secrets.settings import transient_settings

    heuristics = (
        "sequential_string potential_uuid likely_id_string templated_secret prefixed_with_dollar_sign "
        "indirect_reference lock_file not_alphanumeric_string swagger_file"
    )
    filters = [f"detect_secrets.filters.heuristic.is_{name}" for name in heuristics.split()]
    filters.append("detect_secrets.filters.allowlist.is_line_allowlisted")
    plugins = [{"name": kind.__name__} for kind in get_mapping_from_secret_type_to_class().values()]
    config = {"plugins_used": plugins, "filters_used": [{"path": path} for path in filters]}
    note = Path(tempfile.mkdtemp()) / "note.md"

    def detect(text: str) -> list[str]:
        note.write_text(text, encoding="utf-8")
        with transient_settings(config):
            found = SecretsCollection()
            found.scan_file(str(note))
        return [f"{secret.line_number}: {secret.type}" for _, secret in found]

    return detect


def compare(name: str, detect: Detector, folder: str | None) -> None:
    started = time.process_time()
    missed = [kind for kind, before, secret, after in POSITIVES if not detect(before + secret + after)]
    false_positives = [text for text in NEGATIVES if detect(text)]
    each = (time.process_time() - started) / (len(POSITIVES) + len(NEGATIVES)) * 1e6
    print(f"{name}: found {len(POSITIVES) - len(missed)}/{len(POSITIVES)}, ", end="")
    print(f"false positives {len(false_positives)}/{len(NEGATIVES)}, {each:.0f} µs per text")
    print("  missed:", ", ".join(missed) or "none")
    print("  wrong:", *(repr(text[:70]) for text in false_positives), sep="\n    ")
    if folder:
        count_hits(detect, sorted(Path(folder).rglob("*.md")))


def count_hits(detect: Detector, paths: list[Path]) -> None:
    texts = [path.read_text(encoding="utf-8") for path in paths]
    started = time.process_time()
    hits = [(path, hit) for path, text in zip(paths, texts, strict=True) for hit in detect(text)]
    each = (time.process_time() - started) / max(len(texts), 1) * 1e6
    files = len({path for path, _ in hits})
    print(f"  {len(hits)} hits in {files} of {len(texts)} files, {each:.0f} µs per file")
    for path, hit in hits:
        print(f"    {path.name}:{hit}")


if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else None
    compare("built in", built_in, folder)
    compare("detect-secrets", detect_secrets(), folder)
