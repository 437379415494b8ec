"""`edit`: change fields of an entry; what is not given stays."""

from engram.domain.entry.lore import STATUSES
from engram.operations.description import CLI, HTTP, MCP, TAG, Operation, flag, share, text, texts

EDIT = Operation("edit", (
    text("content", "its new text; - reads standard input", default=None),
    text("category", "its new category", default=None),
    texts("context", "context", "where and when it was learned, replacing the current text", default=None),
    share("confidence", "how sure, stated anew, 0.00 to 1.00; judgements still count", front_ends=(CLI, HTTP)),
    share("importance", "how much it matters, 0.00 to 1.00"),
    text("status", "active, pending, archived or superseded", default=None, choices=STATUSES),
    text("type", "episodic, semantic, procedural or working", default=None, front_ends=(HTTP,)),
    texts("tags", "tag", "all its tags", default=None, agent_help="Replaces the current ones", front_ends=(MCP, HTTP)),
    texts("add_tags", "add_tag", "add a tag", values=TAG, front_ends=(CLI,)),
    texts("remove_tags", "remove_tag", "remove a tag", values=TAG, front_ends=(CLI,)),
    texts("files", "file", "the files it is about, replacing the current ones", default=None),
    texts("when", "when", "all its moments", default=None, agent_help="Replaces the current moments", front_ends=(MCP, HTTP)),
    texts("add_when", "when", "add a moment at which it is shown, such as 'command: git push'", front_ends=(CLI,)),
    texts("remove_when", "no_when", "remove a moment", front_ends=(CLI,)),
    texts("entities", "entity", "the entities it is about, replacing the current ones", default=None, front_ends=(HTTP,)),
    flag("pinned", "exempt it from decay", default=None, front_ends=(CLI, HTTP)),
))  # fmt: skip
