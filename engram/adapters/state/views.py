"""What SQL may read of a clone's own state: what was done here, and the history of all lore."""

from __future__ import annotations

from engram.domain.explore.tables import Column, View

STATE, HISTORY = "state", "past"
_AT = "strftime('%Y-%m-%dT%H:%M:%SZ', {}, 'unixepoch') AS at"

VIEWS = (
    View(
        "retrievals",
        "one row for each thing done on this machine: queries, tools, hooks",
        STATE,
        (
            Column("number", "integer", "grows"),
            Column("at", "text", "UTC"),
            Column("session", "text", "of which session"),
            Column("agent", "text", "by which agent"),
            Column("via", "text", "cli, python, mcp, http, hook …"),
            Column("action", "text", "query, get, record, feedback, sync, skill …"),
            Column("query", "text", "the question"),
            Column("strategy", "text", "hybrid, words or scan"),
            Column("strength", "text", "strong, weak or none"),
            Column("took_ms", "real", "milliseconds"),
            Column("tokens", "integer", "about what the answer cost"),
            Column("ids", "text", "the lore shown, as JSON: json_each(ids)"),
        ),
        f"SELECT number, {_AT.format('at')}, session, agent, via, action, query, strategy, strength, took_ms, tokens, ids"  # noqa: S608
        # What records an entry says its title.
        " FROM state.retrievals WHERE action = 'query' OR NOT EXISTS (SELECT 1 FROM {waiting}) OR NOT EXISTS"
        " (SELECT 1 FROM json_each(ids) AS one WHERE one.value IN (SELECT id FROM {waiting}))",
    ),
    View(
        "history",
        "one row for each change of an entry's file, from git",
        HISTORY,
        (
            Column("id", "text", "the lore"),
            Column("at", "text", "UTC"),
            Column("revision", "text", "the commit"),
            Column("author", "text", "its author"),
            Column("agent", "text", "the agent that did it"),
            Column("session", "text", "in which session"),
            Column("op", "text", "which operation of Engram"),
            Column("kind", "text", "added, changed, moved, removed or merged"),
            Column("fields", "text", "what changed, parted by spaces"),
            Column("confidence_before", "real", "0 to 1, as the file said"),
            Column("confidence", "real", "0 to 1, as the file says"),
            Column("helpful", "integer", "how often it was found helpful, in files of format 1"),
            Column("path", "text", "its file, as git knows it"),
        ),
        f"SELECT id, {_AT.format('moment')}, oid AS revision, author, agent, session, op, kind, fields,"  # noqa: S608
        " (confidence_before + 5) / 10 / 100.0 AS confidence_before, (confidence + 5) / 10 / 100.0 AS confidence,"
        " validations AS helpful, path FROM past.events JOIN past.commits USING (number)"
        " WHERE id NOT IN (SELECT id FROM {waiting})",
    ),
)
