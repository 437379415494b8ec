"""Requests and answers of the HTTP API that are not arguments of an MCP tool.

Docstrings and descriptions are part of the OpenAPI document. The arguments of the tools (`engram.mcp.tools`) are used as
they are, so that both front ends describe entries, queries and judgements alike.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from engram.domain.entry.lore import STATUSES
from engram.mcp.results import Judgement
from engram.mcp.tools.arguments import make_annotation
from engram.operations.description import HTTP, Operation
from engram.operations.edit import EDIT
from engram.operations.record import RECORD
from engram.operations.sync import SYNC

MOST_LORE = 500
MOST_FEEDBACK = 100


class Shape(BaseModel):
    """A request: a key that it does not have is an error."""

    model_config = ConfigDict(extra="forbid")


class Outcome(Shape):
    """One judgement of an entry."""

    id: str = Field(description="Session ref, id, or the start of one")
    outcome: Literal["helpful", "not_relevant", "incorrect"]


class FeedbackList(Shape):
    """Judgements one by one, as clients of recall send them."""

    feedback: Annotated[list[Outcome], Field(min_length=1, max_length=MOST_FEEDBACK)]
    source_id: str = Field(
        default="", max_length=40, description="The client that judges: its word counts as its own"
    )


class RelationTo(Shape):
    """A link to another entry."""

    kind: Literal["supersedes", "contradicts", "refines", "caused_by", "see_also"]
    id: str


class _Changing(Shape):
    """What is to change in an entry; what is left out stays, what is null goes."""

    relations: list[RelationTo] | None = None
    expires_at: str | None = Field(default=None, description="RFC 3339")


class _Replacing(Shape):
    """An entry as it is to be; what is left out gets its default, but confidence and status stay."""

    relations: list[RelationTo] = []
    expires_at: str | None = Field(default=None, description="RFC 3339")


class _Syncing(Shape):
    """With which remote (its usual one where none is named), whether to bring in and to send, and how long to wait."""


def make_shape(name: str, base: type[Shape], operation: Operation, **changes: dict[str, Any]) -> type[Shape]:
    """Create the model of a request: the fields of `base`, and the parameters of an operation that HTTP offers.

    `changes` override fields of parameters, by parameter.
    """
    fields: dict[str, Any] = {
        parameter.name: (make_annotation(parameter), ... if parameter.required else parameter.default)
        for parameter in operation.offered(HTTP, **changes)
    }
    return create_model(name, __base__=base, __doc__=base.__doc__, **fields)


Changes = make_shape("Changes", _Changing, EDIT)
Whole = make_shape("Whole", _Replacing, RECORD, status={"default": "", "choices": ("", *STATUSES)})
Syncing = make_shape("Syncing", _Syncing, SYNC, timeout={"default": 60, "high": 600})


class Tidying(Shape):
    """Which steps to plan, and whether to carry them out; nothing is changed unless `apply` is true."""

    apply: bool = Field(default=False, description="Carry the plan out")
    only: list[Literal["merge", "supersede", "archive", "promote", "decay"]] = Field(
        default=[], description="Kinds of steps; none: all"
    )
    skip: list[str] = Field(default=[], description="Steps to leave out: id, start of one, or kind")
    confirm: list[str] = Field(default=[], description="Steps to do that wait for a word: id, start, kind")
    to: str = Field(default="", description="The scope that promotions go to")


class Tidied(BaseModel):
    """A plan, how it would change the answers to past queries, and what was done of it (null: nothing)."""

    plan: dict[str, Any]
    applied: dict[str, Any] | None


SourceId = Annotated[str, Field(max_length=40, description="The client that sends this: a ULID or a name")]


class Sent(Shape):
    """What a client may say of an entry besides: the id that it gave it, when it was learned, and who says so."""

    id: str = Field(default="", description="A ULID made by the client; sent again it is known")
    created_at: str = Field(default="", description="RFC 3339")
    source_id: SourceId = ""


class Batch(Shape):
    """Several entries, each taken or refused on its own. `flush` means nothing here: what is answered is on disk."""

    lore: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=MOST_LORE)]
    source_id: SourceId = ""
    flush: bool = False


class LoreOut(BaseModel):
    """An entry with all its fields."""

    model_config = ConfigDict(extra="allow")

    id: str
    title: str
    content: str
    context: str | list[str] | None
    category: str
    confidence: float
    stated: float = Field(description="The confidence that its author stated")
    here: float | None = Field(default=None, description="The confidence as it counts in this clone")
    tier: str = Field(default="", description="unconfirmed, confirmed, disputed, captured or held")
    validation_count: int
    last_validated: str | None
    status: str
    type: str
    tags: list[str]
    files: list[str]
    when: list[str] = Field(default=[], description="At which moments hooks show it")
    agent: str
    author: str = Field(
        default="", description="The person, as git names them, who recorded it or whose agent did"
    )
    source_id: str
    created_at: str
    updated_at: str
    path: str
    digest: str = Field(default="", description="What its file is known by: the ETag")


class OneLore(BaseModel):
    """An entry."""

    lore: LoreOut


class Patched(OneLore):
    """The entry as it is now, and why the change has it wait for review, if it does."""

    pending: str


class PutDone(Patched):
    """The same, and whether it was made."""

    created: bool


class Listed(BaseModel):
    """Lore by filter and order, and how many there are in all."""

    lore: list[LoreOut]
    total: int


class TakenIn(BaseModel):
    """What became of one entry that was sent; `similar` are entries that say nearly the same."""

    index: int
    outcome: Literal["accepted", "merged", "rejected"]
    id: str = ""
    path: str = ""
    digest: str = ""
    scope: str = ""
    similar: list[dict[str, Any]] = []
    pending: str = Field(default="", description="Why it waits for review, if it does")
    error: dict[str, Any] | None = None


class Ingest(BaseModel):
    """How many were accepted, merged, rejected; `errors` say why, `lore` has each."""

    accepted: int
    merged: int
    rejected: int
    errors: list[str]
    lore: list[TakenIn]


class Hit(LoreOut):
    """An entry of an answer: its short name in the session, and why it is here."""

    ref: str
    score: float
    why: dict[str, Any]
    via: str
    scope: str
    truncated: bool
    origin: dict[str, Any]


class Answered(BaseModel):
    """The answer to a query. `notice` says what lore is: data, not instructions."""

    query: str
    strength: Literal["strong", "weak", "none"]
    strategy: str
    notice: str
    lore: list[Hit]
    session_refs: dict[str, str]
    took_ms: float
    notes: list[str]


class FeedbackDone(BaseModel):
    """What feedback did to each entry; `updates` is the same list under the name that clients of recall know."""

    updated: list[Judgement]
    updates: list[Judgement]


class Deleted(BaseModel):
    """The entries that were deleted; `undo` is the command that brings them back, where there is one."""

    deleted: str
    undo: str


class Changed(BaseModel):
    """Lore that came or changed here, which of them came, ids that went, and what to send as `since` next time."""

    lore: list[LoreOut]
    created_ids: list[str]
    deleted_ids: list[str]
    as_of: str
    cursor: str = Field(description="What to send as `since` next time")
    more: bool = Field(description="Whether that has something to say at once")


class SyncDone(BaseModel):
    """What a sync did, counted in files; `errors` is what went wrong after something had been done."""

    model_config = ConfigDict(extra="allow")

    ok: bool
    remote: str
    branch: str
    pulled: int
    pushed: int
    merged: int
    folded: int
    conflicts: int
    held: int
    errors: list[dict[str, Any]]
    duration_ms: int
    head: str | None


class Health(BaseModel):
    """Whether the server works; with the token also what it serves."""

    status: Literal["healthy", "degraded"]
    version: str
    lore_count: int | None = None
    embedding_model: str | None = None
    strategy: str | None = None
    last_snapshot: str | None = Field(default=None, description="When a client last took a snapshot")


class Problem(BaseModel):
    """An error by RFC 9457, with the code, message and hint that all of Engram's front ends give."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    error: dict[str, Any]
    errors: list[dict[str, str]] = []
