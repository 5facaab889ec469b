"""What `--json` prints: one object, whatever the command; errors and notes are objects, too."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from memory_mesh.cli import command_table, main
from memory_mesh.sync import MemoryMesh

# `completion` prints a script, `mcp` and `daemon` serve, `init` writes the settings of agents.
WITHOUT = {"completion", "serve", "ui", "mcp", "daemon", "init", "setup-server", "worker", "fleet"}
WORDS: dict[str, Sequence[Sequence[str]]] = {
    "store": (["tea at four"],),
    "evolve": (["tea at five"],),
    "search": (["door"], ["door", "--explain"], ["nothing of that"]),
    "context": (["door"],),
    "get": (["MEMORY"],),
    "update": (["MEMORY", "the door is green"],),
    "pin": (["MEMORY"],),
    "delete": (["OTHER"],),
    "erase": (["MEMORY"], ["--unforget", "tea at noon"]),
    "restore": (["OTHER"],),
    "rate": (["MEMORY", "--helpful"],),
    "reinforce": (["MEMORY"],),
    "dispute": (["MEMORY"],),
    "explain": (["MEMORY"],),
    "history": (["MEMORY"],),
    "bisect": (["the door was wrong", "--run", "true"],),
    "reflect": (["--topic", "door"],),
    "extract": (["said.jsonl", "--rules"],),
    "ingest-skill": (["--file", "skill.md"],),
    "search-skills": (["door"],),
    "trace": (["record", "paint"], ["list"], ["similar", "paint"], ["plan", "paint"]),
    "trigger": (["test", "door", "a door"], ["list"], ["find", "door"], ["prompt", "door"]),
    "link": (["MEMORY", "OTHER"], ["MEMORY", "OTHER", "--remove"]),
    "links": (["MEMORY"],),
    "graph": (["MEMORY"],),
    "episode": (["create", "a trip", "MEMORY"], ["list"]),
    "ingest-dir": (["notes"],),
    "mirror": (["init", "vault"], ["status", "vault"]),
    "export": (["one.tar.gz"],),
    "import": (["one.tar.gz", "--into", "copy"],),
    "inspect": (["notes"],),
    "memory-log": (["list"],),
    "project": (["set", "shop"], []),
    "backup": (["copies"],),
    "verify": ([], ["--all"]),
    "salvage": (["--to", "salvaged"],),
    "namespaces": ([], ["delete", "copy", "--yes"]),
    "keys": (["show"],),
    "move": (["--to", "elsewhere"],),
    "jobs": ([], ["run", "--dry-run"]),
    "models": (["list"],),
    "sync": (["init", "shared", "--name", "here"], ["status"], ["now"], ["revoke", "here"]),
    "eval": (["list"],),
    "wipe": (["--project", "nobody", "--yes"],),
    "export-tables": (),  # these need lancedb, or the file of another program
    "import-tables": (),
    "migrate-tables": (),
    "import-lane": (),
    "skill-feedback": (),
}


@pytest.fixture
def ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.chdir(tmp_path)
    for name, value in {"HOME": str(tmp_path), "MEMORY_MESH_DIR": "store"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MEMORY_MESH_EMBEDDER", "none")
    monkeypatch.setenv("MEMORY_MESH_SYSTEM_MEMORY", "on")
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "CLAUDECODE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "notes").mkdir()
    (tmp_path / "said.jsonl").write_text('{"role": "user", "content": "We decided on Postgres."}')
    (tmp_path / "notes/one.md").write_text("The gate is blue")
    (tmp_path / "skill.md").write_text("---\nname: open\nintent: open a door\n---\nPush the door")
    with MemoryMesh(db_dir="store", channel="cli") as mesh:
        first = mesh.add("The door is red").id
        other = mesh.add("The roof is flat").id
    assert first is not None
    assert other is not None
    return {"MEMORY": first, "OTHER": other}


def lines() -> Iterator[list[str]]:
    for name in (name for name in command_table.COMMANDS if name not in {*WITHOUT, "move"}):
        for words in WORDS.get(name, ([],)):
            yield [name, *words]
    yield ["move", *WORDS["move"][0]]  # last: the store is elsewhere then


def test_every_command_prints_one_object(
    ids: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = []
    for words in lines():
        code = main.run([*(ids.get(word, word) for word in words), "--json"])
        told = capsys.readouterr()
        try:
            answer = json.loads(told.out)
        except ValueError:
            answer = None
        if not isinstance(answer, dict) or code not in {0, 1}:
            wrong.append((words, code, told.out[:200], told.err[:500]))
        for line in told.err.splitlines():
            assert set(json.loads(line)) <= {"note", "error"}, (words, line)
    assert wrong == []


@pytest.mark.parametrize("name", sorted(command_table.COMMANDS))
def test_a_wrong_option_of_any_command_is_an_object_on_standard_error(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run([name, "--no-such-option", "--json"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    error = json.loads(told.err)["error"]
    assert error["code"] == "usage"
    assert set(error) == {"code", "message", "hint"}


@pytest.mark.parametrize(
    ("words", "kind", "hint"),
    [
        (["serach", "x"], "usage", "did you mean search?"),
        (["get", "mem_1_ffffff"], "not_found", "List all memories: memory-mesh list"),
        (["get", "two words"], "not_found", "memory-mesh search 'two words'"),
        (["search", "x", "--as-of", "soon"], "invalid_input", None),
        (["list", "--filter", "a ="], "filter_error", None),
        (["list", "--db-dir", "notes/one.md"], "store_error", "Name another folder: --db-dir"),
    ],
)
def test_an_error_has_its_code_its_cause_and_a_hint(
    ids: dict[str, str],
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    kind: str,
    hint: str | None,
) -> None:
    code = 2 if kind == "usage" else 1
    assert main.run([*words, "--json"]) == code
    told = capsys.readouterr()
    error = json.loads(told.err)["error"]
    assert (told.out, error["code"]) == ("", kind)
    assert error["message"]
    if hint is not None:
        assert hint in error["hint"]
    assert main.run(words) == code
    assert capsys.readouterr().err.startswith("[MemoryMesh Error] ")
