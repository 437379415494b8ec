"""`record`: write a new entry."""

from engram.domain.entry.lore import ACTIVE, STATUSES
from engram.operations.description import CLI, HTTP, MCP, REF, Operation, flag, share, text, texts

RECORD = Operation("record", (
    text("content", "what was learned, as markdown; - reads standard input", required=True,
         agent_help="Markdown, 4000 characters at most: title, what to know, last, "
                "in everyday words, the symptom or question and the task it helps with"),
    text("category", "what kind of entry it is (`engram config` lists them; default: guessed from the text)"),
    texts("context", "context", "where and when it was learned", agent_help="Where and when learned"),
    share("confidence", "how sure, 0.00 to 1.00 (default: record.confidence, 0.70)"),
    texts("tags", "tag", "a topic"),
    texts("files", "file", "a file it is about", agent_help="Paths it is about"),
    texts("entities", "entity", "an entity it is about: a person, project, tool …", front_ends=(CLI, HTTP)),
    texts("when", "when", "show it at this moment: 'command: git push', 'file: *.tf', 'tool: NAME' or 'error: TEXT'",
          agent_help="When to show it: 'command: git push', 'file: *.tf', 'error: X'"),
    text("type", "episodic, semantic, procedural or working (default: by category)", front_ends=(CLI, HTTP)),
    text("status", "active, or pending to wait for review", default=ACTIVE, choices=STATUSES, front_ends=(CLI, HTTP)),
    text("agent", "who records it (default: the calling agent, else human)", front_ends=(CLI,)),
    share("importance", "how much it matters, 0.00 to 1.00", front_ends=(HTTP,)),
    flag("pinned", "exempt it from decay", front_ends=(CLI, HTTP)),
    texts("supersedes", "supersedes", "an entry that it replaces", values=REF, agent_help="Refs whose place it takes",
          front_ends=(CLI, MCP)),
    text("same_as", "the entry that says it in other words: that one is confirmed, and nothing is recorded", values=REF,
         agent_help="Ref that says it in other words; it is confirmed instead", front_ends=(CLI, MCP)),
    text("scope", agent_help="session, project, user or a team's", front_ends=(MCP,)),
    flag("redact", "mask secrets instead of refusing the entry", agent_help="Mask secrets"),
))  # fmt: skip
