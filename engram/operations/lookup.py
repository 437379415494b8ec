"""`list` and `delta`: the entries of a store by filter and order, and those that changed."""

from engram.domain.entry.lore import STATUSES
from engram.operations.description import CLI, HTTP, Operation, text, whole
from engram.operations.recall import FILTERS

MOST_LISTED = 1000  # in one answer over HTTP
SORTS = ("created", "updated", "confidence", "helpful", "title", "category")

LIST = Operation("list", (
    whole("limit", "how many", default=20, low=1, high=MOST_LISTED),
    whole("offset", "how many to skip", default=0, low=0, high=999_999_999, front_ends=(HTTP,)),
    *FILTERS,
    text("status", "only active, pending, archived or superseded", choices=STATUSES),
    text("when", "only entries with a moment; with TEXT those shown at this command, file, tool or error",
         default=None, front_ends=(CLI,)),
    text("sort", "created, updated, confidence, helpful, title or category", default="created", choices=SORTS),
))  # fmt: skip

DELTA = Operation("delta", (
    text("since", "the cursor of the previous answer, or a time (default: everything)"),
    whole("limit", "how many changes", low=1, high=MOST_LISTED),
))  # fmt: skip
