"""The HTTP API as the center of several clients: consolidation, attribution of judgements, scopes of sent entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from apikit import SetClock, open_test_store
from http_kit import lore, open_client, send_request

from engram.domain.entry import ulid
from engram.domain.judgements.ledger import CONFIRMED, Judgement, parse, render
from engram.usecases.recording.record import Draft, record
from engram.usecases.store import judgements

if TYPE_CHECKING:
    from pathlib import Path

BROKER = "Message brokers confirm a publish only when the channel is in confirm mode."


async def test_a_plan_is_shown_then_carried_out_once(root: Path) -> None:
    clock = SetClock()
    with open_test_store(root, clock=clock) as store:
        for words in ("is five seconds for all of them", "is five seconds for all of them."):
            record(store.store, Draft(f"The deadline of the payment workers {words}", "fact"), again=True)
    async with open_client(root) as client:
        plan = (await send_request(client, "POST", "/consolidate", {"only": ["merge"]})).json()
        assert (plan["applied"], plan["plan"]["by_kind"]) == (None, {"merge": 1})
        assert (await send_request(client, "GET", "/lore")).json()["total"] == 2
        body = {"only": ["merge"], "apply": True}
        done = (await send_request(client, "POST", "/consolidate", body, idempotency_key="k")).json()
        assert done["applied"]["done"] == {"merge": 1}
        again = await send_request(client, "POST", "/consolidate", body, idempotency_key="k")
        assert (again.json(), again.headers["idempotency-replayed"]) == (done, "true")
        assert (await send_request(client, "POST", "/consolidate", {"only": ["merge"]})).json()["plan"][
            "steps"
        ] == []
        assert (await send_request(client, "GET", "/lore")).json()["total"] == 1
        await send_request(client, "POST", "/consolidate", {"only": ["tidy"]}, 422)
        await send_request(client, "POST", "/consolidate", {"skip": ["nothing"]}, 404)


async def test_a_clients_judgement_changes_the_confidence_but_adds_no_supporter(root: Path) -> None:
    async with open_client(root) as client:
        batch = {"source_id": "laptop", "lore": [lore(BROKER)]}
        (made,) = (await send_request(client, "POST", "/lore", batch)).json()["lore"]
        await send_request(client, "POST", "/lore", {**batch, "source_id": "desktop"})
        judged = {"source_id": "phone", "feedback": [{"id": made["id"], "outcome": "helpful"}]}
        await send_request(client, "POST", "/lore/feedback", judged)
    with open_test_store(root) as store:
        entry = store.get(made["id"]).lore
        assert (entry.confidence, entry.sources) == (0.88, ("laptop", "desktop"))
        assert entry.tally.people == ()
        assert [line.client for line in judgements.lines_of(store.store, [entry.id])] == ["desktop", "phone"]


async def test_an_entry_names_its_own_client_and_one_recorded_here_is_confirmed_by_one(root: Path) -> None:
    with open_test_store(root) as store:
        own = store.record(BROKER, category="fact").lore
    async with open_client(root) as client:
        mixed = [lore("Sent by the gateway.", source_id="gateway"), lore("Sent by the batch."), lore(BROKER)]
        done = (await send_request(client, "POST", "/lore", {"source_id": "ci", "lore": mixed})).json()[
            "lore"
        ]
        found = [(await send_request(client, "GET", f"/lore/{one['id']}")).json()["lore"] for one in done]
    assert [one["sources"] for one in found] == [["gateway"], ["ci"], [own.source_id, "ci"]]
    assert (found[2]["id"], found[2]["confidence"]) == (own.id, 0.8)


def test_a_ledger_line_keeps_its_client_and_an_invalid_one_is_malformed() -> None:
    source, entry = ulid.encode(1, 1), ulid.encode(1, 2)
    line = Judgement(ulid.encode(2, 3), entry, CONFIRMED, text="a", agent="x", source=source, client="laptop")
    assert parse(render(line), source).judgements == [line]
    wrong: Any = render(line).replace(b'"laptop"', b"7")
    assert parse(wrong, source).malformed == 1


@pytest.mark.usefixtures("home")
async def test_a_client_id_is_looked_up_in_the_scope_of_its_entry(root: Path) -> None:
    made = ulid.encode(1_705_314_600_000, 5)
    async with open_client(root) as client:
        here = {"lore": [lore("In the project.", id=made)]}
        assert (await send_request(client, "POST", "/lore", here)).json()["accepted"] == 1
        own = {"lore": [lore("In my own store.", id=made, scope="user")]}
        assert (await send_request(client, "POST", "/lore", own)).json()["lore"][0]["scope"] == "user"
        assert (await send_request(client, "POST", "/lore", own)).json()["merged"] == 1
        assert (await send_request(client, "GET", f"/lore/{made}")).json()["lore"][
            "content"
        ] == "In the project."
