"""The commands on entries: judge, edit, archive, tag, forget, record. Each can be repeated, undone and redone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from engram.domain.entry.confidence import HELPFUL, INCORRECT, KINDS
from engram.domain.entry.lore import ACTIVE, ARCHIVED
from engram.domain.errors import ValidationError
from engram.domain.text.counted_nouns import entries
from engram.usecases.opening.scopes import open_scope_of
from engram.usecases.recording.edit import Edit, rewrite
from engram.usecases.recording.editor import keep_if_refused
from engram.usecases.recording.record import KNOWN, describe_known
from engram_tui.shell.command import Command
from engram_tui.widgets.format import fraction, quote

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.usecases.lookup.listing import Shown
    from engram.usecases.recording.feedback import Judged

_TITLES = {HELPFUL: "Helpful", INCORRECT: "Incorrect"}


def judge(kind: str) -> Command:
    """Judge entries `helpful`, `incorrect` or `not_relevant`."""

    def execute(store: Engram, ids: tuple[str, ...]) -> str:
        chosen = {name: ids if name == kind else () for name in KINDS}
        done = store.feedback(
            helpful=chosen[KINDS[0]], not_relevant=chosen[KINDS[1]], incorrect=chosen[KINDS[2]]
        )
        if len(done) > 1:
            repeated = sum(judged.repeated for judged in done)
            return f"{entries(len(done))}{f', {repeated} judged before' if repeated else ''}"
        return _describe_judged(done[0], store.get(ids[0]))

    return Command(
        _TITLES.get(kind, "Not relevant"), execute, f"engram feedback --{kind.replace('_', '-')} {{}}"
    )


def _describe_judged(judged: Judged, shown: Shown) -> str:
    before, after = fraction(round(judged.previous * 1000)), fraction(round(judged.current * 1000))
    title = quote(shown.lore.title)
    if judged.repeated:
        return f"{title} was judged in this session before: confidence stays {after}"
    if judged.kind == HELPFUL:
        return f"{title}: confidence {before} → {after}, helpful {judged.validation_count}×"
    if judged.kind == INCORRECT:
        return f"{title}: confidence {before} → {after}"
    return f"{title}: noted, confidence stays {after}"


def edit_fields(title: str, edit: Edit, change: str, options: str) -> Command:
    """Change fields of entries; `change` completes a sentence about one entry, such as "is archived"."""

    def execute(store: Engram, ids: tuple[str, ...]) -> str:
        done = [store.edit(entry_id, edit) for entry_id in ids]
        already = "" if store.store.deed is not None and store.store.deed.operations else " already"
        if len(done) == 1:
            return f"{quote(done[0].lore.title)} {change}{already}"
        plural = change.replace("is ", "are ", 1).replace("has ", "have ", 1)
        return f"{entries(len(done))} {plural}{already}"

    return Command(title, execute, f"engram edit {{}} {options}")


def archive() -> Command:
    """Exclude entries from recall."""
    return edit_fields("Archive", Edit(status=ARCHIVED), "is archived", "--status archived")


def activate() -> Command:
    """Include archived entries in recall again."""
    return edit_fields("Activate", Edit(status=ACTIVE), "is active", "--status active")


def pin(on: bool) -> Command:
    """Pin entries, so that they never fade, or unpin them."""
    if on:
        return edit_fields("Pin", Edit(pinned=True), "is pinned", "--pin")
    return edit_fields("Unpin", Edit(pinned=False), "is no longer pinned", "--unpin")


def tag(text: str) -> Command:
    """Add the tags in `text`, and remove those with `-` before them. Raises ValidationError if there are none."""
    typed = [word.strip().lstrip("#") for word in text.replace(",", " ").split()]
    removed = tuple(word[1:] for word in typed if word.startswith("-") and word[1:])
    added = tuple(word.lstrip("+") for word in typed if word and not word.startswith("-"))
    if not (added or removed):
        raise ValidationError("tags", "No tag was typed.", "For example: queue -old")
    changes = " ".join([*(f"+{name}" for name in added), *(f"−{name}" for name in removed)])
    options = " ".join(
        [*(f"--add-tag {name}" for name in added), *(f"--remove-tag {name}" for name in removed)]
    )
    return edit_fields("Tags", Edit(add_tags=added, remove_tags=removed), f"has tags {changes}", options)


def categorise(category: str) -> Command:
    """Set another category."""
    return edit_fields("Category", Edit(category=category), f"is {category} now", f"--category {category}")


def forget() -> Command:
    """Delete entries."""

    def execute(store: Engram, ids: tuple[str, ...]) -> str:
        forgotten = store.forget(*ids)
        what = quote(forgotten[0].lore.title) if len(forgotten) == 1 else entries(len(forgotten))
        return f"{what} forgotten"

    return Command("Forget", execute, "engram forget {}")


def replace_text(path: str, scope: str, before: bytes, after: bytes) -> Command:
    """Replace the whole file of an entry by an edited one."""

    def execute(store: Engram, ids: tuple[str, ...]) -> str:
        home = open_scope_of(store.store, scope)
        shown = keep_if_refused(after, lambda: rewrite(home, path, ids[0], before, after))
        store.edited()
        return f"{quote(shown.lore.title)} is changed"

    return Command("Edit", execute, "engram edit {}", repeats=False)


def record(fields: Mapping[str, object], then: Callable[[], None]) -> Command:
    """Record an entry with these fields, as `Engram.record` takes them; `then` is called once it is durable."""

    def execute(store: Engram, _ids: tuple[str, ...]) -> str:
        done = store.record(**fields)  # type: ignore[arg-type]
        then()
        title = quote(done.lore.title)
        if done.status == KNOWN:
            return f"{title} is known already. {describe_known(done)}".strip()
        against = f"; it contradicts {quote(done.contradictions[0].title)}" if done.contradictions else ""
        return f"{title} waits for review: {done.why}" if done.why else f"{title} is recorded{against}"

    return Command("Record", execute, "engram record …", repeats=False, creates=True)
