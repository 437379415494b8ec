"""`doctor` and `check` report broken and ambiguous links."""

from __future__ import annotations

from pathlib import Path

from apikit import cli, ok, open_test_store
from graph_kit import write_entity

from engram.usecases.upkeep.doctor import doctor


def test_doctor_and_check_report_links_that_do_not_resolve(root: Path) -> None:
    write_entity(
        root,
        "zookeeper.md",
        "---\nname: ZooKeeper\ntype: tool\naliases: [zk]\n---\nSee [[kafka]] and [[nowhere]].\n",
    )
    write_entity(
        root,
        "kafka.md",
        "---\nname: Kafka\nrelationships: [{kind: uses, to: zk}, {kind: uses, to: disk}]\n---\n",
    )
    write_entity(root, "one.md", "---\nname: Mercury\n---\n")
    write_entity(root, "two.md", "---\nname: Mercurial\naliases: [mercury]\n---\n")
    write_entity(root, "bad.md", "---\ntype: fruit\n---\n")
    with open_test_store(root) as engram:
        engram.record(
            "[[zk]], [[ZooKeeper]], [[zoo-keeper]] and [[Kafka]] are all well but one", category="fact"
        )
        engram.record("[[MERCURY]] is not, nor is what is about it", category="fact", entities=["MERCURY"])
        found = [(one.kind, one.message) for one in doctor(engram.store) if one.kind in ("entity", "link")]
        remarks = [(one.kind, one.message) for one in engram.check().remarks]
    links = [
        "ambiguous link: MERCURY may mean lore/entities/one.md, lore/entities/two.md",
        "ambiguous link: [[MERCURY]] may mean lore/entities/one.md, lore/entities/two.md",
        "broken link: nothing here is called [[zoo-keeper]]",
        "broken link: no entity here is called disk (uses)",
        "broken link: nothing here is called [[nowhere]]",
    ]
    assert sorted(found) == sorted(
        [("entity", "type must be one of person, project, company, concept, tool, not 'fruit'")]
        + [("link", message) for message in links]
    )
    assert sorted(remarks) == sorted([("file", found[0][1])] + [("link", message) for message in links])
    assert cli("check", cwd=root).code == 1
    assert "lore/entities/bad.md:2" in cli("doctor", cwd=root).out
    assert "4 entities, 1 file with problems: engram doctor" in ok("status", cwd=root).out
