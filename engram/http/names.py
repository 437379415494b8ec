"""How an entry is named in a path: by its id, the start of one, or a session ref; never by words, which may fit another."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engram.domain.errors import NotFoundError
from engram.domain.text.safe_text import safe_text

if TYPE_CHECKING:
    from starlette.requests import Request

_NAME = re.compile(r"(?:[0-9A-HJKMNP-TV-Z]{4,26}|L[1-9][0-9]{0,8})", re.IGNORECASE)


def name_in_path(request: Request) -> str:
    """The name in the path. Raises NotFoundError for what names no lore."""
    name = str(request.path_params["id"])
    if not _NAME.fullmatch(name):
        raise NotFoundError(
            f"There is no entry '{safe_text(name)[:60]}'.",
            "Give an id, the start of one, or a session ref like L1.",
        )
    return name
