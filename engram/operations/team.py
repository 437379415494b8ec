"""What agents that share a memory do for one another: hand over, sum up, observe, say who they are."""

from engram.operations.description import CLI, MCP, SCOPE, Operation, flag, text, texts, whole

_AGENT = text("agent", "who hands over, observes or asks (default: the caller)", agents="Your id")
_FILES = texts("files", "file", "a file it is about")

HANDOFF = Operation("handoff", (
    text("summary", required=True, agents="What was done, what is left, what to watch", only=(MCP,)),
    text("to", "the recipient (default: anybody)", agents="An agent's id; empty: whoever comes next"),
    text("topic", "what it is about, in a few words"),
    _FILES,
    _AGENT,
))  # fmt: skip

SUMMARY = Operation("summary", (
    text("summary", required=True, agents="Asked, decided, done, left open", only=(MCP,)),
    texts("participants", "with", "who took part", agents="Others who took part"),
    _FILES,
    flag("new", "start a new conversation", agents="Start a new conversation"),
))  # fmt: skip

CONTEXT = Operation("context", (
    text("topic", required=True, agents="What you are about to work on", only=(MCP,)),
    whole("max_tokens", "the most tokens", default=1000, low=200, high=20_000),
    _AGENT,
    text("scope", only=(MCP,)),
))  # fmt: skip

OBSERVE = Operation("observe", (
    text("text", required=True, high=8000, only=(MCP,)),
    _FILES,
    _AGENT,
))  # fmt: skip

REGISTER = Operation("register", (
    text("id", required=True, agents="Lower-case words with -", only=(MCP,)),
    text("name", "its name"),
    texts("capabilities", "capability", "what it can do"),
    text("default_scope", "the scope of its handoffs and observations", values=SCOPE, only=(CLI, MCP)),
))  # fmt: skip
