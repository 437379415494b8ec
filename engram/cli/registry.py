"""Every command of the command line: its name, the module that does it, one line of help."""

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
    Command("feedback", "recording.feedback", "judge entries: helpful, incorrect or not relevant"),
    Command("show", "lookup.show", "show one entry in full"),
    Command("list", "lookup.listing", "list lore by filter and order"),
    Command("edit", "recording.edit", "change an entry, in your editor or by field"),
    Command("forget", "recording.forget", "delete lore (git history keeps it)"),
    Command("review", "review.review", "list what needs a decision, and decide"),
    Command(
        "consolidate", "consolidation.consolidate", "tidy up: merge, archive, promote, decay; a plan first"
    ),
    Command("evolve", "tuning.evolve", "tune the ranking from judged queries"),
    Command(
        "worth", "consolidation.worth", "how often entries were shown and helped, and their cost in tokens"
    ),
    Command("undo", "history.undo", "undo the last operations"),
    Command("redo", "history.redo", "redo what the last undo reverted"),
    Command("log", "history.log", "the history of an entry, from git"),
    Command("diff", "history.diff", "show what changed in one entry or in all"),
    Command("blame", "history.blame", "show which commit and agent wrote each field and line"),
    Command("restore", "history.restore", "restore an entry as of a commit or date"),
    Command("session", "lookup.session", "list the entries this session was shown, with their refs"),
    Command("sync", "sync.sync", "synchronize this clone with its remote"),
    Command("clone", "placement.clone", "clone a store from its remote"),
    Command("remote", "sync.remote", "add, remove and list the remotes of a store"),
    Command("scope", "placement.scope", "list scopes, add and remove team scopes"),
    Command("promote", "recording.promote", "copy lore to another scope"),
    Command("move", "placement.move", "move a store: to a branch, its own repository, or your files"),
    Command("trust", "review.trust", "list, accept or reject quarantined lore"),
    Command("status", "upkeep.status", "show the state of store, index, git and embedding"),
    Command("insight", "explore.insight", "statistics: growth, quality, use, unanswered questions"),
    Command("explore", "explore.explore", "explore a large store: scopes, kinds, fields, groups"),
    Command("sql", "explore.sql", "query the store with SQL, read-only"),
    Command("aggregate", "explore.aggregate", "merge several ranked lists of entries into one"),
    Command("skill", "agents.skill", "list skills, and run the query of one"),
    Command("graph", "graph.graph", "show entities, their relationships and the lore about them"),
    Command("search", "recall.search", "find lore by text, tags, category, agent and dates together"),
    Command("team", "agents.team", "agents that share this memory: handoffs, summaries, context"),
    Command("maintain", "upkeep.maintain", "periodic maintenance: decay, archive, delete garbage, pack"),
    Command("live", "explore.live", "show what queries, tools and hooks do here, as it happens"),
    Command("metrics", "explore.metrics", "show counters and latencies of this store"),
    Command("import", "exchange.import_", "import notes, JSON, and memories of agents and other tools"),
    Command(
        "extract", "agents.extract", "extract a few candidates from a transcript or document, as pending lore"
    ),
    Command("export", "exchange.export", "export as JSON, JSON Lines or markdown"),
    Command("link", "graph.link", "describe entities and link them with entries"),
    Command("adopt", "recording.adopt", "add missing fields to files written by hand"),
    Command("reindex", "upkeep.reindex", "bring the search index up to date, or rebuild it"),
    Command("doctor", "upkeep.doctor", "find problems, and fix them with --fix"),
    Command("check", "review.check", "check entries before they are merged: format, secrets, duplicates"),
    Command("config", "store.config", "show and change settings"),
    Command("demo", "placement.demo", "show how two conflicting clones are merged"),
    Command("mcp", "interfaces.mcp", "serve this memory to a coding agent (MCP)"),
    Command("serve", "interfaces.serve", "serve this memory over an HTTP API"),
    Command("agents", "agents.agents", "list the coding agents installed here, and which are connected"),
    Command("connect", "agents.connect", "let a coding agent use Engram"),
    Command("disconnect", "agents.disconnect", "remove what connect added"),
    Command("hook", "agents.hook", "answer an event of a coding agent (agents call it)"),
    Command("tui", "interfaces.tui", "open the terminal app"),
    Command("completion", "interfaces.completion", "print a shell completion script"),
)

# Called by programs, so in neither the help nor the completion; docs/merge-rules.md says what the first does.
PLUMBING = (
    Command("merge-driver", "merge.merge_driver", "merge two versions of an entry's file; git calls it"),
    Command(
        "complete", "interfaces.complete", "print the values a word may become; completion scripts call it"
    ),
)


def find(name: str) -> Command | None:
    """The command of that name or alias."""
    known = (*COMMANDS, *PLUMBING)
    return next((command for command in known if name == command.name or name in command.aliases), None)
