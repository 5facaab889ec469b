"""`memory-mesh mirror` as people run it, and commands that keep the folder up to date."""

import json
from dataclasses import replace

import pytest

NOTE = "---\ntitle: Port\ntags: [net]\n---\n\nThe port is 8080.\n"


@pytest.fixture
def project(cli):
    (cli.home / "project" / ".git").mkdir(parents=True)
    (cli.home / "project" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return cli.home / "project"


@pytest.mark.req("R-001-001", "R-001-008")
def test_init_makes_the_default_folder_and_writes_the_memories(cli, project):
    done = cli("store", "--content", "Handlers are async.", cwd=project)
    assert done.code == 0, done.err
    done = cli("mirror", "init", cwd=project)
    assert done.code == 0, done.err
    assert "1 written" in done.out
    assert (project / ".rawko" / "memories" / "handlers-are-async.md").is_file()
    assert "no change" in cli("mirror", cwd=project).out


def test_an_edit_is_pulled_and_shown_as_json(cli, project):
    cli("mirror", "init", "notes", cwd=project)
    path = project / "notes" / "port.md"
    path.write_text(NOTE)
    status = json.loads(cli("mirror", "status", "notes", "--json", cwd=project).out)
    assert status["dry_run"]
    assert len(status["added"]) == 1
    assert "1 added" in cli("mirror", "pull", "notes", cwd=project).out
    path.write_text(NOTE.replace("8080", "9090"))
    plain = json.loads(cli("mirror", "--dir", "notes", "--json", cwd=project).out)
    assert [line["file"] for line in plain["changed"]] == ["port.md"]
    found = json.loads(cli("list", "--json", cwd=project).out)["items"]
    assert found[0]["content"] == "The port is 9090."


def test_a_disagreement_is_an_exit_code_and_is_resolved_by_hand(cli, project):
    cli("mirror", "init", cwd=project)
    folder = project / ".rawko" / "memories"
    (folder / "port.md").write_text(NOTE)
    cli("mirror", cwd=project)
    (memory,) = json.loads(cli("list", "--json", cwd=project).out)["items"]
    cli("update", "--id", memory["id"], "--content", "The port is 1.", cwd=project)
    (folder / "port.md").write_text(NOTE.replace("8080", "2"))
    done = cli("mirror", cwd=project)
    assert done.code == 1
    assert "DISAGREES: port.md (Port)" in done.out
    assert cli("mirror", "resolve", "port.md", cwd=project).code == 2
    done = cli("mirror", "resolve", str(folder / "port.md"), "--keep", "file", cwd=project)
    assert done.code == 0, done.out + done.err
    (memory,) = json.loads(cli("list", "--json", cwd=project).out)["items"]
    assert memory["content"] == "The port is 2."
    assert cli("mirror", "status", cwd=project).code == 0


def test_stale_names_the_source_that_changed(cli, project):
    cli("mirror", "init", cwd=project)
    (project / "main.py").write_text("1")
    note = NOTE.replace("tags", "source: main.py\ntags")
    (project / ".rawko" / "memories" / "port.md").write_text(note)
    cli("mirror", cwd=project)
    assert "0 memories may be outdated" in cli("mirror", "stale", cwd=project).out
    (project / "main.py").write_text("2")
    assert "port.md: its source main.py has changed" in cli("mirror", "stale", cwd=project).out


def test_what_an_agent_wrote_is_marked_and_taken_as_inference(cli, project):
    cli("mirror", "init", cwd=project)
    path = project / ".rawko" / "memories" / "port.md"
    path.write_text(NOTE)
    done = cli("mirror", "mark", str(path), cwd=project)
    assert done.code == 0, done.err
    (memory,) = json.loads(cli("list", "--json", cwd=project).out)["items"]
    assert memory["channel"] == "assistant"
    assert cli("mirror", "mark", "nowhere.md", cwd=project).code == 1


def test_what_a_mirror_run_in_an_agents_shell_reads_is_the_agents_word(cli):
    place = cli.home / "plain"
    place.mkdir()
    agent = replace(cli, variables={"CLAUDECODE": "1"})
    id_ = cli("store", "--content", "The sale is on Monday.", cwd=place).out.split()[-1]
    agent("mirror", "init", "notes", cwd=place)
    (path,) = (place / "notes").glob("*.md")
    path.write_text(path.read_text().replace("Monday", "Friday"))
    (place / "notes" / "port.md").write_text(NOTE)
    assert "waits for review" in agent("mirror", "notes", cwd=place).out
    found = json.loads(cli("list", "--json", cwd=place).out)["items"]
    said = {memory["content"]: memory["channel"] for memory in found}
    assert said == {"The sale is on Monday.": "cli", "The port is 8080.": "assistant"}
    path.unlink()
    agent("mirror", "notes", cwd=place)
    assert id_ in cli("list", cwd=place).out


def test_a_configured_folder_is_written_through(cli, project):
    own = replace(cli, variables={"MEMORY_MESH_MIRROR_DIR": ".rawko/memories"})
    own("mirror", "init", cwd=project)
    id_ = own("store", "--content", "The port is 8080.", cwd=project).out.split()[-1]
    (path,) = (project / ".rawko" / "memories").glob("*.md")
    assert id_ in path.read_text()
    below = project / "src"
    below.mkdir()
    own("update", "--id", id_, "--content", "The port is 9090.", cwd=below)
    assert path.read_text().count("The port is") >= 2
    own("delete", "--id", id_, cwd=below)
    assert list((project / ".rawko" / "memories").glob("*.md")) == []
    assert own("search", "port", cwd=project).code == 0


def test_a_folder_that_does_not_exist_says_what_to_do(cli, project):
    done = cli("mirror", cwd=project)
    assert done.code == 1
    assert "memory-mesh mirror init" in done.err


def test_an_unknown_way_to_write_updates_is_refused(cli, project):
    own = replace(cli, variables={"MEMORY_MESH_MIRROR_UPDATES": "merge"})
    done = own("mirror", "init", cwd=project)
    assert done.code == 1
    assert "append or replace" in done.err


def test_a_name_does_not_look_like_a_line_of_the_report(cli, project):
    cli("mirror", "init", cwd=project)
    (project / ".rawko" / "memories" / "a\ndeleted: b.md").write_text(NOTE)
    out = cli("mirror", cwd=project).out
    assert "new memory: a\\ndeleted: b.md (Port)" in out.splitlines()


@pytest.mark.parametrize("words", [["vault"], ["./vault"], ["run", "vault"], ["--dir", "vault"]])
def test_a_folder_alone_is_run(cli, project, words):
    cli("mirror", "init", "vault", cwd=project)
    (project / "vault" / "port.md").write_text(NOTE)
    done = cli("mirror", *words, cwd=project)
    assert done.code == 0, done.err
    assert "1 file; 1 added" in done.out


@pytest.mark.parametrize("words", [["nowhere"], ["statsu"], ["vault", "notes"]])
def test_a_word_that_is_no_action_and_no_folder_says_how_to_name_a_folder(cli, project, words):
    done = cli("mirror", *words, cwd=project)
    assert done.code == 2
    assert "mirror run FOLDER" in done.err
    assert "--dir" in done.err


def test_the_error_of_a_missing_folder_names_those_that_are_mirrored(cli, project):
    assert "Mirrored already" not in cli("mirror", cwd=project).err
    cli("mirror", "init", "vault", cwd=project)
    done = cli("mirror", cwd=project)
    assert done.code == 1
    assert f"Mirrored already: {project / 'vault'}." in done.err


def test_mark_takes_a_name_in_the_folder(cli, project):
    cli("mirror", "init", cwd=project)
    (project / ".rawko" / "memories" / "port.md").write_text(NOTE)
    done = cli("mirror", "mark", "port.md", cwd=project)
    assert done.code == 0, done.err
    assert "1 added" in done.out
    (memory,) = json.loads(cli("list", "--json", cwd=project).out)["items"]
    assert memory["channel"] == "assistant"


def test_one_thing_is_counted_as_one(cli, project):
    cli("mirror", "init", cwd=project)
    (project / "main.py").write_text("1")
    path = project / ".rawko" / "memories" / "port.md"
    path.write_text(NOTE.replace("tags", "source: main.py\ntags"))
    assert "1 file; 1 added." in cli("mirror", cwd=project).out
    (project / "main.py").write_text("2")
    assert "1 memory may be outdated" in cli("mirror", "stale", cwd=project).out
    (memory,) = json.loads(cli("list", "--json", cwd=project).out)["items"]
    cli("update", "--id", memory["id"], "--content", "The port is 1.", cwd=project)
    path.write_text(NOTE.replace("8080", "2"))
    assert "1 file; 1 disagreement." in cli("mirror", cwd=project).out
    done = cli("mirror", "resolve", "port.md", "--keep", "file", cwd=project)
    assert "1 file; 1 changed." in done.out
