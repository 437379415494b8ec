"""The part of the Python API that keeps a store in order: consolidation and worth."""

from __future__ import annotations

from abc import ABC, abstractmethod

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engram.domain.consolidation import Plan
    from engram.usecases.consolidate_apply import Consolidated
    from engram.usecases.store import Store
    from engram.usecases.worth import Worths


class Curating(ABC):
    """Tidying an open store up; `engram.app.Engram` has all of it."""

    store: Store

    def consolidate(
        self,
        *,
        kinds: str | Sequence[str] = (),
        skip: str | Sequence[str] = (),
        confirm: str | Sequence[str] = (),
        to: str = "",
        progress: Callable[[str], object] = str,
    ) -> Plan:
        """What tidying up would do: `.steps` with their results, `.withheld`, `.rehearsal`; changes nothing.

        `kinds` are merge, supersede, archive, promote, decay (default: all). `skip` leaves steps out, `confirm` has
        those done that wait for a word, by id, start of an id, or kind; `to` is the scope that promotion across
        scopes proposes. `progress` is told what is being done. Raises UsageError, NotFoundError, AmbiguousError, StoreError.
        """
        from engram.usecases.consolidate import plan

        return plan(
            self.store,
            kinds=_words(kinds),
            skip=_words(skip),
            confirm=_words(confirm),
            to=to,
            progress=progress,
        )

    def apply(self, plan: Plan) -> Consolidated:
        """Do the selected steps of a plan as one commit, which `undo` takes back byte for byte; twice is once.

        Raises ConflictError, before anything is written, where a lore was changed since; StoreError.
        """
        from engram.usecases.consolidate_apply import apply

        done = apply(self.store, plan)
        self._changed()
        return done

    def worth(self, *names: str, limit: int | None = 20, sort: str = "importance") -> Worths:
        """How often lore were shown and helpful, what they cost, and which past queries they answer alone.

        Of the named lore, else of all, the most important first. Raises NotFoundError, AmbiguousError, UsageError.
        """
        from engram.usecases.worth import worth

        return worth(self.store, names, limit=limit, sort=sort)

    @abstractmethod
    def _changed(self) -> None:
        """Have committed what was written."""


def _words(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)
