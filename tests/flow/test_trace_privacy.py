"""What a trace may hold: no secrets, no personal data, no names of the user, no more of the input
than the settings allow."""

import re
from pathlib import Path

import pytest

from memory_mesh.model import Outcome
from memory_mesh.model.errors import InvalidInput
from memory_mesh.model.trace import Trace
from memory_mesh.sync import MemoryMesh

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
GOAL = 'Fix the login of "Acme Holding" for jane.doe@example.com in /srv/acme/app.py'
USER = re.compile(r"\[USER_[0-9a-f]{12}\]")


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def alicja(tmp_path, monkeypatch):
    """A machine whose user is Alicja Kowalska, with the account akowalska."""
    home = tmp_path / "home" / "akowalska"
    home.mkdir(parents=True)
    (home / ".gitconfig").write_text("[user]\n\tname = Alicja Kowalska\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USER", "akowalska")
    monkeypatch.delenv("MEMORY_MESH_OWN_NAMES")
    return home


@pytest.mark.req("R-002-067", "R-002-068", "R-002-072")
def test_credentials_and_personal_data_are_hashed_in_every_field(tmp_path):
    with MemoryMesh(db_dir=tmp_path / "store") as mesh:
        receipt = mesh.traces.record(
            f"Use {SECRET} for jane.doe@example.com",
            plan=f"export TOKEN={SECRET}",
            steps=[f"curl with {SECRET}"],
            tools_used=["jane.doe@example.com"],
            files_created=["/tmp/jane.doe@example.com.txt"],
            results="sent to jane.doe@example.com",
            learnings=[f"the token was {SECRET}"],
        )
        trace = mesh.traces.get(str(receipt.id))
        assert trace is not None
        assert re.search(r"\[GITHUB_TOKEN_[0-9a-f]{12}\]", trace.plan)
        assert re.search(r"\[EMAIL_[0-9a-f]{12}\]", trace.results)
        assert receipt.redacted == {"email": 1, "github_token": 1}
    stored = everything(tmp_path / "store")
    assert SECRET.encode() not in stored
    assert b"jane.doe" not in stored


@pytest.mark.req("R-002-069", "R-002-072")
def test_business_data_that_the_settings_name_is_hashed(tmp_path):
    with MemoryMesh(
        db_dir=tmp_path / "store",
        settings={
            "private_names": ["Project Falcon", "Acme Holding"],
            "privacy_rules": [{"name": "contract", "pattern": r"CTR-\d{6}"}],
        },
    ) as mesh:
        receipt = mesh.traces.record("Send CTR-123456 of project falcon to Acme Holding")
        assert re.fullmatch(
            r"Send \[CONTRACT_[0-9a-f]{12}\] of \[USER_[0-9a-f]{12}\] to \[USER_[0-9a-f]{12}\]",
            receipt.content,
        )
        assert mesh.add("Acme Holding pays late").content.startswith("[USER_")
        hits = mesh.search("acme holding")
        assert {hit.id for hit in hits} >= {receipt.id}
    stored = everything(tmp_path / "store").lower()
    for word in (b"falcon", b"acme", b"ctr-123456"):
        assert word not in stored


@pytest.mark.req("R-002-071")
def test_the_names_of_the_user_are_one_stable_id_in_traces(alicja, tmp_path):
    with MemoryMesh(db_dir=tmp_path / "store") as mesh:
        receipt = mesh.traces.record(
            "Fix the build of Alicja Kowalska",
            files_created=[f"{alicja}/app/build.log"],
            results="akowalska@build is green, Alicja is told",
        )
        again = mesh.traces.record("Ask Alicja about the build")
        trace = mesh.traces.get(str(receipt.id))
        assert trace is not None
        said = " ".join([trace.goal, *trace.files_created, trace.results, again.content])
        assert len(USER.findall(said)) == 5
        assert len(set(USER.findall(said))) == 1
        assert receipt.redacted == {"user": 1}
    stored = everything(tmp_path / "store").lower()
    assert b"alicja" not in stored
    assert b"kowalska" not in stored


def test_similar_tasks_are_found_by_the_users_name(alicja, tmp_path):
    with MemoryMesh(db_dir=tmp_path / "store") as mesh:
        receipt = mesh.traces.record("Rotate the keys of Alicja Kowalska")
        mesh.traces.record("Rotate the logs")
        found = mesh.traces.similar("rotate the keys of akowalska")
        assert found[0].trace_id == receipt.id
        assert found[0].similarity > 0.9
    assert b"kowalska" not in everything(tmp_path / "store").lower()


def test_other_memories_keep_the_users_name_unless_all_is_said(alicja, tmp_path):
    with MemoryMesh(db_dir=tmp_path / "store") as mesh:
        assert mesh.add("Alicja prefers tabs").content == "Alicja prefers tabs"
    with MemoryMesh(db_dir=tmp_path / "all", settings={"own_names": "all"}) as mesh:
        receipt = mesh.add("Alicja prefers tabs")
        assert USER.match(receipt.content)
        assert [hit.id for hit in mesh.search("what does Alicja prefer")] == [receipt.id]
    with MemoryMesh(db_dir=tmp_path / "off", settings={"own_names": "off"}) as mesh:
        assert mesh.traces.record("Alicja's build").content == "Alicja's build"


def test_a_project_in_the_home_folder_is_still_the_same_project(alicja, tmp_path):
    project = str(alicja / "app")
    with MemoryMesh(
        db_dir=tmp_path / "store", project=project, settings={"own_names": "off"}
    ) as mesh:
        before = mesh.add("The port is 8080").id
    with MemoryMesh(
        db_dir=tmp_path / "store", project=project, settings={"own_names": "all"}
    ) as mesh:
        assert [hit.id for hit in mesh.search("port")] == [before]
    with MemoryMesh(
        db_dir=tmp_path / "store", project=project, settings={"private_names": ["akowalska"]}
    ) as mesh:
        assert [hit.id for hit in mesh.search("port")] == [before]


@pytest.mark.req("R-002-070", "R-002-015")
@pytest.mark.parametrize(
    ("mode", "kept"),
    [("summarise", r"Fix the login of … for … in …"), ("drop", "fix task")],
)
def test_raw_input_is_kept_as_a_summary_or_not_at_all(tmp_path, mode, kept):
    with MemoryMesh(db_dir=tmp_path / "store", settings={"raw_input": mode}) as mesh:
        receipt = mesh.traces.record(GOAL, plan=f"1. {GOAL}", steps=[GOAL])
        assert receipt.outcome is Outcome.STORED
        trace = mesh.traces.get(str(receipt.id))
        assert trace is not None
        assert (trace.goal, trace.plan, trace.steps[0].text) == (kept, f"1. {kept}", kept)
        assert mesh.add(GOAL).content != kept  # a memory that is no trace
    with MemoryMesh(
        db_dir=tmp_path / "store", namespace="other", settings={"raw_input": mode}
    ) as mesh:
        mesh.traces.record(GOAL)
        found = (tmp_path / "store" / "namespaces" / "other.db").read_bytes()
        assert b"Acme" not in found
        assert b"/srv" not in found


def test_an_updated_trace_is_held_to_the_same_rules(alicja, tmp_path):
    with MemoryMesh(db_dir=tmp_path / "store", settings={"raw_input": "drop"}) as mesh:
        trace = str(mesh.traces.record("Fix it").id)
        assert mesh.update(trace, "Deploy the app of Alicja").text == "release task"
        note = str(mesh.add("a note").id)
        assert mesh.update(note, "Alicja likes tabs").text == "Alicja likes tabs"


@pytest.mark.parametrize("mode", ["summarise", "drop"])
def test_a_goal_is_compared_with_what_traces_keep_of_theirs(tmp_path, mode):
    with MemoryMesh(db_dir=tmp_path / "store", settings={"raw_input": mode}) as mesh:
        receipt = mesh.traces.record(GOAL)
        (found,) = mesh.traces.similar(GOAL)
        assert found.trace_id == receipt.id
        assert found.similarity > 0.99
    assert b"Acme" not in everything(tmp_path / "store")


def test_the_default_keeps_the_goal_without_personal_data(tmp_path):
    with MemoryMesh(db_dir=tmp_path / "store") as mesh:
        content = mesh.traces.record(GOAL).content
        assert content.startswith('Fix the login of "Acme Holding" for [EMAIL_')


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("raw_input", "forget", "must be one of scrub, summarise, drop"),
        ("own_names", "some", "must be one of traces, all, off"),
        ("private_names", ["x"], "too short"),
        ("private_names", 7, "must be a name or a list of names"),
    ],
)
def test_a_wrong_setting_says_what_is_allowed(tmp_path, option, value, said):
    with pytest.raises(InvalidInput, match=said):
        MemoryMesh(db_dir=tmp_path, **{option: value})


@pytest.mark.req("R-002-071")
def test_the_name_of_the_user_in_a_stated_id_is_refused(alicja, tmp_path):
    stated = "trace-akowalska-1"
    with MemoryMesh(db_dir=tmp_path / "store") as mesh:
        for given in (Trace("Fix it", trace_id=stated), Trace("Fix it", follows=(stated,))):
            with pytest.raises(InvalidInput, match="personal data"):
                mesh.traces.record(given)
    assert b"akowalska" not in everything(tmp_path / "store")
