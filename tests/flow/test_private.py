"""Personal data and secrets: whatever door they come in by, no byte of them is kept."""

import json
import os
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from memory_mesh.model import Scope
from memory_mesh.model.errors import MeshError
from memory_mesh.model.job import ATTEMPTS
from memory_mesh.model.ports import Sink
from memory_mesh.models.sinks.jsonl import JsonLinesSink
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.corpora import pii
from tests.faults.sample import is_whole
from tests.receipts import id_of

MAIL = "bob.builder@example.com"
TOKEN = "ghp_" + "a1B2" * 9


def bytes_of(folder: Path) -> bytes:
    """Every byte of the files, and the rows of databases: a page may end within a word."""
    found = [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()]
    for path in folder.rglob("*.db"):
        with closing(sqlite3.connect(path)) as db:
            found += [line.encode("utf-8", "replace") for line in db.iterdump()]
    return b"\n".join(found)


def _told_until_dead(folder: Path, sink: Sink) -> None:
    clock = FrozenClock()
    with MemoryMesh(db_dir=folder, sinks=[sink], clock=clock) as mesh:
        mesh.add("something to tell")
        for _ in range(ATTEMPTS):
            mesh.care.upkeep()
            clock.advance(timedelta(hours=1))


@pytest.mark.req("R-000-186", "R-000-187", "R-000-257", "R-002-067", "R-002-068")
def test_no_door_lets_it_in(tmp_path):
    store = tmp_path / "store"
    sink = JsonLinesSink(store / "audit.jsonl")
    with MemoryMesh(db_dir=store, sinks=[sink], session=MAIL, agent_id=MAIL) as mesh:
        stored = id_of(mesh.add(
            f"Write to {MAIL} about the release",
            {"owner": MAIL, "deep": {MAIL: [f"token {TOKEN}"]}, "tags": [MAIL], "hypothesis": MAIL},
            speaker=MAIL, source_agent=MAIL, source_ref=f"mail/{MAIL}.txt", key=f"key {MAIL}",
        ))  # fmt: skip
        mesh.update(stored, f"Write to {MAIL} twice", {"owner": MAIL}, reason="asked twice")
        mesh.insert_heritage(stored, {"intentChain": [MAIL], "rationales": [TOKEN]})
        mesh.search(f"what does {MAIL} want", filter=f"source = '{MAIL}'")
        mesh.search_skills(MAIL)
        mesh.ingest_skill(
            f"name; Mail {MAIL};\nintent; write to {MAIL};", {"by": MAIL}, f"{MAIL}.md"
        )
        mesh.distill_lesson(
            {
                "situation": f"mail to {MAIL} bounced",
                "error_pattern": f"bounce {MAIL}",
                "oversight": TOKEN,
                "fix": MAIL,
                "preventative_rule": f"Never write to {MAIL}",
                "severity": "low",
                "applicable_scope": MAIL,
                "inverse_lesson": MAIL,
            }
        )
        mesh.delete(stored, reason=f"{MAIL} asked for it")
        assert mesh.care.verify().ok
    kept = bytes_of(store)
    assert b"[EMAIL_" in (store / "audit.jsonl").read_bytes()
    for secret in (MAIL, TOKEN, MAIL.upper()):
        assert secret.encode() not in kept


def test_what_was_redacted_is_still_found_by_its_value(mesh):
    mesh.add(f"Write to {MAIL} about the release", source_agent=MAIL)
    mesh.add("Write to ann@example.com about the release")
    best = mesh.search(MAIL)[0]
    assert "[EMAIL_" in best.content
    assert "release" in best.content
    (only,) = mesh.search("release", filter=f"source = '{MAIL}'")
    assert only.id == best.id
    assert mesh.search(MAIL, scope=Scope(session=MAIL))[0].id == best.id


def test_a_session_named_by_an_address_finds_its_own(mesh):
    stored = mesh.add("only here", scope=Scope(session=MAIL))
    assert [hit.id for hit in mesh.search("only", scope=Scope(session=MAIL))] == [stored.id]
    assert mesh.search("only", scope=Scope(session="ann@example.com")) == []
    mesh.add("again", key=MAIL)
    assert mesh.add("again", key=MAIL).again


@pytest.mark.req("R-002-072")
def test_placeholders_are_stable_here_and_different_elsewhere(tmp_path):
    def stored(folder, namespace):
        with MemoryMesh(db_dir=folder, namespace=namespace) as mesh:
            return mesh.add(f"write to {MAIL}").content

    one = stored(tmp_path / "a", "one")
    assert stored(tmp_path / "a", "one") == one
    assert stored(tmp_path / "a", "two") != one
    assert stored(tmp_path / "b", "one") != one


def test_the_key_lies_outside_the_store_and_belongs_to_its_owner(tmp_path):
    with MemoryMesh(db_dir=tmp_path / "store") as mesh:
        mesh.add("nothing personal")
        assert not list(Path(os.environ["HOME"]).rglob("*.key"))
        mesh.add(f"write to {MAIL}")
    (key,) = Path(os.environ["HOME"]).rglob("*.key")
    assert key.stat().st_mode & 0o777 == 0o600


@pytest.mark.req("R-000-188", "R-000-189", "R-000-190")
def test_a_byte_search_finds_none_of_the_corpus(tmp_path):
    store = tmp_path / "store"
    every = [case for case in pii.positives() if len(case.raw) > 5]
    cases = every[:: 1 if is_whole() else 5]
    with MemoryMesh(db_dir=store) as mesh:
        receipts = mesh.add_many(
            {"content": case.text, "metadata": {"note": case.text}} for case in cases
        )
        for case in cases[::20]:
            mesh.search(case.text[:500])
    missed = {
        case.raw for case, done in zip(cases, receipts, strict=True) if case.raw in done.content
    }
    kept = bytes_of(store)
    found = {case.raw for case in cases if case.raw.encode() in kept}
    escaped = {case.raw for case in cases if json.dumps(case.raw)[1:-1].encode() in kept}
    assert (found | escaped) <= missed
    assert len(missed) <= 0.02 * len(cases)
    assert len(every) >= 2_000
    assert {case.kind for case in cases} == {case.kind for case in every}


def test_redaction_can_be_switched_off_and_users_add_rules(tmp_path):
    with MemoryMesh(db_dir=tmp_path / "off", redact=False) as mesh:
        assert MAIL in mesh.add(f"write to {MAIL}").content
    rule = {"name": "badge", "label": "BADGE", "pattern": r"B-\d{4}"}
    with MemoryMesh(db_dir=tmp_path / "own", settings={"privacy_rules": [rule]}) as mesh:
        assert "[BADGE_" in mesh.add("the badge B-1234 was lost").content


def test_a_skill_s_metadata_and_marked_up_text_are_redacted(mesh):
    given = {"password": "hunter22", MAIL: 1}
    skill = mesh.ingest_skill("name; Mail;\nWrite to bob@**example**.com", given).skill
    assert "hunter22" not in str(skill.extra)
    assert MAIL not in str(skill.extra)
    assert "[EMAIL_" in skill.text
    block = mesh.distill_lesson(
        {
            "situation": "s", "error_pattern": "e", "oversight": "o", "fix": "f",
            "preventative_rule": "Never write to bob@**example**.com", "severity": "low",
            "applicable_scope": "a",
        }
    )  # fmt: skip
    assert "[EMAIL_" in block.preventative_rule


def test_a_failing_sink_leaves_no_trace_of_it(tmp_path):
    class Broken:
        name = "broken"

        def deliver(self, namespace, blocks):
            raise ValueError(f"cannot reach {MAIL}")

    _told_until_dead(tmp_path, Broken())
    kept = bytes_of(tmp_path)
    assert b"cannot reach [EMAIL]" in kept
    assert MAIL.encode() not in kept


@pytest.mark.req("R-003-096")
def test_the_kept_message_of_a_failing_sink_holds_no_credential(tmp_path):
    secrets = (TOKEN, "hunter22-and-more", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl")

    class Refused:
        name = "refused"

        def deliver(self, namespace, blocks):
            said = f"401 for token={secrets[0]} at postgres://ann:{secrets[1]}@db.example.com/x"
            raise ConnectionError(f"{said}, Authorization: Bearer {secrets[2]}")

    _told_until_dead(tmp_path, Refused())
    kept = bytes_of(tmp_path)
    assert b"ConnectionError: 401 for" in kept
    assert [secret for secret in secrets if secret.encode() in kept] == []


def test_a_redactor_that_fails_lets_nothing_through(tmp_path, monkeypatch):
    store = tmp_path / "store"
    with MemoryMesh(db_dir=store) as mesh:
        mesh.add("first")
        monkeypatch.setenv("MEMORY_MESH_KEY_DIR", str(store / "inside"))
        with pytest.raises(MeshError):
            mesh.add(f"write to {MAIL}")
        with pytest.raises(MeshError):
            mesh.search(MAIL)
    assert MAIL.encode() not in bytes_of(store)
