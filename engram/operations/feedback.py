"""`feedback`: judge lore that was recalled."""

from engram.operations.description import CLI, MCP, REF, Operation, flag, text, texts

MOST_REFS = 20  # in one call of an agent

FEEDBACK = Operation("feedback", (
    texts("helpful", "helpful", "it helped: confidence +0.08", values=REF, high=MOST_REFS),
    texts("not_relevant", "not_relevant", "it is right, but not what was asked", values=REF, high=MOST_REFS),
    texts("incorrect", "incorrect", "it is wrong: confidence −0.15", values=REF, high=MOST_REFS),
    text("scope", front_ends=(MCP,)),
    flag("again", "count it even if this session has given the same judgement before", front_ends=(CLI,)),
))  # fmt: skip
