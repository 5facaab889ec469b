"""Plants secrets in every option of every command, in the files that commands read, in settings.

The commands run in this process, each as `memory-mesh` would run it: what they print is held to
the same rule as what the library answers. Files that the user names stay what they are; they lie
outside the folder that is searched.
"""

import argparse
import io
import json
import os
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, closing, redirect_stderr, redirect_stdout, suppress
from itertools import product
from pathlib import Path
from unittest.mock import patch

from memory_mesh.cli import command_table, main
from memory_mesh.config import tables as settings
from tests.faults.planted import KINDS
from tests.faults.secret_shapes import Say, Targets, lesson_words, skill_texts
from tests.faults.secrets import Walk

_ID = "mem_1767225600000_0a1b2c"
VARIANTS: Mapping[str, Sequence[Sequence[str]]] = {  # of commands that take an action or need more
    "store": (["--content", "a text"],),
    "evolve": (["--content", "a text"],),
    "link": (["MEMORY", "RIVAL"],),
    "search": (["door"],),
    "context": (["door"],),
    "get": (["--id", "MEMORY"],),
    "update": (["--id", "MEMORY"], ["--id", "MEMORY", "--propose"]),
    "pin": (["--id", "MEMORY"],),
    "rate": (["MEMORY", "--helpful"],),
    "reinforce": (["MEMORY"],),
    "dispute": (["MEMORY"],),
    "delete": (["--id", "MEMORY", "--propose"],),
    "erase": (["MEMORY"], ["--source", "nobody"], ["--unforget", "door"]),
    "restore": (["--id", "MEMORY"], ["--from", "EMPTY", "--to", "OUT"]),
    "backup": (["--to", "OUT"],),
    "keys": (["show"], ["rotate"]),
    "namespaces": (["list"], ["delete", "nowhere", "--yes"]),
    "trigger": (["test", "red door"], ["list"], ["find", "red door"], ["prompt", "red door"]),
    "ingest-dir": (["EMPTY"],),
    "mirror": (["status"], ["init"], ["resolve", "a.md", "--keep", "file"], ["mark", "a.md"]),
    "ingest-skill": (["--file", "SKILL"],),
    "search-skills": (["door"],),
    "skill-feedback": (["--id", "skill_1_a", "--success", "true"],),
    "lessons": (["door"],),
    "review": (["--id", "RIVAL", "--approve"], ["--source", "nobody", "--reject"]),
    "conflicts": (["--id", "conflict_1_a", "--resolve", "keep_both"],),
    "history": (["--id", "MEMORY"],),
    "links": (["MEMORY"],),
    "graph": (["MEMORY"],),
    "episode": (["create", "a trip"], ["list"], ["show", "ep_1_a"], ["summary", "ep_1_a"],
                ["add", "ep_1_a", _ID], ["remove", "ep_1_a", _ID]),
    "explain": (["MEMORY"], ["MEMORY", "--query", "door"]),
    "bisect": (["a wrong door", "--run", "true"],),
    "trace": (["record", "paint"], ["show", "trace-1-a"], ["list"], ["similar", "paint"],
              ["plan", "paint"], ["import", "TRACE"], ["export", "-"], ["layout", "EMPTY"]),
    "memory-log": (["list"], ["search", "paint"], ["erase", "--of-project", "p"]),
    "export": (["--to", "OUT.tar.gz"],),
    "import": (["--from", "no-archive"],),
    "inspect": (["EMPTY"],),
    "move": (["--to", "OUT"],),
    "import-tables": (["EMPTY"],),
    "export-tables": (["OUT"],),
    "migrate-tables": (["EMPTY"],),
    "import-lane": (["LANE"],),
    "jobs": (["list"], ["run", "--dry-run"], ["archive-project"], ["queue"], ["retry"]),
    "serve": (["--port", "99999"],),  # which is refused: else it would serve until Ctrl-C
    "ui": (["--port", "99999"],),  # likewise
    "worker": (["--once"],),
    "eval": (["list"], ["compare", "a.json", "b.json"], ["run", "no-suite"]),
    "models": (["list"], ["install", "EMPTY"]),
    "reembed": (["status"], ["start"], ["compare"], ["drop"]),
    "completion": (["bash"],),
}  # fmt: skip
REASONS = {
    "--db-dir": "the folder of the store, which the user names",
    "--namespace": "the name of a namespace is the name of its file, and stays readable",
    "--also-namespace": "the name of a namespace is the name of its file, and stays readable",
    "--user": "the id of a user is the name of a file, and stays readable",
    "--also-user": "the id of a user is the name of a file, and stays readable",
    "init --store": "the folder of the store, which the user names",
    "move --to": "the folder that a store is moved to: the old one says where it went",
    "models --base-url": "an address that is asked: it is planted in the tests of the HTTP client",
}
_AFTER_AN_ACTION = frozenset(("words", "what", "target", "names", "query"))


def walk_commands(walk: Walk, given: Path) -> None:
    """Run every command with a secret in each of its options."""
    files = _files(given)
    with chdir(given), patch.dict(os.environ, {"MEMORY_MESH_DIR": str(walk.folder / "cli")}):
        files |= _stored()
        for name in command_table.COMMANDS:
            options = list(product(VARIANTS.get(name, ([],)), _valued(name)))
            for words, action in walk.chosen(options):
                _plant(walk, name, words, action, files)
        _from_standard_input(walk)


def walk_files(walk: Walk, given: Path) -> None:
    """Bring in files of every format, with secrets in their names and texts, and export them."""
    exports = walk.folder / "exports"
    exports.mkdir()
    with chdir(given), patch.dict(os.environ, {"MEMORY_MESH_DIR": str(walk.folder / "files")}):
        for kind in walk.kinds:
            for name, words in _written(walk, given / f"of-{kind}", kind):
                _run(walk, f"{name} of a file with a {kind}", words)
        for words in (["list", "--json"], ["list-skills", "--json"], ["trace", "list", "--json"],
                      ["trace", "export", "EXPORTS/traces"], ["trace", "layout", "EXPORTS"],
                      ["export-tables", "EXPORTS/tables"], ["mirror", "init", "EXPORTS/mirror"],
                      ["verify", "--checkpoint", "EXPORTS/checkpoint.json"]):  # fmt: skip
            named = [word.replace("EXPORTS", str(exports)) for word in words]
            _run(walk, f"{words[0]} of what was brought in", named)


def walk_settings(walk: Walk, given: Path) -> None:
    """Show the settings with a secret in each, as the environment gives it."""
    store = {"MEMORY_MESH_DIR": str(walk.folder / "cli")}
    for name, variable in settings.ENVIRONMENT.items():
        if name in {"db_dir", "namespace"}:
            continue
        secret = walk.planted.secret(walk.kinds[0], f"the variable {variable}")
        with chdir(given), patch.dict(os.environ, store | {variable: secret.alone}):
            for words in (["config"], ["config", "--json"], ["store", "--content", "a"]):
                _run(walk, f"{words[0]} with {variable}", words)


def _valued(name: str) -> Iterator[argparse.Action]:
    parser = command_table.Parser(prog=name)
    command_table.describe(parser, command_table.load(name))
    for action in parser._actions:  # argparse shows them nowhere else
        names = {*action.option_strings, f"{name} {''.join(action.option_strings)}"}
        if action.nargs != 0 and not names & REASONS.keys():
            yield action


def _plant(
    walk: Walk,
    name: str,
    words: Sequence[str],
    action: argparse.Action,
    files: Mapping[str, str],
) -> None:
    option = action.option_strings[-1] if action.option_strings else ""
    place = f"memory-mesh {name} {words[:1]} {option or action.dest}"
    walk.report.count("options")
    for kind in walk.kinds_here():
        say = walk.say(kind, place)
        for said in _said(option, say):
            kept = words if option else words[: action.dest in _AFTER_AN_ACTION]
            fresh = {**files, "a text": f"a text {len(walk.planted.places)}"}
            base = [fresh.get(word, word) for word in kept]
            _run(walk, place, [name, *base, f"{option}={said}" if option else said])


def _said(option: str, say: Say) -> Iterator[str]:
    if option == "--metadata":
        yield json.dumps({"note": say("value").said, say("key").said: 1})
        yield "{" + say("broken").said
    elif option == "--meta":
        yield f"note={say('value').said}"
        yield say("without").said
    elif option == "--filter":
        yield f"speaker = '{say('value').said}'"
        yield f"{say('broken').said} ="
        yield json.dumps({"note": say("value").said, say("key").said: {"$gte": 1}})
        yield json.dumps({say("key").said: {"$nope": say("value").said}})
    else:
        yield say("").said
        yield f"/tmp/{say('path').alone}"


def _run(walk: Walk, place: str, words: Sequence[str], stdin: bytes = b"") -> None:
    """One command in this process; what it prints must not hold a secret."""
    out = io.StringIO()
    walk.report.count("commands")
    given = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    with (
        patch.object(sys, "stdin", given),
        redirect_stdout(out),
        redirect_stderr(out),
        suppress(SystemExit),  # of --help and --version
    ):
        if main.run(words) == main.CRASHED:
            walk.report.broken("a bug", f"{place}: {out.getvalue()}")
    walk.searched(f"what {place} printed", out.getvalue())


def _from_standard_input(walk: Walk) -> None:
    for kind in walk.kinds:
        secret = walk.planted.secret(kind, "standard input")
        text = f"write {secret.said}\n".encode()
        _run(walk, "store from standard input", ["store", "--content", "-"], text)


def _stored() -> dict[str, str]:
    """Ids of memories that commands are given."""
    out = io.StringIO()
    with redirect_stdout(out):
        main.run(["store", "--content", "the door is red", "--trigger", "red door"])
        main.run(["store", "--content", "the door is blue", "--type", "lesson"])
    first, second = [word for word in out.getvalue().split() if word.startswith("mem_")][:2]
    return {"MEMORY": first, "RIVAL": second}


def _files(given: Path) -> dict[str, str]:
    """Files that hold no secret, for options that need one."""
    (given / "empty").mkdir(parents=True)
    (given / "skill.md").write_text("---\nname: Ship\nintent: ship\n---\n1. run make\n")
    (given / "trace.md").write_text("nothing")
    _lane_file(given / "lane.db", [])
    return {"EMPTY": "empty", "OUT": "out", "SKILL": "skill.md", "TRACE": "trace.md",
            "LANE": "lane.db"}  # fmt: skip


def _written(walk: Walk, folder: Path, kind: str) -> Iterator[tuple[str, list[str]]]:
    """The commands that read files, each with files that are full of secrets."""

    def say(of: str) -> Say:
        return walk.say(kind, f"{of} with a {kind}")

    for name in ("notes", "mirror", "traces"):
        (folder / name).mkdir(parents=True)
    said = say("ingest-dir")
    _note(folder / "notes" / f"{_file_name(said('file name').alone)}.md", said)
    (folder / "notes" / "page.html").write_text(f"<p>{said('html').said}</p>")
    yield "ingest-dir", ["ingest-dir", str(folder / "notes"), "--recursive"]
    said = say("mirror")
    _note(folder / "mirror" / f"{_file_name(said('file name').alone)}.md", said)
    for action in ("init", "run", "status", "stale"):
        yield f"mirror {action}", ["mirror", action, "--dir", str(folder / "mirror")]
    said = say("ingest-skill")
    skill = folder / f"{_file_name(said('file name').alone)}.md"
    skill.write_text(f"---\nname: {said('name').said}\nintent: {said('intent').said}\n---\n"
                     f"1. run {said('step').said}\n")  # fmt: skip
    yield "ingest-skill", ["ingest-skill", "--file", str(skill)]
    said = say("trace import")
    trace = folder / "traces" / f"{_file_name(said('file name').alone)}.md"
    trace.write_text(_trace(said, kind))
    yield "trace import", ["trace", "import", str(folder / "traces")]
    said = say("import-lane")
    path = folder / f"{_file_name(said('file name').alone)}.db"
    _lane_file(path, _lane_rows(said, kind))
    yield "import-lane", ["import-lane", str(path)]
    yield "import-lane anew", ["import-lane", str(path), "--json"]
    if walk.share == 1:  # LanceDB takes seconds to load
        said = say("import-tables")
        tables = _tables(folder / _file_name(said("file name").alone), said, kind)
        yield "import-tables", ["import-tables", str(tables)]
        yield "import-tables anew", ["import-tables", str(tables), "--json"]


def _tables(folder: Path, say: Say, kind: str) -> Path:
    """Tables of @yamo/memory-mesh with a secret in every text."""
    from tests import tables

    meta = {"note": say("note").said, "type": say("type").said, "source": say("source").said,
            "tags": [say("tag").said], "password": say("named").value}  # fmt: skip
    names = ("session_id", "agent_id", "memory_type", "source_skill_id")
    promoted = {name: say(name).said for name in names}
    first = 10 * KINDS.index(kind)  # ids of its own
    rows = [
        tables.entry(first + 1, f"write {say('content').said}", meta, **promoted),
        tables.entry(first + 2, "an id with a secret", {}, id=say("id").said),
        tables.entry(first + 3, "metadata that is none", {}) | {"metadata": say("broken").said},
    ]
    text = next(skill_texts(say, Targets()))
    skills = [
        tables.skill(first + 1, say("name of a skill").said, text, {"note": say("of it").said})
    ]
    return tables.write(
        folder, memory_entries=(tables.V2, rows), synthesized_skills=(tables.SKILLS, skills)
    )


def _file_name(text: str) -> str:
    return text.replace("the password is ", "password=").replace(" ", "-")


def _note(path: Path, say: Say) -> None:
    """A memory file with a secret in every field."""
    head = "".join(
        f'{name}: "{say(name).said}"\n'
        for name in ("title", "discoveredBy", "discoveredIn", "source", "owner")
    )
    listed = "".join(f'{name}: ["{say(name).said}"]\n' for name in ("whenToUse", "tags"))
    body = f"# {say('heading').said}\n\nwrite {say('body').said}\n"
    path.write_text(f"---\n{head}{listed}importance: high\n---\n\n{body}")


def _trace(say: Say, kind: str) -> str:
    words = lesson_words(say)
    lines = "\n".join(f"- {value}" for value in words.values() if isinstance(value, str))
    return (
        f"---\ntrace_id: trace-1-{kind}\ngoal: {say('goal').said}\nstatus: success\n"
        f"tools_used: [{say('tool').alone}]\n---\n\n# {say('title').said}\n\n"
        f"## Plan\n{say('plan').said}\n\n## Steps\n{lines}\n\n"
        f"## Learnings\n- {say('learned').said}\n"
    )


def _lane_rows(say: Say, kind: str) -> list[dict[str, str]]:
    value = say("content").value
    meta = {"memory_type": "learning", "note": say("note").said, "source_chunk": say("chunk").said}
    known = {"content": f"write {say('content').said} soon", "collection": say("collection").said}
    return [
        known | {
            "id": f"row-{kind}",
            "metadata": json.dumps(meta),
            "tags": json.dumps([say("tag").said]),
            "auto_tags": json.dumps([value.lower(), *value.lower().split(".")]),
            "keywords": " ".join(["write", value.lower(), *value.lower().split("@")]),
        },
        {"id": say("id").said, "content": "an id with a secret", "metadata": say("broken").said},
    ]  # fmt: skip


def _lane_file(path: Path, rows: list[dict[str, str]]) -> None:
    columns = ("id", "content", "metadata", "collection", "tags", "auto_tags", "keywords")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(f"CREATE TABLE memories ({', '.join(columns)}, created_at, updated_at)")
        for row in rows:
            values = [row.get(name) for name in columns]
            made = "2025-06-01T10:00:00.000Z"
            db.execute("INSERT INTO memories VALUES (?,?,?,?,?,?,?,?,?)", [*values, made, made])
