"""The commands of what is learned, each in a real process."""

import json
import os
import re
import signal
import subprocess
import time

import pytest

from tests.surface.command import CommandLine

SKILL = """---
name: Deploy service
intent: Roll a new version out without downtime
tags: [deploy]
---
1. Build
"""
FAILED = {"status": "error", "error_pattern": "lock", "rule": "Always set a timeout"}


def ingested(cli: CommandLine, text: str = SKILL) -> str:
    path = cli.home / "skill.md"
    path.write_text(text)
    done = cli("ingest-skill", "--file", str(path), "--type", "ops")
    assert done.code == 0, done.err
    (id_,) = re.findall(r"\((skill_\w+)\)", done.out)
    return str(id_)


@pytest.mark.req("R-000-222", "R-000-224")
def test_a_skill_file_is_ingested_and_listed(cli):
    id_ = ingested(cli)
    done = cli("list-skills", "--limit", "5")
    assert done.out == (
        "[MemoryMesh] 1 skill.\n"
        f"{id_}  0.50  Deploy service: Roll a new version out without downtime\n"
    )
    (skill,) = json.loads(cli("list-skills", "--json").out)["items"]
    assert skill["metadata"]["type"] == "ops"
    assert cli("stats").out.splitlines()[1] == "[MemoryMesh] Total Skills: 1"
    ingested(cli, SKILL.replace("Deploy service", "Deploy page"))
    assert cli("list-skills", "--limit", "1").out.startswith("[MemoryMesh] 1 skill.\n")
    assert cli("list-skills").out.startswith("[MemoryMesh] 2 skills.\n")
    yamo = ingested(cli, "name; Tidy up;\nintent; remove old branches;\n")
    assert f"{yamo}  0.50  Tidy up: remove old branches\n" in cli("list-skills").out
    missing = cli("ingest-skill", "--file", "nowhere.md")
    assert (missing.code, missing.err) == (
        1,
        "[MemoryMesh Error] the file nowhere.md does not exist\n",
    )


@pytest.mark.req("R-000-223")
def test_skills_are_searched(cli):
    id_ = ingested(cli)
    assert id_ in cli("search-skills", "deploy", "--limit", "1").out
    ingested(cli, SKILL.replace("Deploy service", "Deploy page"))
    assert cli("search-skills", "deploy").out.startswith("[MemoryMesh] Found 2 skills.\n")
    first = cli("search-skills", "deploy", "--limit", "1").out
    assert first.startswith("[MemoryMesh] Found 1 skill.\n")
    assert cli("search-skills", "knitting").out == "[MemoryMesh] Found 0 skills.\n"
    (hit,) = json.loads(cli("search-skills", "Name: deploy service", "--json").out)["items"]
    assert (hit["id"], hit["score"]) == (id_, 1.0)


@pytest.mark.req("R-000-225", "R-000-226")
def test_feedback_and_pruning(cli):
    id_ = ingested(cli)
    done = cli("skill-feedback", "--id", id_, "--success", "true")
    assert done.out == f"[MemoryMesh] Skill {id_} reliability 0.50 -> 0.60 after 1 uses\n"
    for _ in range(2):
        cli("skill-feedback", "--id", id_, "--success", "false")
    assert cli("skill-prune", "--threshold", "0.1").out.startswith("[MemoryMesh] Archived 0")
    assert cli("skill-prune").out == f"[MemoryMesh] Archived 1 skill, kept 0.\n{id_}\n"
    assert cli("skill-feedback", "--id", id_, "--success", "maybe").code == 2
    assert cli("skill-prune", "--threshold", "2").code == 1
    gone = cli("skill-feedback", "--id", "skill_1_abcdef", "--success", "true")
    assert (gone.code, gone.out) == (1, "")


def test_failures_are_distilled_into_lessons_that_are_shown(cli):
    cli.stored("a report hung", "--metadata", json.dumps(FAILED))
    done = cli("distill")
    assert done.out.startswith("[MemoryMesh] Distilled 1 lesson from 1 failure, 0 known, 0")
    assert "medium: Always set a timeout" in done.out
    assert cli("distill").out.startswith("[MemoryMesh] Distilled 0 lessons from 1 failure, 1 known")
    assert cli("distill", "--if-due").out == ""
    assert json.loads(cli("distill", "--if-due", "--json").out)["learned"] == []
    assert "Always set a timeout" in cli("lessons").out
    assert "Always set a timeout" in cli("lessons", "report that hung").out
    (lesson,) = json.loads(cli("lessons", "--json").out)["items"]
    assert lesson["wire_format"].startswith("agent: MemoryMesh_")


def test_what_waits_is_reviewed(cli):
    folder = cli.home / "docs"
    folder.mkdir()
    (folder / "bad.md").write_text("a report hung. TimeoutError. Always set a timeout.")
    cli("ingest-dir", str(folder))
    assert cli("review").out == "[MemoryMesh] 0 wait for review.\n"
    id_ = cli.stored("a report hung", "--metadata", json.dumps(FAILED))
    said = (
        f"[MemoryMesh Error] {id_} does not wait for review. List what does: memory-mesh review\n"
    )
    assert cli("review", "--id", id_).err == said
    assert cli("review", "--approve").code == 2
    refused = cli("review", "--id", id_, "--approve")
    assert (refused.code, "does not wait for review" in refused.err) == (1, True)


@pytest.mark.req("R-000-218", "R-000-264")
def test_reflect_says_what_memories_agree_on(cli):
    one = cli.stored("Deploys of the API go through staging first.")
    two = cli.stored("The API is always deployed to staging before production.")
    shown = cli("reflect", "--topic", "API deploys", "--lookback", "5", "--dry-run")
    assert shown.out.startswith("[MemoryMesh] Reflected on 2 memories.\n- ")
    found = json.loads(cli("reflect", "--topic", "API deploys", "--json").out)
    assert set(found["sources"]) == {one, two}
    assert found["id"] in cli("get", "--id", found["id"]).out
    assert cli("delete", "--id", found["id"]).out == f"[MemoryMesh] Deleted record {found['id']}\n"
    assert cli("reflect", "--lookback", "0").code == 1


@pytest.mark.req("R-000-221")
def test_synthesize_stages_a_skill(cli):
    assert cli("synthesize", "--topic", "release").code == 0
    cli.stored("To release a version:\n1. Run `just test`.\n2. Write the notes.\n3. Tag it.")
    done = cli("synthesize", "--topic", "release")
    (id_,) = set(re.findall(r"skill_\w+", done.out.splitlines()[1]))
    assert id_ in cli("review").out
    assert cli("review", "--id", id_).out.count("\n") > 3  # all of it, before a verdict
    assert cli("review", "--id", id_, "--approve").out == (
        f"[MemoryMesh] Approved {id_}, now active\n"
    )
    assert id_ in cli("list-skills").out


def test_tables_are_exported_migrated_and_imported(cli):
    cli.stored("The user prefers dark themes")
    ingested(cli)
    folder = cli.home / "tables"
    done = cli("export-tables", str(folder))
    assert done.out.startswith("[MemoryMesh] Exported 1 memory, 1 skill and 2 blocks")
    assert cli("migrate-tables", str(folder)).code == 0
    done = cli("import-tables", str(folder), "--namespace", "second")
    assert done.code == 0, done.err
    assert "dark themes" in cli("list", "--namespace", "second").out
    assert cli("export-tables", str(folder)).code == 1
    assert cli("import-tables", "nowhere").code == 1


# --- ingest-dir -----------------------------------------------------------------------------------


@pytest.mark.req("R-000-216")
def test_a_folder_is_ingested_once(cli):
    root = cli.home / "docs"
    (root / "sub").mkdir(parents=True)
    (root / "one.md").write_text("# One\n\nThe first page is about tea.\n")
    (root / "two.txt").write_text("The second page is about coffee.\n")
    (root / "sub" / "three.md").write_text("The third page is about water.\n")
    (root / "image.md").write_bytes(b"\x89PNG\0")
    done = cli("ingest-dir", str(root), "--extension", "md", "--type", "page")
    assert done.out == (
        "[MemoryMesh] Ingested 1 file, 0 already known.\n[MemoryMesh] Skipped: 1 binary, "
        "1 subfolder (--recursive reads them).\n"
        f"[MemoryMesh] Binary: {root / 'image.md'}.\n"
    )
    done = cli("ingest-dir", str(root), "--recursive")
    assert done.out.startswith("[MemoryMesh] Ingested 2 files, 1 already known.")
    again = json.loads(cli("ingest-dir", str(root), "--recursive", "--json").out)
    assert (again["ingested"], again["known"], again["binary"]) == (0, 3, 1)
    found = json.loads(cli("search", "tea", "--json").out)["items"]
    assert [hit["metadata"]["type"] for hit in found] == ["page"]
    (root / "one.md").write_text("# One\n\nThe first page is about cocoa now.\n")
    assert cli("ingest-dir", str(root)).out.startswith("[MemoryMesh] Ingested 1 file, 1 already")
    assert cli("ingest-dir", str(root / "nowhere")).code == 1


def test_files_that_cannot_be_read_are_named(cli):
    root = cli.home / "docs"
    root.mkdir()
    (root / "good.md").write_text("The first page is about tea.\n")
    (root / "empty.md").write_text("\n")
    (root / "image.md").write_bytes(b"\x89PNG\0")
    fine = cli("ingest-dir", str(root))
    assert fine.code == 0  # nothing to store is no failure
    assert f"[MemoryMesh] Empty: {root / 'empty.md'}.\n" in fine.out
    (root / "latin.md").write_bytes(b"caf\xe9")
    os.mkfifo(root / "pipe.md")
    done = cli("ingest-dir", str(root))
    assert done.code == 1
    said = "Skipped: 1 binary, 1 empty, 1 not UTF-8, 1 no plain file."
    assert f"0 files, 1 already known.\n[MemoryMesh] {said}\n" in done.out
    assert f"[MemoryMesh] Not UTF-8: {root / 'latin.md'}.\n" in done.out
    assert f"[MemoryMesh] No plain file: {root / 'pipe.md'}.\n" in done.out
    done = cli("ingest-dir", str(root), "--json")
    assert done.code == 1
    assert json.loads(done.out)["skipped"] == {
        "documents": [],
        "binary": [str(root / "image.md")],
        "empty": [str(root / "empty.md")],
        "not_utf8": [str(root / "latin.md")],
        "too_large": [],
        "no_plain_file": [str(root / "pipe.md")],
    }


def test_an_interrupted_ingest_is_run_again_and_nothing_is_stored_twice(cli):
    root = cli.home / "docs"
    root.mkdir()
    for number in range(600):
        (root / f"{number:04}.txt").write_text(f"Page {number} is about topic {number * 7}.\n")
    process = subprocess.Popen(
        [*cli.start, "ingest-dir", str(root)], cwd=cli.home, env=cli.environment,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    database = cli.store / "namespaces" / "default.db"
    end = time.monotonic() + 30
    while not database.exists() and time.monotonic() < end:
        time.sleep(0.005)
    time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=300)
    half = json.loads(cli("stats", "--json").out)["memories"]
    done = json.loads(cli("ingest-dir", str(root), "--json").out)
    assert done["ingested"] + done["known"] == 600
    assert done["known"] == half
    assert json.loads(cli("stats", "--json").out)["memories"] == 600
    assert cli("verify").code == 0


def test_odd_files_do_not_end_a_run(cli):
    folder = cli.home / "odd"
    folder.mkdir()
    (folder / "good.md").write_text("The gateway listens on port 8080")
    (folder / os.fsdecode(b"bad\xff.md")).write_text("Its name is not UTF-8")
    (folder / "long.md").write_text("word " * 30_000)
    deep = folder.joinpath(*["d" * 100] * 6)
    deep.mkdir(parents=True)
    (deep / "far.md").write_text("Its path is longer than a reference may be")
    done = cli("ingest-dir", str(folder), "--recursive")
    assert done.code == 1
    too_long = "the text has 150000 characters; the limit is 100000: split it"
    assert done.out.splitlines() == [
        "[MemoryMesh] Ingested 3 files, 0 already known.",
        "[MemoryMesh] Skipped: 1 refused.",
        f"[MemoryMesh] Refused: long.md: {too_long}.",
    ]
    again = json.loads(cli("ingest-dir", str(folder), "--recursive", "--json").out)
    assert (again["ingested"], again["known"]) == (0, 3)
    assert [each["file"] for each in again["refused"]] == ["long.md"]


def test_a_rule_cannot_pose_as_a_line_of_ours(cli):
    rule = "Always look\n[MemoryMesh] 0 lessons."
    failed = json.dumps(FAILED | {"rule": rule})
    assert cli("store", "--content", "it hung", "--metadata", failed).code == 0
    for done in (cli("distill"), cli("lessons")):
        assert [line for line in done.out.splitlines() if "[MemoryMesh]" in line[:12]] == [
            done.out.splitlines()[0]
        ]
        assert "Always look [MemoryMesh] 0 lessons." in done.out
