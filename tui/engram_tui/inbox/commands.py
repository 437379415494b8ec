"""The commands on items of the review queue. Each can be repeated and undone, and is logged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from engram.domain.entry.named_files import is_entity
from engram.domain.errors import NotFoundError
from engram.domain.review.review import ACCEPT, ARCHIVE, EDIT, SNOOZE, Item, check_decision
from engram.usecases.graph import entity_conflicts
from engram.usecases.opening.scopes import open_scope_of
from engram.usecases.recording.edit import rewrite
from engram.usecases.recording.editor import keep_if_refused
from engram.usecases.review.items import PackedItem
from engram_tui.inbox.queue import kind_name
from engram_tui.shell.command import Command
from engram_tui.shell.sanitize import safe_line
from engram_tui.widgets.format import count, quote

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.domain.entry.lore import Lore
    from engram.usecases.review.decisions import Decided

ITEM = "item"  # the target of these commands
_TITLES = {SNOOZE: "Snooze", EDIT: "Accept edited", ARCHIVE: "Archive"}
SNOOZE_DAYS = 7


def decide(items: Sequence[Item], decision: str, result: Lore | None = None) -> Command:
    """Decide about these items ("": as each proposes), or about others if repeated. `result` is the edited entry."""
    known = {item.id: item for item in items}
    noted: list[Decided] = []  # decisions that wrote no file

    def execute(store: Engram, ids: tuple[str, ...]) -> str:
        noted.clear()
        targets = [known.get(item_id) or _find_item(store, item_id) for item_id in ids]
        for item in targets:
            check_decision(item, decision or item.proposal)
        for item in targets:
            done = store.decide(item, decision or item.proposal, days=SNOOZE_DAYS, result=result)
            if not done.wrote:
                noted.append(done)
        return _describe_decision(targets, decision, edited=result is not None)

    def undo(store: Engram) -> bool:
        for done in noted:
            store.ask_again(done)
        return bool(noted)

    def redo(store: Engram) -> bool:
        for done in noted:
            store.decide(done.item, done.decision, days=SNOOZE_DAYS)
        return bool(noted)

    proposed = {item.proposal for item in items}
    name = decision or (min(proposed) if len(proposed) == 1 else "")
    title = _TITLES.get(name, name.capitalize()) or "As proposed"
    return Command(
        title,
        execute,
        f"engram review {name or '…'} {{}}",
        repeats=result is None,
        target=ITEM,
        undo=undo,
        redo=redo,
    )


def accept_edited(item: Item, path: str, before: bytes, after: bytes) -> Command:
    """Replace the file of an item's entry or entity by an edited text, then accept the item if it is still in the queue."""
    noted: list[Decided] = []

    def execute(store: Engram, ids: tuple[str, ...]) -> str:
        noted.clear()
        title = keep_if_refused(after, lambda: _rewrite(store, item, path, before, after))
        store.edited()
        waiting = [other for other in store.review(kinds=item.kind).items if other.id == ids[0]]
        if not waiting or ACCEPT not in item.decisions:
            return f"{quote(title)} is changed"
        done = store.decide(waiting[0], ACCEPT)
        if not done.wrote:
            noted.append(done)
        return f"{quote(title)} is changed; {item.decisions[ACCEPT]}"

    def undo(store: Engram) -> bool:
        for done in noted:
            store.ask_again(done)
        return bool(noted)

    edited = f"engram edit {_edited_id(item)}; " if item.lore else ""
    return Command(
        _TITLES[EDIT], execute, f"{edited}engram review accept {{}}", repeats=False, target=ITEM, undo=undo
    )


def _rewrite(store: Engram, item: Item, path: str, before: bytes, after: bytes) -> str:
    """Write the edited text; returns its title."""
    home = open_scope_of(store.store, "")
    if is_entity(path, home.places.folder):
        return entity_conflicts.rewrite(home, path, before, after).name
    return rewrite(home, path, _edited_id(item), before, after).lore.title


def find_batches(
    items: Sequence[Item | PackedItem], current: Item
) -> Mapping[str, tuple[str, list[Item | PackedItem]]]:
    """Return the groups that one decision may be about: all listed items of this kind, and those by the same person."""
    of_kind = [item for item in items if item.kind == current.kind]
    found: dict[str, tuple[str, list[Item | PackedItem]]] = {}
    name = kind_name(current.kind)
    label = f"the only {name}" if len(of_kind) == 1 else f"all {count(len(of_kind))} {name}"
    found["kind"] = (label, of_kind)
    by_same: list[Item | PackedItem] = [
        item for item in of_kind if not isinstance(item, PackedItem) and item.who == current.who
    ]
    if current.who and by_same and len(by_same) < len(of_kind):
        found["who"] = (f"{count(len(by_same))} {name} by {safe_line(current.who)}", by_same)
    return found


def _find_item(store: Engram, item_id: str) -> Item:
    found = next((item for item in store.review().items if item.id == item_id), None)
    if found is None:
        raise NotFoundError(f"The queue no longer has an item with the id {item_id}.", "Press f5 to reload.")
    return found


def _edited_id(item: Item) -> str:
    """Return the id of the entry that is edited, the newest of an item; "" for a file that cannot be read."""
    return item.lore[-1] if item.lore else ""


def _describe_decision(items: Sequence[Item], decision: str, *, edited: bool) -> str:
    if not decision and len({(item.kind, item.proposal) for item in items}) > 1:
        return f"{count(len(items))} items are decided as proposed"
    decision = decision or items[0].proposal
    effect = items[0].decisions[decision]
    if decision == SNOOZE:
        effect = f"asked again in {SNOOZE_DAYS} days"
    what = (
        quote(safe_line(items[0].title))
        if len(items) == 1
        else f"{count(len(items))} {kind_name(items[0].kind)}"
    )
    return f"{what}: {'with your text, ' if edited else ''}{effect}"
