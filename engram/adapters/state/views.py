"""Views of a clone's own state for SQL queries: the activity log, the history and the judgements."""

from engram.domain.entry import ulid
from engram.domain.explore.tables import Column, View

STATE, HISTORY, JUDGED = "state", "past", "judged"
_AT = "strftime('%Y-%m-%dT%H:%M:%SZ', {}, 'unixepoch') AS at"


# A row of the cache has all lines of an entry as tab-separated text; JSON lets SQL split them.
_QUOTED = r"""replace(replace(lines, '\', '\\'), '"', '\"')"""
_ROWS = f"""'[["' || replace(replace({_QUOTED}, char(9), '","'), char(10), '"],["') || '"]]'"""
_MOMENT = " + ".join(
    f"((instr('{ulid.ALPHABET}', substr(line, {place + 1}, 1)) - 1) << {5 * (9 - place)})"
    for place in range(10)
)
_JUDGEMENTS = """
    SELECT id, line, strftime('%Y-%m-%dT%H:%M:%SZ', (MOMENT) / 1000, 'unixepoch') AS at, kind, of, text, agent, source,
        (SELECT name FROM judged.people WHERE people.source = said.source) AS name
    FROM (
        SELECT DISTINCT entry AS id, json_extract(value, '$[0]') AS line, json_extract(value, '$[1]') AS source,
            json_extract(value, '$[2]') AS kind, json_extract(value, '$[3]') AS of, json_extract(value, '$[4]') AS text,
            json_extract(value, '$[5]') AS agent
        FROM judged.said, json_each(ROWS) WHERE entry NOT IN (SELECT id FROM {waiting})
    ) AS said
"""

VIEWS = (
    View(
        "retrievals",
        "one row for each thing done on this machine: queries, tools, hooks",
        STATE,
        (
            Column("number", "integer", "increases with each row"),
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
            Column("ids", "text", "ids of the entries shown, as JSON: json_each(ids)"),
        ),
        f"SELECT number, {_AT.format('at')}, session, agent, via, action, query, strategy, strength, took_ms, tokens, ids"  # noqa: S608
        # The log of recording an entry has its title.
        " FROM state.retrievals WHERE action = 'query' OR NOT EXISTS (SELECT 1 FROM {waiting}) OR NOT EXISTS"
        " (SELECT 1 FROM json_each(ids) AS one WHERE one.value IN (SELECT id FROM {waiting}))",
    ),
    View(
        "history",
        "one row for each change of an entry's file, from git",
        HISTORY,
        (
            Column("id", "text", "the entry"),
            Column("at", "text", "UTC"),
            Column("revision", "text", "the commit"),
            Column("author", "text", "its author"),
            Column("agent", "text", "the agent that did it"),
            Column("session", "text", "in which session"),
            Column("op", "text", "which operation of Engram"),
            Column("kind", "text", "added, changed, moved, removed or merged"),
            Column("fields", "text", "what changed, separated by spaces"),
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
    View(
        "judgements",
        "one row for each line of the ledgers: what was said of an entry, also if it was taken back later",
        JUDGED,
        (
            Column("id", "text", "the entry"),
            Column("line", "text", "the line's own id"),
            Column("at", "text", "UTC"),
            Column("kind", "text", "helpful, incorrect, not_relevant, confirmed, same or retracted"),
            Column("of", "text", "the line that was taken back, or the entry that said the same"),
            Column("text", "text", "a digest of the words that were judged"),
            Column("agent", "text", "by which agent"),
            Column("source", "text", "in which clone"),
            Column("name", "text", "who judged, as that clone says"),
        ),
        _JUDGEMENTS.replace("MOMENT", _MOMENT).replace("ROWS", _ROWS),
    ),
)
