"""Decide whether this clone pushes judgements, which show who judged what, and when."""

from __future__ import annotations

import os

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Literal

    from engram.usecases.store.store import Store

    Answer = Literal["yes", "no", "ask"]

PUBLISH_KEY = "judgements.publish"


def may_publish(store: Store) -> Answer:
    """Return `yes`, `no`, or `ask` if nobody has decided for this clone of a code repository yet.

    A read-only scope publishes nothing; else the setting decides. Without a setting the answer is `no` in CI, and `yes`
    if the branch is the store's own.
    """
    if store.places.repository is None or store.scope.readonly:
        return "no"
    setting = store.settings.text(PUBLISH_KEY)
    if setting:
        return "yes" if setting == "true" else "no"
    if is_ci():
        return "no"
    return "yes" if store.places.owns_branch else "ask"


def is_ci() -> bool:
    """Return whether this runs in continuous integration, by the environment variable CI."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")
