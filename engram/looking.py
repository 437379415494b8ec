"""The part of the Python API that looks around a lore, and at the settings: what a person wants to know before they act."""

from __future__ import annotations

from collections.abc import Sequence

from engram.domain.typed import TYPE_CHECKING
from engram.sharing import Sharing

if TYPE_CHECKING:
    from engram.usecases.configuration import Setting
    from engram.usecases.links import Link
    from engram.usecases.record import Weighed
    from engram.usecases.surfaced import Surfaced

Words = str | Sequence[str]


class Looking(Sharing):
    """Links, queries that a lore answered, what recording would answer, settings; `engram.app.Engram` has all of it."""

    def weigh(
        self,
        content: str,
        *,
        category: str = "",
        context: Words = (),
        tags: Words = (),
        files: Words = (),
        agent: str = "",
    ) -> Weighed:
        """What `record` would answer, without writing: near twins, what it speaks against, whether it would wait.

        Raises ValidationError, SecretFoundError.
        """
        from engram.usecases.record import Draft, weigh

        draft = Draft(content, category, words(context), tags=words(tags), files=words(files), agent=agent)
        return weigh(self.store, draft)

    def links(self, name: str) -> list[Link]:
        """What a lore names and what names it: `.kind`, `.id`, `.title`, `.back`. Raises as `get`, StoreError."""
        from engram.usecases.links import links

        return links(self.store, name)

    def surfaced(self, name: str, limit: int = 20) -> list[Surfaced]:
        """The last queries that a lore answered, newest first. Raises NotFoundError, AmbiguousError, StoreError."""
        from engram.usecases.surfaced import surfaced

        return surfaced(self.store, name, limit)

    def configuration(self) -> list[Setting]:
        """Every setting: `.key`, the `.value` in force, its `.origin` (default, store, user). Raises ConfigError."""
        from engram.usecases.configuration import configuration

        return configuration(self.store)

    def configure(self, name: str, text: str | None) -> object:
        """Set a key in your own file from text (None: unset it); the value in force then. Raises ConfigError, StoreError."""
        from engram.usecases.configuration import configure_own

        return configure_own(self.store, name, text)


def words(value: Words) -> tuple[str, ...]:
    """One text or several, as several."""
    return (value,) if isinstance(value, str) else tuple(value)
