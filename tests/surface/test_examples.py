"""The examples that people copy, run as their first lines say; without a model, key or network."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest
import yaml

from memory_mesh.sync import MemoryMesh
from tests.agents.fake_openai import FakeOpenAI, fake_openai
from tests.until import until

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A home of its own, and the commands of this environment."""
    return {
        "HOME": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "MEMORY_MESH_DIR": str(tmp_path / "store"),
        "MEMORY_MESH_EMBEDDER": "none",
    }


def run(
    words: list[str], environment: dict[str, str], folder: Path, said: str = ""
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, input=said, env=environment, cwd=folder, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip


def test_the_list_of_examples_names_every_one_and_nothing_else() -> None:
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"^\| \[[^]]+\]\(([^)]+)\)", page, re.MULTILINE))
    here = {path.name for path in EXAMPLES.iterdir()} - {"README.md", "agents", "__pycache__"}
    assert {link.removesuffix("/README.md") for link in linked} == here | {
        f"agents/{path.name}" for path in EXAMPLES.glob("agents/*.py")
    }


# --- the chat -------------------------------------------------------------------------------------


@pytest.fixture
def server(environment: dict[str, str]) -> Iterator[FakeOpenAI]:
    with fake_openai() as running:
        environment |= {"OPENAI_BASE_URL": running.url, "OPENAI_API_KEY": "none"}
        yield running


def chat(environment: dict[str, str], said: str, *words: str) -> subprocess.CompletedProcess[str]:
    script = [sys.executable, str(EXAMPLES / "chat.py"), *words]
    return run(script, environment, Path(environment["HOME"]), said)


def test_the_chat_keeps_its_thread_and_remembers_its_user_over_a_restart(
    environment: dict[str, str], server: FakeOpenAI
) -> None:
    first = chat(environment, "I prefer trains to planes.\nThank you.\n", "ann")
    assert (first.stdout, first.stderr) == ("Noted.\nNoted.\n", "")
    roles = [message["role"] for message in server.asked[-1]["messages"]]
    assert roles[:2] == ["user", "assistant"]
    chat(environment, "Do I prefer trains or planes?\n", "ann")
    assert "I prefer trains to planes." in server.sent()
    chat(environment, "Do I prefer trains or planes?\n", "ben")
    assert "I prefer trains to planes." not in server.sent()


def test_the_chat_says_how_it_is_called_and_that_a_server_is_not_there(
    environment: dict[str, str], server: FakeOpenAI
) -> None:
    called = chat(environment, "")
    assert (called.returncode, called.stderr) == (
        1, "usage: python examples/chat.py USER [FOLDER]\n",
    )  # fmt: skip
    server.status = 400
    refused = chat(environment, "Hello\n", "ann")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith("The server did not answer: Error code: 400")


# --- the web app ----------------------------------------------------------------------------------


@pytest.fixture
def app(environment: dict[str, str], tmp_path: Path) -> Iterator[str]:
    """The address of the app, run by the command of its first lines on a free port."""
    log = tmp_path / "log"
    with log.open("wb") as opened:
        words = ["uvicorn", "--app-dir", str(EXAMPLES), "web_app:app", "--port", "0"]
        process = subprocess.Popen(
            [sys.executable, "-m", *words], env=environment, stderr=opened, cwd=tmp_path
        )
    try:
        for _ in range(600):
            if found := re.search(r"running on (http://\S+)", log.read_text()):
                yield found[1]
                break
            assert process.poll() is None, log.read_text()
            time.sleep(0.05)
        else:
            pytest.fail(log.read_text())
    finally:
        process.terminate()
        process.wait(300)


def test_two_users_of_the_web_app_never_see_each_others_memories(app: str) -> None:
    ann, ben, nobody = (
        httpx.Client(base_url=app, headers={"Authorization": f"Bearer {name}-token"}, timeout=300)
        for name in ("ann", "ben", "nobody")
    )
    with ann, ben, nobody:
        kept = ann.post("/memories", json={"text": "I am allergic to nuts"})
        assert kept.status_code == 201
        id_ = kept.json()["id"]
        question = {"q": "allergic to nuts"}
        assert [hit["id"] for hit in ann.get("/memories", params=question).json()] == [id_]
        assert ben.get("/memories", params=question).json() == []
        asked = {"text": "What am I allergic to?"}
        assert "I am allergic to nuts" in ann.post("/chat", json=asked).json()["answer"]
        assert "nuts" not in ben.post("/chat", json=asked).json()["answer"]
        assert ben.delete(f"/memories/{id_}").status_code == 404
        assert ann.delete(f"/memories/{id_}").status_code == 204
        assert id_ not in ann.get("/memories", params=question).text
        assert nobody.get("/memories", params=question).status_code == 401
        assert httpx.get(f"{app}/memories", params=question).status_code == 401
        assert ann.post("/memories", json={"text": ""}).status_code == 422
        assert ann.get("/memories", params={**question, "limit": 0}).status_code == 422


# --- the notes of a coding agent ------------------------------------------------------------------


def test_notes_are_of_one_project_can_be_corrected_and_are_files(
    environment: dict[str, str], tmp_path: Path
) -> None:
    for name in ("shop", "other"):
        (tmp_path / name).mkdir()
        run(["git", "init", "-q"], environment, tmp_path / name)

    def notes(*words: str, project: str = "shop") -> subprocess.CompletedProcess[str]:
        script = str(EXAMPLES / "coding_notes.py")
        return run([sys.executable, script, *words], environment, tmp_path / project)

    added = notes("add", "The API tests need a running Redis")
    id_, action = added.stdout.strip().split("\t")
    assert (action, added.stderr) == ("stored", "")
    assert notes("find", "what do the tests need?").stdout == (
        f"{id_}\tThe API tests need a running Redis\n"
    )
    assert notes("find", "what do the tests need?", project="other").stdout == ""
    assert notes("correct", id_, "The API tests need Redis 7").stdout == f"{id_}\tcorrected\n"
    assert notes("find", "what do the tests need?").stdout == f"{id_}\tThe API tests need Redis 7\n"
    assert notes("files").stdout == ".notes\t{'written': 1}\n"
    [file] = (tmp_path / "shop/.notes").glob("*.md")
    file.write_text(file.read_text().replace("Redis 7", "Redis 8"))
    assert notes("files").returncode == 0
    assert "Redis 8" in notes("find", "what do the tests need?").stdout
    assert notes("correct", "mem_1_000000", "x").returncode == 1
    assert notes("find").returncode == 2


# --- every night ----------------------------------------------------------------------------------


def nightly(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    script = str(EXAMPLES / "nightly/nightly.sh")
    return run(["sh", script, *words], environment, Path(environment["HOME"]))


def _is_later_than(second: int) -> bool:
    return int(time.time()) > second


def test_every_night_a_store_is_looked_after_and_old_backups_go(
    environment: dict[str, str], tmp_path: Path
) -> None:
    with MemoryMesh(db_dir=tmp_path / "store", embedder="none") as mesh:
        mesh.add("The staging database is called heron")
    backups = tmp_path / "backups"
    for _ in range(2):
        done = nightly(environment, str(backups), "1")
        assert (done.returncode, done.stderr) == (0, "")
        ended = int(time.time())
        until(partial(_is_later_than, ended))  # backups are named by the second
    [kept] = backups.iterdir()
    with MemoryMesh(db_dir=tmp_path / "store", embedder="none") as mesh:
        mesh.add("The store goes on while it is looked after")
    damaged = tmp_path / "store/namespaces/default.db"
    damaged.write_bytes(damaged.read_bytes()[:8192].ljust(damaged.stat().st_size, b"\0"))
    failed = nightly(environment, str(backups), "1")
    assert failed.returncode == 1
    assert "nightly: failed: memory-mesh verify --all\n" in failed.stderr
    assert kept.is_dir()
    assert nightly(environment).returncode == 2


def test_the_units_of_systemd_run_the_script_as_it_is_called() -> None:
    service = (EXAMPLES / "nightly/memory-mesh-nightly.service").read_text()
    [line] = re.findall(r"^ExecStart=(.*)$", service, re.MULTILINE)
    assert re.fullmatch(r"/bin/sh \S+/nightly\.sh \S+ \d+", line)
    assert "OnCalendar=" in (EXAMPLES / "nightly/memory-mesh-nightly.timer").read_text()


# --- evaluation in CI -----------------------------------------------------------------------------


@pytest.fixture
def workflow(environment: dict[str, str], tmp_path: Path) -> list[str]:
    """The folder copied, and the commands of the workflow but for the installation."""
    run(["cp", "-r", str(EXAMPLES / "evaluate_in_ci"), "ci"], environment, tmp_path)
    values = yaml.safe_load((tmp_path / "ci/workflow.yml").read_text())
    job = values["jobs"]["evaluate"]
    assert job["defaults"]["run"]["working-directory"] == "examples/evaluate_in_ci"
    install, *lines = [step["run"] for step in job["steps"] if "run" in step]
    assert install == "pip install ../.."
    environment["GITHUB_STEP_SUMMARY"] = str(tmp_path / "summary.md")
    return lines


def test_the_workflow_passes_and_a_note_that_gets_worse_fails_it(
    workflow: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    def codes() -> list[int]:
        run(["rm", "-rf", "store"], environment, tmp_path / "ci")
        done = [run(["sh", "-c", line], environment, tmp_path / "ci") for line in workflow]
        return [each.returncode for each in done]

    assert codes() == [0, 0, 0]
    staging = tmp_path / "ci/notes/staging.md"
    staging.write_text("Our main store of facts for trying things: heron, port 6543.\n")
    (tmp_path / "ci/notes/copy.md").write_text("# Staging database\n\nWhich port? Ask Priya.\n")
    assert codes() == [0, 1, 0]
    summary = (tmp_path / "summary.md").read_text()
    assert "1 of 5, by R@1 of mesh." in summary
    assert "**Which port does the staging database use?** (q3)" in summary
    assert r"first: \# Staging database Which port? Ask Priya. (score 0." in summary


# --- another model for every namespace ------------------------------------------------------------


def test_every_namespace_gets_vectors_of_another_model(
    environment: dict[str, str], tmp_path: Path
) -> None:
    store = tmp_path / "store"
    environment["MEMORY_MESH_EMBEDDER"] = "static"
    with MemoryMesh(store, embedder="none") as mesh:
        mesh.add("The deploy runs on Friday")
        mesh.for_user("ada").add_many(["Ada drinks tea", "Ada rides a red bicycle"])
    words = [sys.executable, str(EXAMPLES / "reembed_in_bulk.py"), str(store)]
    spread = ["--embedder", "static", "--threads", "2", "--switch"]
    for _ in range(2):  # again: nothing is left to do
        done = run([*words, *spread], environment, tmp_path)
        assert done.stdout == "2 of 2 namespaces are done\n", done.stderr
    with MemoryMesh(store, embedder="static") as mesh:
        (space,) = mesh.for_user("ada").stats().spaces
        assert (space.vectors, space.pending) == (2, 0)
