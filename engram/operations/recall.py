"""`query` and `search`, and the filters that operations on many entries share."""

from engram.operations.description import CLI, MCP, Operation, flag, share, text, texts, whole

FILTERS = (
    texts("categories", "category", "only this category"),
    texts("tags", "tag", "only entries with this tag, or with all of several"),
)

QUERY = Operation("query", (
    text("text", "the question, in your own words", required=True, agent_help="What you are about to do, in words"),
    whole("limit", "how many entries (default: recall.limit, 5)", low=1, high=100),
    share("min_confidence", "leave out entries below this (default: recall.min_confidence, 0.50)"),
    *FILTERS,
    texts("types", "type", "only this type", front_ends=(CLI,)),
    texts("files", "file", "a file you work on: entries about it rank higher",
          agent_help="Paths you work on"),
    whole("budget", "about how many tokens of lore to print (default: recall.budget, 500; with --json all)", front_ends=(CLI,)),
    text("strategy", "hybrid, words (no model) or scan (no index)", default="hybrid",
         choices=("hybrid", "words", "scan"), front_ends=(CLI,)),
    text("as_of", "query the store as of a commit, tag or date", front_ends=(CLI,)),
    texts("scopes", "scope", "only this scope", agent_help="session, project, user or a team's; default all",
          front_ends=(MCP,)),
    flag("hop", "also entries one step away in the entity graph", default=None, front_ends=(CLI,)),
))  # fmt: skip

SEARCH = Operation("search", (
    text("text", "words to look for"),
    whole("limit", "how many", default=10, low=1, high=50),
    *FILTERS,
    texts("agents", "agent", "only entries recorded by this agent"),
    text("since", "only entries recorded on or after this date (or time)", agent_help="Date, as 2026-11-01"),
    text("until", "only entries recorded up to and including this date", agent_help="Date, inclusive"),
    text("scope", "only this scope", front_ends=(MCP,)),
))  # fmt: skip
