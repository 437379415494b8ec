"""The JSON of an answer, for the command line and the HTTP API."""

from __future__ import annotations

from engram.domain.admission.credit import as_dict
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.usecases.history.origin import Origin
    from engram.usecases.recall.question import Answer


def answer_json(answer: Answer, texts: Sequence[str], origins: Sequence[Origin]) -> dict[str, object]:
    """Return an answer as JSON; `texts` are the contents, cut to the budget."""
    rows = []
    for hit, text, origin in zip(answer.lore, texts, origins, strict=True):
        rows.append(
            {
                "ref": hit.ref,
                **as_dict(hit.lore, hit.path, hit.counted),
                "pinned": hit.counted.pinned,
                "importance": hit.counted.importance,
                "state": hit.counted.state,
                "content": text,
                "truncated": text != hit.lore.content,
                "score": round(hit.score.total, 4),
                "why": hit.score.why(),
                "via": hit.via,
                "scope": hit.scope,
                "origin": origin.as_dict(),
            }
        )
    return {
        "query": answer.query,
        "strength": answer.strength,
        "strategy": answer.strategy,
        "lore": rows,
        "session_refs": answer.session_refs,
        "took_ms": answer.took_ms,
        "notes": list(answer.notes),
    }
