"""All commands: name, module, one line of help."""

from __future__ import annotations

from engram.domain.typed import NamedTuple


class Command(NamedTuple):
    """A command; `module` is below engram.cli.commands, `aliases` are other names for it."""

    name: str
    module: str
    summary: str
    aliases: tuple[str, ...] = ()


COMMANDS = (
    Command("init", "opening.init", "create a store here or at a path"),
    Command("record", "recording.record", "record something learned", ("remember",)),
    Command("query", "recall.query", "recall the lore that answers a question", ("recall",)),
    Command("feedback", "recording.feedback", "judge lore: helpful, incorrect, or not relevant"),
    Command("show", "lookup.show", "show one entry in full"),
    Command("list", "lookup.listing", "list lore by filter and order"),
    Command("edit", "recording.edit", "change an entry, in your editor or by field"),
    Command("forget", "recording.forget", "delete entries (history keeps them)"),
    Command("review", "review.review", "list what waits for a person, and decide about it"),
    Command("consolidate", "consolidation.consolidate", "tidy up: merge, archive, promote; a plan first"),
    Command("evolve", "tuning.evolve", "show what judged queries say about the ranking; find better settings"),
    Command("worth", "consolidation.worth", "show how often entries were shown and helped, and what they cost"),
    Command("bisect", "recall.bisect", "find the commit that changed the answer to a query"),
    Command("undo", "history.undo", "undo the last operations"),
    Command("redo", "history.redo", "redo what the last undo took back"),
    Command("log", "history.log", "show the history of an entry, from git"),
    Command("diff", "history.diff", "show what changed in an entry, or in all"),
    Command("blame", "history.blame", "show which commit and agent last changed each field and line of an entry"),
    Command("restore", "history.restore", "restore an entry as it was at a commit or date"),
    Command("session", "lookup.session", "show what this session was shown, with its refs"),
    Command("sync", "sync.sync", "synchronize this clone with its remote"),
    Command("propose", "sync.propose", "push local changes to a branch of their own, for review"),
    Command("clone", "placement.clone", "clone a store from a remote"),
    Command("remote", "sync.remote", "add, remove and list the remotes of a store"),
    Command("scope", "placement.scope", "list scopes, add and remove those of teams"),
    Command("promote", "recording.promote", "copy lore to another scope"),
    Command("move", "placement.move", "move a store: to a branch, its own repository, or your files"),
    Command("trust", "review.trust", "list, accept or reject quarantined lore from other clones"),
    Command("status", "upkeep.status", "show the state of the store, index, git and embedding"),
    Command("insight", "explore.insight", "show how much lore there is, how good, how used, and which questions find nothing"),
    Command("explore", "explore.explore", "explore a large store: scopes, categories, fields, groups"),
    Command("sql", "explore.sql", "query the store in SQL, read-only"),
    Command("aggregate", "explore.aggregate", "merge several lists of entries into one ranking"),
    Command("skill", "agents.skill", "list skills, and run the query of one"),
    Command("graph", "graph.graph", "show entities, how they are related, and the lore about them"),
    Command("search", "recall.search", "find lore by text, tags, category, agent and dates together"),
    Command("team", "agents.team", "hand work over to other agents, summarize sessions, get the context for a topic"),
    Command("maintain", "upkeep.maintain", "do the periodic work: archive, delete what has expired, pack"),
    Command("live", "explore.live", "show what queries, tools and hooks do here, as it happens"),
    Command("metrics", "explore.metrics", "show counters and latencies of this store"),
    Command("import", "exchange.import_", "import notes, JSON, and what agents and other memory tools keep"),
    Command("extract", "agents.extract", "extract a few candidates from a transcript or a document, as pending lore"),
    Command("export", "exchange.export", "export as JSON, JSON Lines or markdown"),
    Command("link", "graph.link", "define entities, relate them, and link entries to them"),
    Command("adopt", "recording.adopt", "add the missing fields to files that people wrote"),
    Command("reindex", "upkeep.reindex", "bring the search index up to date, or rebuild it"),
    Command("doctor", "upkeep.doctor", "find what is wrong, and repair it with --fix"),
    Command("check", "review.check", "check lore before it is merged: format, secrets, duplicates"),
    Command("config", "store.config", "see and change settings"),
    Command("demo", "placement.demo", "look around in the lore of a made-up team"),
    Command("mcp", "interfaces.mcp", "serve this memory to a coding agent (MCP)"),
    Command("serve", "interfaces.serve", "serve this memory over an HTTP API", ("start",)),
    Command("agents", "agents.agents", "list the coding agents found here, and which are connected"),
    Command("connect", "agents.connect", "let a coding agent use Engram"),
    Command("disconnect", "agents.disconnect", "remove what connect added"),
    Command("hook", "agents.hook", "answer an event of a coding agent (agents call it)"),
    Command("tui", "interfaces.tui", "open the terminal app"),
    Command("completion", "interfaces.completion", "print a shell completion script"),
)  # fmt: skip

# Called by programs, so neither in the help nor in the completion; docs/merge-rules.md documents merge-driver.
PLUMBING = (
    Command("merge-driver", "merge.merge_driver", "merge two versions of an entry's file; git calls it"),
    Command("complete", "interfaces.complete", "print the values a word may become; completion scripts call it"),
)  # fmt: skip


def find(name: str) -> Command | None:
    """Return the command with a name or alias, or None."""
    known = (*COMMANDS, *PLUMBING)
    return next((command for command in known if name == command.name or name in command.aliases), None)
