"""What can be done to lore, from a list or anywhere: each is one `Deed`, so that it repeats and is undone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from engram.domain.entry.confidence import HELPFUL, INCORRECT, KINDS
from engram.domain.entry.lore import ACTIVE, ARCHIVED
from engram.domain.errors import ValidationError
from engram.usecases.opening.scopes import reach
from engram.usecases.recording.edit import Edit, rewrite
from engram.usecases.recording.editor import kept_if_refused
from engram_tui.shell.store_screen import Deed
from engram_tui.widgets.rows import count, fraction

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.usecases.lookup.listing import Shown
    from engram.usecases.recording.feedback import Judged

_TITLES = {HELPFUL: "Helpful", INCORRECT: "Incorrect"}
_MOST_TITLE = 40


def judge(kind: str) -> Deed:
    """Say that lore was `helpful`, `incorrect` or `not_relevant`."""

    def work(store: Engram, ids: tuple[str, ...]) -> str:
        chosen = {name: ids if name == kind else () for name in KINDS}
        done = store.feedback(
            helpful=chosen[KINDS[0]], not_relevant=chosen[KINDS[1]], incorrect=chosen[KINDS[2]]
        )
        if len(done) > 1:
            repeated = sum(judged.repeated for judged in done)
            return f"{count(len(done), 'lore')}{f', {repeated} said before' if repeated else ''}"
        return _judged(done[0], store.get(ids[0]))

    return Deed(_TITLES.get(kind, "Not relevant"), work, f"engram feedback --{kind.replace('_', '-')} {{}}")


def _judged(judged: Judged, shown: Shown) -> str:
    before, after = fraction(round(judged.previous * 1000)), fraction(round(judged.current * 1000))
    title = titled(shown.lore.title)
    if judged.repeated:
        return f"Said before in this session, {title}: confidence stays {after}"
    if judged.kind == HELPFUL:
        return f"{title}: confidence {before} → {after}, helpful {judged.validation_count}×"
    return (
        f"{title}: confidence {before} → {after}"
        if judged.kind == INCORRECT
        else f"{title}: noted, confidence stays {after}"
    )


def edit_fields(title: str, wanted: Edit, said: str, options: str) -> Deed:
    """Change fields of lore; `said` is what becomes of each: `is archived`."""

    def work(store: Engram, ids: tuple[str, ...]) -> str:
        done = [store.edit(lore_id, wanted) for lore_id in ids]
        what = titled(done[0].lore.title) if len(done) == 1 else count(len(done), "lore")
        several = said.replace("is ", "are ", 1).replace("has ", "have ", 1)
        wrote = store.store.deed is not None and store.store.deed.operations
        return f"{what} {said if len(done) == 1 else several}{'' if wrote else ' already'}"

    return Deed(title, work, f"engram edit {{}} {options}")


def archive() -> Deed:
    """Out of recall."""
    return edit_fields("Archive", Edit(status=ARCHIVED), "is archived", "--status archived")


def activate() -> Deed:
    """Into recall again."""
    return edit_fields("Activate", Edit(status=ACTIVE), "is active", "--status active")


def pin(on: bool) -> Deed:
    """Never fades, or does."""
    words = ("Pin", "is pinned", "--pin") if on else ("Unpin", "is not pinned any more", "--unpin")
    return edit_fields(words[0], Edit(pinned=on), words[1], words[2])


def tag(text: str) -> Deed:
    """Add the tags in `text`, and take away those with `-` before them. Raises ValidationError where there is none."""
    named = [word.strip().lstrip("#") for word in text.replace(",", " ").split()]
    gone = tuple(word[1:] for word in named if word.startswith("-") and word[1:])
    added = tuple(word.lstrip("+") for word in named if word and not word.startswith("-"))
    if not (added or gone):
        raise ValidationError("tags", "No tag was typed.", "For example: queue -old")
    changes = " ".join([*(f"+{name}" for name in added), *(f"−{name}" for name in gone)])
    options = " ".join([*(f"--add-tag {name}" for name in added), *(f"--remove-tag {name}" for name in gone)])
    return edit_fields("Tags", Edit(add_tags=added, remove_tags=gone), f"has tags {changes}", options)


def categorise(category: str) -> Deed:
    """Another category."""
    return edit_fields("Category", Edit(category=category), f"is {category} now", f"--category {category}")


def forget() -> Deed:
    """Delete."""

    def work(store: Engram, ids: tuple[str, ...]) -> str:
        gone = store.forget(*ids)
        return f"{titled(gone[0].lore.title) if len(gone) == 1 else count(len(gone), 'lore')} forgotten"

    return Deed("Forget", work, "engram forget {}")


def replace_text(path: str, scope: str, before: bytes, after: bytes) -> Deed:
    """The whole file of one lore, as somebody edited it."""

    def work(store: Engram, ids: tuple[str, ...]) -> str:
        there = reach(store.store, scope)
        shown = kept_if_refused(after, lambda: rewrite(there, path, ids[0], before, after))
        store.edited()
        return f"{titled(shown.lore.title)} is changed"

    return Deed("Edit", work, "engram edit {}", repeats=False)


def record(fields: Mapping[str, object], written: Callable[[], None]) -> Deed:
    """A new lore, of the fields that `Engram.record` takes; `written` is called once it is durable."""

    def work(store: Engram, _ids: tuple[str, ...]) -> str:
        done = store.record(**fields)  # type: ignore[arg-type]
        written()
        title = titled(done.lore.title)
        if done.status == "merged":
            return f"{title} said the same and took it in"
        against = f"; it speaks against {titled(done.contradictions[0].title)}" if done.contradictions else ""
        return f"{title} waits for review: {done.why}" if done.why else f"{title} is recorded{against}"

    return Deed("Record", work, "engram record …", repeats=False, creates=True)


def titled(title: str) -> str:
    """A title in a sentence."""
    return f"“{title if len(title) <= _MOST_TITLE else title[: _MOST_TITLE - 1] + '…'}”"
