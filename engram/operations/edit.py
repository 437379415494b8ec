"""`edit`: change fields of an entry; what is not given stays."""

from engram.domain.entry.lore import STATUSES
from engram.operations.description import CLI, HTTP, MCP, TAG, Operation, flag, share, text, texts

EDIT = Operation("edit", (
    text("content", "its new text; - reads standard input", default=None),
    text("category", "its new category", default=None),
    texts("context", "context", "where and when it was learned, replacing the current text", default=None),
    share("confidence", "how sure, stated anew, 0.00 to 1.00; judgements still count", only=(CLI, HTTP)),
    share("importance", "how much it matters, 0.00 to 1.00"),
    text("status", "active, pending, archived or superseded", default=None, choices=STATUSES),
    text("type", "episodic, semantic, procedural or working", default=None, only=(HTTP,)),
    texts("tags", "tag", "all its tags", default=None, agents="Replaces the current ones", only=(MCP, HTTP)),
    texts("add_tags", "add_tag", "add a tag", values=TAG, only=(CLI,)),
    texts("remove_tags", "remove_tag", "remove a tag", values=TAG, only=(CLI,)),
    texts("files", "file", "the files it is about, replacing the current ones", default=None),
    texts("when", "when", "all its moments", default=None, agents="Replaces the current moments", only=(MCP, HTTP)),
    texts("add_when", "when", "add a moment at which it is shown, such as 'command: git push'", only=(CLI,)),
    texts("remove_when", "no_when", "remove a moment", only=(CLI,)),
    texts("entities", "entity", "the entities it is about, replacing the current ones", default=None, only=(HTTP,)),
    flag("pinned", "exempt it from decay", default=None, only=(CLI, HTTP)),
))  # fmt: skip
