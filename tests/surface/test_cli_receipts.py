"""What a command says of a write: RFC-0011's line on standard output, the rest beside it."""

import json
from dataclasses import replace

from memory_mesh.sync import MemoryMesh
from tests.surface.command import CommandLine

TEA = "The tea is in the second drawer"
MAIL = "bob@example.com"


def test_a_new_memory_is_one_line(cli: CommandLine) -> None:
    done = cli("store", "--content", TEA)
    assert done.out.startswith("[MemoryMesh] Ingested record mem_")
    assert (done.out.count("\n"), done.err) == (1, "")


def test_a_merge_is_said_beside_the_line_that_programs_read(cli: CommandLine) -> None:
    id_ = cli.stored(TEA, "--meta", "color=red")
    done = cli("store", "--content", TEA, "--tag", "kitchen", "--meta", "color=blue")
    assert done.out == f"[MemoryMesh] Ingested record {id_}\n"
    assert done.err.splitlines() == [
        f"[MemoryMesh] The same memory is stored as {id_}.",
        "[MemoryMesh] Added to it: tag kitchen.",
        "[MemoryMesh] Kept color=red; given blue; use update to change it.",
        "[MemoryMesh] What was not taken (metadata) is in the audit block of this write.",
    ]


def test_a_redaction_is_said_and_the_value_is_not(cli: CommandLine) -> None:
    done = cli("store", "--content", f"Ask {MAIL}")
    assert done.err == (
        "[MemoryMesh] Redacted: 1 email; to keep email as written: MEMORY_MESH_KEEP=email, or "
        'keep = ["email"] in the configuration file (memory-mesh config names it).\n'
    )
    changed = cli("update", "--id", done.out.split()[-1], "--content", f"Ask again: {MAIL}")
    assert "Redacted: 1 email" in changed.err
    assert MAIL not in done.out + done.err + changed.out + changed.err


def test_no_advice_after_a_redaction_lets_a_secret_in(cli: CommandLine) -> None:
    done = cli("store", "--content", "pay with 4111 1111 1111 1111")
    assert done.err == "[MemoryMesh] Redacted: 1 card.\n"
    both = cli("store", "--content", f"card 4111 1111 1111 1111, mail {MAIL}, host 93.184.216.34")
    assert "Redacted: 1 card, 1 email, 1 ip; to keep email and ip as written" in both.err
    assert 'MEMORY_MESH_KEEP=email,ip, or keep = ["email", "ip"]' in both.err
    keeping = replace(cli, variables={**cli.variables, "MEMORY_MESH_KEEP": "email,ip"})
    kept = keeping("store", "--content", f"card 4111 1111 1111 1111, mail {MAIL}, 93.184.216.34")
    assert kept.err == "[MemoryMesh] Redacted: 1 card.\n"
    assert MAIL in cli("get", kept.out.split()[-1]).out


def test_on_a_terminal_the_first_line_says_what_became_of_the_text(cli: CommandLine) -> None:
    new = cli.on_terminal("store", "--content", TEA).out
    assert new.startswith("[MemoryMesh] Stored as mem_")
    again = cli.on_terminal("store", "--content", TEA).out
    assert f"[MemoryMesh] Already stored as {new.split()[3]}\n" in again


def test_the_json_of_a_store_has_every_field_and_nothing_beside_it(cli: CommandLine) -> None:
    done = cli("store", "--content", f"Ask {MAIL}", "--json")
    plain = json.loads(done.out)
    assert (plain["redacted"], plain["outcome"], done.err) == ({"email": 1}, "stored", "")
    assert plain["reasons"][1].startswith("redacted: 1 email")


def test_a_folder_is_summed_up(cli: CommandLine) -> None:
    cli.stored("The first page is about tea.")
    root = cli.home / "docs"
    root.mkdir()
    (root / "one.txt").write_text("The first page is about tea.")
    (root / "two.txt").write_text(f"The second page is by {MAIL}.")
    (root / "three.txt").write_text("The third page is by ann@example.com.")
    done = cli("ingest-dir", str(root))
    assert done.out == "[MemoryMesh] Ingested 2 files, 1 already known.\n"
    assert done.err.splitlines() == [
        "[MemoryMesh] 1 merged with a memory that was stored before.",
        (
            "[MemoryMesh] Redacted: 2 email; to keep email as written: MEMORY_MESH_KEEP=email, or "
            'keep = ["email"] in the configuration file (memory-mesh config names it).'
        ),
    ]
    plain = json.loads(cli("ingest-dir", str(root), "--json").out)
    assert (plain["known"], plain["merged"], plain["redacted"]) == (3, 0, {})


def test_a_skill_says_what_was_redacted(cli: CommandLine) -> None:
    skill = cli.home / "skill.md"
    skill.write_text(f"---\nname: ask\nintent: ask the owner\n---\n1. Write to {MAIL}\n")
    done = cli("ingest-skill", "--file", str(skill))
    assert "Redacted: 1 email" in done.err
    again = cli("ingest-skill", "--file", str(skill))
    assert "The same text is stored as skill_" in again.err


def two_hours(cli: CommandLine) -> tuple[str, str]:
    """Two memories, of which the later one superseded the earlier one."""
    closes = {"subject": "office", "predicate": "closes at"}
    with MemoryMesh(db_dir=cli.store, embedder="none") as mesh:
        old, new = (
            mesh.add(f"The office closes at {time}", claim={**closes, "value": time}).id
            for time in ("18:00", "19:00")
        )
    assert old is not None
    assert new is not None
    return old, new


def test_get_of_what_is_superseded_says_by_what(cli: CommandLine) -> None:
    old, new = two_hours(cli)
    done = cli("get", old)
    assert done.code == 1
    assert f"{old} is superseded by {new}. Look at that: memory-mesh get {new}" in done.err
    assert "closes at 18:00" in cli("history", old).out


def test_an_update_of_what_is_superseded_says_by_what(cli: CommandLine) -> None:
    old, new = two_hours(cli)
    done = cli("update", old, "The office closes at 18:30")
    assert done.out == f"[MemoryMesh] Updated record {old}\n"
    assert f"{old} is superseded by {new}: a search finds that one, not this" in done.err
    told = json.loads(cli("--json", "update", old, "The office closes at 18:45").out)
    assert (told["status"], told["superseded_by"]) == ("superseded", new)
    assert cli("update", new, "The office closes at 19:30").err == ""
