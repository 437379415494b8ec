"""Operations of agents that share a memory: hand over, summarize, get a context, observe, register."""

from engram.operations.description import CLI, MCP, SCOPE, Operation, flag, text, texts, whole

_AGENT = text("agent", "who hands over, observes or asks (default: the caller)", agent_help="Your id")
_FILES = texts("files", "file", "a file it is about")

HANDOFF = Operation("handoff", (
    text("summary", required=True, agent_help="What was done, what is left, what to watch", front_ends=(MCP,)),
    text("to", "the recipient (default: anybody)", agent_help="An agent's id; empty: whoever comes next"),
    text("topic", "what it is about, in a few words"),
    _FILES,
    _AGENT,
))  # fmt: skip

SUMMARY = Operation("summary", (
    text("summary", required=True, agent_help="Asked, decided, done, left open", front_ends=(MCP,)),
    texts("participants", "with", "who took part", agent_help="Others who took part"),
    _FILES,
    flag("new", "start a new conversation", agent_help="Start a new conversation"),
))  # fmt: skip

CONTEXT = Operation("context", (
    text("topic", required=True, agent_help="What you are about to work on", front_ends=(MCP,)),
    whole("max_tokens", "the most tokens", default=1000, low=200, high=20_000),
    _AGENT,
    text("scope", front_ends=(MCP,)),
))  # fmt: skip

OBSERVE = Operation("observe", (
    text("text", required=True, high=8000, front_ends=(MCP,)),
    _FILES,
    _AGENT,
))  # fmt: skip

REGISTER = Operation("register", (
    text("id", required=True, agent_help="Lower-case words with -", front_ends=(MCP,)),
    text("name", "its name"),
    texts("capabilities", "capability", "what it can do"),
    text("default_scope", "the scope of its handoffs and observations", values=SCOPE, front_ends=(CLI, MCP)),
))  # fmt: skip
