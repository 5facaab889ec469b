"""Real output for tools/schemas.py: a small store is filled, asked and copied by the command line.

Each sample is a document as a reader gets it, under the name of its schema. A command whose
answer is not JSON leaves no sample.
"""

import contextlib
import io
import json
import os
import sqlite3
import tarfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memory_mesh.cli import main as command_line
from memory_mesh.platform.agent_shell import agent_variables

Samples = dict[str, list[Any]]
SKILL = (
    "---\nname: release\ndescription: How to release.\n---\n\nRun the tests, then tag the commit.\n"
)
STORED: tuple[list[str], ...] = (
    ["The user prefers dark themes", "--tag", "ui", "--tag", "taste"],
    ["The user prefers dark themes"],
    ["Ann's favourite colour is green", "--metadata", '{"team": "core", "priority": 3}'],
    ["Ann's favourite colour is blue"],
    ["Write to ann@example.org about the deploy", "--importance", "0.9"],
    ["Deploys run on Fridays at noon", "--source", "https://example.org/deploys"],
    ["First run the tests, then build the image, then deploy to staging"],
)

SCOPE = ("--project", "shop", "--session", "s1", "--agent", "helper")
FULL = (
    *("Ann said that the tests are green", "--type", "event", "--trigger", "keyword:deploy"),
    *("--importance", "high", "--speaker", "Ann", "--role", "user", "--order", "1"),
    *("--occurred-at", "2026-01-01", "--valid-from", "2026-01-01", "--valid-until", "2036-01-01"),
    *("--rationale", "a release waits", "--hypothesis", "releases", "--meta", "team=core"),
)


class Recorder:
    """Runs commands in one home and keeps what they print."""

    def __init__(self, home: Path, samples: Samples) -> None:
        self.home = home
        self.samples = samples

    def run(self, *words: str) -> Any:  # noqa: ANN401  # whatever it prints
        """Runs a command with --json; keeps the document under its name and returns it."""
        code, out, err = self._ran(*words)
        if code:
            raise ValueError(f"{words} failed: {err}")
        document = json.loads(out)
        self.samples[words[0]].append(document)
        return document

    def run_only(self, *words: str) -> None:
        """Run a command without keeping what it prints."""
        code, _, err = self._ran(*words)
        if code:
            raise ValueError(f"{words} failed: {err}")

    def fail(self, *words: str) -> None:
        """Runs a command that cannot succeed; keeps what it says, if that is JSON."""
        code, out, err = self._ran(*words)
        if not code:
            raise ValueError(f"{words} succeeded")
        with contextlib.suppress(ValueError):
            said = json.loads((out or err).splitlines()[-1])
            self.samples["error"].append(said)

    def _ran(self, *words: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = command_line.run([*words, "--json"])
        return code, out.getvalue(), err.getvalue()


def samples(home: Path) -> Samples:
    """The documents of every schema: from `home`/store, and from a store without vectors."""
    found: Samples = defaultdict(list)
    for folder, embedder in ((home, "static"), (home / "none", "none")):
        folder.mkdir(exist_ok=True)
        with _alone(folder, embedder):
            recorder = Recorder(folder, found)
            _remember(recorder)
            if embedder != "none":
                _look_after(recorder)
                _copy(recorder)
    return found


def table_columns(database: Path) -> dict[str, dict[str, tuple[str, bool]]]:
    """Of each table the columns with their type and whether they may be null."""
    with contextlib.closing(sqlite3.connect(database)) as db:
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type='table'")]
        return {
            name: {
                column: (kind, not required and not key)
                for _, column, kind, required, _, key in db.execute(
                    "SELECT * FROM pragma_table_info(?)", (name,)
                )
            }
            for name in names
        }


def _remember(recorder: Recorder) -> None:
    run = recorder.run
    ids = [run("store", *words)["id"] for words in STORED]
    first, colour = ids[0], ids[2]
    for query in ("dark themes", "favourite colour of Ann", "xylophone"):
        run("search", query)
        run("search", query, "--explain")
        run("context", query)
        run("explain", first, "--query", query)
    for id_ in ids:
        run("get", id_)
        run("explain", id_)
        run("history", id_)
        run("links", id_)
    narrow = run("store", *FULL, *SCOPE)["id"]
    run("get", narrow, *SCOPE)
    run("list", "--limit", "1")
    run("list", *SCOPE)
    run("store", "The team deploys on Fridays", "--namespace", "team")
    run("search", "deploys", "--also-namespace", "team")
    changed = run("update", first, "--content", "The user prefers light themes")
    recorder.samples["update"].append({**changed, "superseded_by": ids[1]})  # of a superseded one
    run("pin", first)
    run("rate", "--id", first, "--helpful")
    run("reinforce", "--id", first)
    run("dispute", "--id", colour)
    run("delete", ids[5])
    run("restore", "--id", ids[5])
    for words in (["get", "mem_1_abcdef"], ["search", "tea", "--limit", "x"], ["get"]):
        recorder.fail(*words)
    run("history", first)
    run("conflicts", "--all")
    run("review")
    _of_a_file(recorder)


def _of_a_file(recorder: Recorder) -> None:
    """A memory of a user that came from a file."""
    file, of_user = recorder.home / "notes.md", ("--user", "ann")
    file.write_text("Tea is kept in tin boxes", encoding="utf-8")
    recorder.run_only("ingest-dir", str(file), *of_user)
    (found,) = recorder.run("list", *of_user)["items"]
    for words in (
        ["get"],
        ["history"],
        ["pin"],
        ["update", "--tag", "tea"],
        ["delete"],
        ["restore"],
    ):
        recorder.run(*words, "--id", found["id"], *of_user)
    recorder.run("search", "tea boxes", *of_user)


def _look_after(recorder: Recorder) -> None:
    run = recorder.run
    skill = recorder.home / "release.md"
    skill.write_text(SKILL, encoding="utf-8")
    run("ingest-skill", "--file", str(skill))
    run("list-skills")
    run("search-skills", "release")
    run("get", run("reflect")["id"])
    run("synthesize")
    run("lessons")
    run("distill")
    run("clusters")
    run("jobs")
    run("upkeep")
    for memory in run("list")["items"]:
        run("links", memory["id"])
    run("reflect", "--topic", "deploys")
    run("models", "list")
    run("reembed", "status")
    run("config")
    found = run("stats")
    recorder.samples["stats"].append({**found, "bytes": None, "sizes": None})  # of a database
    run("verify")
    run("namespaces", "list")


def _copy(recorder: Recorder) -> None:
    run, home = recorder.run, recorder.home
    folder = Path(run("backup", "--to", str(home / "backups"))["folder"])
    recorder.samples["backup-manifest"].append(json.loads((folder / "manifest.json").read_text()))
    run("export", "--to", str(home / "archive"))
    run("import", "--from", str(home / "archive"), "--into", "copy")
    with tarfile.open(home / "archive") as archive:
        for member in archive:
            file = archive.extractfile(member)
            lines = file.read().splitlines() if file else []
            if member.name == "manifest.json":
                recorder.samples["archive-manifest"].append(json.loads(b"".join(lines)))
            table = Path(member.name).stem
            if member.name.endswith(".jsonl"):
                recorder.samples["archive-rows"] += [{table: json.loads(line)} for line in lines]
    for path in (home / "store/namespaces").glob("*.head"):
        recorder.samples["head-file"].append(path.read_text())


@contextlib.contextmanager
def _alone(home: Path, embedder: str) -> Iterator[None]:
    """No setting of the person who runs this is read, and no agent's shell is noticed."""
    kept = dict(os.environ)
    own = ("MEMORY_MESH_", "XDG_")
    for name in [*agent_variables(os.environ), *(n for n in kept if n.startswith(own))]:
        os.environ.pop(name, None)
    settings: Mapping[str, str] = {
        "HOME": str(home),
        "MEMORY_MESH_DIR": str(home / "store"),
        "MEMORY_MESH_EMBEDDER": embedder,
        "MEMORY_MESH_OWN_NAMES": "off",
    }
    os.environ.update(settings)
    before = Path.cwd()
    os.chdir(home)
    try:
        yield
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ.update(kept)
