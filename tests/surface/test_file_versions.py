"""What becomes of a file's memory when the file changes, moves or goes."""

import hmac
import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

from memory_mesh.care.key_file import key_for
from memory_mesh.model import Scope
from memory_mesh.sync import MemoryMesh
from tests.surface.command import CommandLine

SIX, FIVE = "The office closes at six.\n", "The office closes at five.\n"


def ingest(cli: CommandLine, folder: Path, *words: str) -> dict[str, Any]:
    done = cli("ingest-dir", str(folder), "--json", *words)
    assert done.code == 0, done.out + done.err
    answer: dict[str, Any] = json.loads(done.out)
    return answer


def counts(cli: CommandLine, folder: Path, *words: str) -> tuple[int, int, int]:
    done = ingest(cli, folder, *words)
    return done["ingested"], done["known"], done["superseded"]


def texts(cli: CommandLine) -> list[str]:
    items = json.loads(cli("list", "--json").out)["items"]
    return sorted(item["content"].strip() for item in items)


def id_of(cli: CommandLine, text: str) -> str:
    items = json.loads(cli("list", "--json").out)["items"]
    (found,) = (item["id"] for item in items if item["content"].strip() == text.strip())
    return str(found)


def folder(cli: CommandLine, name: str = "docs", **files: str) -> Path:
    root = cli.home / name
    root.mkdir(parents=True, exist_ok=True)
    for stem, text in files.items():
        (root / f"{stem}.md").write_text(text)
    return root


def repository(place: Path, remote: str) -> Path:
    place.mkdir(parents=True)
    for words in (["init", "-q"], ["remote", "add", "origin", remote]):
        subprocess.run(["git", "-C", str(place), *words], check=True, capture_output=True)
    return place


def test_a_changed_file_supersedes_its_earlier_text_until_that_is_undone(cli):
    root = folder(cli, office=SIX, garage="The garage opens at seven.\n")
    assert counts(cli, root) == (2, 0, 0)
    before = id_of(cli, SIX)
    folder(cli, office=FIVE)
    done = cli("ingest-dir", str(root))
    assert done.out == "[MemoryMesh] Ingested 1 file, 1 already known.\n"
    assert done.err == "[MemoryMesh] 1 stored memories superseded.\n"
    assert texts(cli) == ["The garage opens at seven.", FIVE.strip()]
    assert cli("review", "--id", before, "--undo").code == 0
    assert SIX.strip() in texts(cli)
    assert counts(cli, root) == (0, 2, 0)  # the user's decision stays
    folder(cli, office="The office closes at four.\n")
    assert counts(cli, root) == (1, 1, 1)
    assert SIX.strip() in texts(cli)
    assert cli("verify").code == 0


def test_a_file_that_has_an_earlier_text_again_is_stored_as_the_newest(cli):
    root = folder(cli, office=SIX)
    for text in (SIX, FIVE, SIX, FIVE):
        folder(cli, office=text)
        assert counts(cli, root)[0] == 1
        assert texts(cli) == [text.strip()]
        assert counts(cli, root) == (0, 1, 0)


def test_files_of_one_name_in_different_folders_are_different_files(cli):
    one, other = folder(cli, "one", readme=SIX), folder(cli, "other", readme=FIVE)
    assert counts(cli, one) == (1, 0, 0)
    assert counts(cli, other) == (1, 0, 0)
    folder(cli, "one", readme="The office closes at four.\n")
    assert counts(cli, one) == (1, 0, 1)
    assert texts(cli) == ["The office closes at five.", "The office closes at four."]


def test_a_text_that_another_file_has_too_stays_until_that_changes(cli):
    root = folder(cli, a=SIX, b=SIX)
    elsewhere = folder(cli, "elsewhere", c="The gate is blue.\n", d="The gate is blue.\n")
    assert counts(cli, root) == (1, 1, 0)
    folder(cli, a=FIVE)
    assert counts(cli, root) == (1, 1, 0)
    assert texts(cli) == [FIVE.strip(), SIX.strip()]
    folder(cli, b=FIVE)
    assert counts(cli, root) == (0, 2, 1)  # merged, and in the place of its own earlier text
    assert texts(cli) == [FIVE.strip()]
    ingest(cli, elsewhere)
    folder(cli, "elsewhere", c="The gate is red.\n", d="The gate is green.\n")
    assert counts(cli, elsewhere) == (2, 0, 1)
    assert "The gate is blue." not in texts(cli)


def test_a_file_that_was_renamed_and_then_changed_supersedes_its_text(cli):
    root = folder(cli, old=SIX)
    ingest(cli, root)
    (root / "old.md").rename(root / "new.md")
    again = ingest(cli, root)
    assert (again["known"], again["gone"]) == (1, [])
    folder(cli, new=FIVE)
    assert counts(cli, root) == (1, 0, 1)
    assert texts(cli) == [FIVE.strip()]


def test_files_that_change_places_keep_both_texts(cli):
    root = folder(cli, a=SIX, b=FIVE)
    ingest(cli, root)
    folder(cli, a=FIVE, b=SIX)
    ingest(cli, root)
    assert texts(cli) == [FIVE.strip(), SIX.strip()]
    assert counts(cli, root) == (0, 2, 0)


def test_what_came_back_after_another_file_replaced_it_is_stored_again(cli):
    root = folder(cli, a=SIX, b=SIX)
    ingest(cli, root)
    (root / "b.md").unlink()  # as on another branch
    folder(cli, a=FIVE)
    assert counts(cli, root) == (1, 0, 1)
    folder(cli, b=SIX)
    assert counts(cli, root) == (1, 1, 0)
    assert texts(cli) == [FIVE.strip(), SIX.strip()]


def test_a_file_that_is_gone_is_named_with_the_command_that_deletes_it(cli):
    root = folder(cli, office=SIX, garage="The garage opens at seven.\n")
    (root / "sub").mkdir()
    (root / "sub" / "deep.md").write_text("The cellar is damp.\n")
    ingest(cli, root, "--recursive")
    assert ingest(cli, root)["gone"] == []  # what was not to be read is not gone
    id_ = id_of(cli, SIX)
    (root / "office.md").unlink()
    done = cli("ingest-dir", str(root), "--extension", "txt")
    assert done.out.splitlines()[-1] == (
        f"[MemoryMesh] Gone: office.md; memory-mesh delete {id_} deletes what is stored of it."
    )
    assert ingest(cli, root)["gone"] == [{"file": "office.md", "id": id_}]
    assert ingest(cli, root / "garage.md")["gone"] == []
    assert ingest(cli, folder(cli, "other", x="A text.\n"))["gone"] == []
    assert SIX.strip() in texts(cli)  # nothing is deleted by itself
    assert cli("delete", id_).code == 0
    assert ingest(cli, root)["gone"] == []


def test_what_somebody_else_has_is_never_offered_for_deletion(cli):
    said, pinned = "The user likes tea", "The lamp is in the corridor"
    cli.stored(said)
    root = folder(cli, a=said, b=SIX, c=pinned, d=FIVE)
    ingest(cli, root)
    ingest(cli, folder(cli, "other", copy=SIX))
    assert cli("pin", "--id", id_of(cli, pinned)).code == 0
    last = id_of(cli, FIVE)
    for name in "abcd":
        (root / f"{name}.md").unlink()
    assert [each["id"] for each in ingest(cli, root)["gone"]] == [last]


def test_what_the_user_holds_is_not_superseded(cli):
    said, pinned = "The user likes tea", "The lamp is in the corridor"
    root = folder(cli, a=said, b=pinned)
    ingest(cli, root)
    cli.stored(said)
    assert cli("pin", "--id", id_of(cli, pinned)).code == 0
    folder(cli, a=SIX, b=FIVE)
    assert counts(cli, root) == (2, 0, 0)
    assert texts(cli) == sorted([said, pinned, SIX.strip(), FIVE.strip()])


def test_what_the_user_deleted_stays_deleted(cli):
    root = folder(cli, office=SIX)
    ingest(cli, root)
    assert cli("delete", id_of(cli, SIX)).code == 0
    assert counts(cli, root) == (0, 1, 0)
    folder(cli, office=FIVE)
    assert counts(cli, root) == (1, 0, 0)
    folder(cli, office=SIX)
    assert counts(cli, root) == (0, 1, 0)
    assert SIX.strip() not in texts(cli)


def test_a_folder_is_the_same_by_any_path(cli):
    root = folder(cli, office=SIX)
    link = cli.home / "link"
    link.symlink_to(root)
    ingest(cli, root)
    for path, text in (("docs", FIVE), ("./docs/../docs", SIX), (str(link), FIVE)):
        folder(cli, office=text)
        assert counts(cli, Path(path)) == (1, 0, 1)
    folder(cli, office=SIX)
    assert counts(cli, root / "office.md") == (1, 0, 1)  # the file alone
    (root / "office.md").unlink()
    assert len(ingest(cli, Path("docs"))["gone"]) == 1


def test_a_file_of_another_clone_is_the_same_file(cli):
    remote = "https://example.com/team/pages.git"
    one, two = (repository(cli.home / name, remote) for name in ("one", "two"))
    for place, text in ((one, SIX), (two, FIVE)):
        folder(cli, f"{place.name}/docs", office=text)
        done = cli("ingest-dir", "docs", "--json", cwd=place)
        assert json.loads(done.out)["ingested"] == 1
    assert json.loads(done.out)["superseded"] == 1
    apart = folder(cli, "apart/docs", office="The office closes at four.\n")
    assert counts(cli, apart, "--project", "example.com/team/pages") == (1, 0, 0)


def test_two_clones_in_one_folder_do_not_supersede_each_other(cli):
    remote = "https://example.com/team/pages.git"
    for name, text in (("one", SIX), ("two", FIVE)):
        (repository(cli.home / "all" / name, remote) / "office.md").write_text(text)
    assert counts(cli, cli.home / "all", "--recursive") == (2, 0, 0)
    assert counts(cli, cli.home / "all", "--recursive") == (0, 2, 0)


def test_names_that_are_no_text_are_different_files(cli):
    root = folder(cli)
    for name, text in ((b"\xff.md", SIX), (b"\xfe.md", FIVE)):
        (root / os.fsdecode(name)).write_text(text)
    assert counts(cli, root) == (2, 0, 0)
    assert counts(cli, root) == (0, 2, 0)


def test_an_agent_replaces_only_what_it_ingested(cli):
    root, agent = folder(cli, office=SIX), replace(cli, variables={"CLAUDECODE": "1"})
    ingest(cli, root)
    folder(cli, office=FIVE)
    assert counts(agent, root) == (1, 0, 0)
    folder(cli, office="The office closes at four.\n")
    assert counts(agent, root) == (1, 0, 1)
    assert SIX.strip() in texts(cli)


def test_files_stay_known_after_the_key_was_rotated(cli):
    root = folder(cli, office=SIX)
    ingest(cli, root)
    assert cli("keys", "rotate").code == 0
    folder(cli, office=FIVE)
    assert counts(cli, root) == (1, 0, 1)


def test_what_an_earlier_version_ingested_and_the_user_deleted_stays_deleted(cli, monkeypatch):
    monkeypatch.setenv("MEMORY_MESH_KEY_DIR", str(cli.home / ".config/memory-mesh/keys"))
    root = folder(cli, office=SIX, garage=FIVE)
    with MemoryMesh(db_dir=str(cli.store), channel="file", embedder="none") as mesh:
        for name, text in (("office.md", SIX), ("garage.md", FIVE)):
            digest = hmac.digest(key_for(cli.store), f"None\n{name}\n{text}".encode(), "sha256")
            key = f"file:{digest.hex()}"
            mesh.add(text, {}, scope=Scope(), source_ref=name, key=key)
    cli("delete", id_of(cli, SIX))
    assert counts(cli, root) == (0, 2, 0)
    folder(cli, garage="The garage opens at eight.\n")
    assert counts(cli, root) == (1, 1, 1)
    assert texts(cli) == ["The garage opens at eight."]
