"""Makes the mistakes of tests/golden/mistakes.toml for real, and writes their golden file and page.

A command runs on a terminal of 80 columns in a home of its own. The Python mistakes run one after
the other in one process, each in a folder of its own: `python -m tests.surface.mistakes`.
"""

import gc
import io
import json
import os
import re
import subprocess
import sys
import tomllib
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from memory_mesh.sync import MemoryMesh
from tests.read_only import cannot_be_written
from tests.surface.command import CommandLine

ROOT = Path(__file__).parents[2]
LIST, GOLDEN = ROOT / "tests/golden/mistakes.toml", ROOT / "tests/golden/mistakes.md"
PAGE, BEGIN, END = (
    ROOT / "docs/reference/answers.md",
    "<!-- mistakes: begin -->",
    "<!-- mistakes: end -->",
)
EXAMPLES = {  # what the page shows; the golden file has all of them
    "A typo in an option",
    "The name of a file instead of its text",
    "A memory that was deleted",
    "A typo in the name of a filter's field",
    "The folder of the store misspelled",
    "A folder without the right to write",
    "A typo in a setting",
    "An await forgotten",
    "The user as an argument",
    "A package that is not installed",
    "Another key than the store was made with",
    "A second writer that does not let go",
}
SHOWN_ID = "mem_1767225600000_0a1b2c"
_KNOWN = (SHOWN_ID, "mem_1700000000000_abcdef")
_ID = re.compile(r"mem_\d{13}_[0-9a-f]{6}")
_PROCESS = re.compile(r"(?<=process )\d+")
_BLOCK = re.compile(r"yamo_\w+_\d{13}_[0-9a-f]{6}")
_KEY = re.compile(r"[0-9a-f]{32}")
_KEY_NAME = re.compile(r"(?<=the key )[0-9a-f]{8}")
_WAITED = re.compile(r"(?<=waited )[\d.]+ s")
_DAY = re.compile(r"20\d\d-\d\d-\d\d(?:[T ][\d:.]+Z?)?")
_MISSING = ("httpx", "numpy", "onnxruntime", "openai", "safetensors", "tokenizers", "wordllama")
_HOLD = """
import sys, time
from pathlib import Path
from memory_mesh.platform.locks import FairLock
with FairLock(Path(sys.argv[1])).held():
    print("held", flush=True)
    time.sleep(600)
"""


@dataclass(frozen=True, slots=True)
class Mistake:
    """What a user does, in which situation."""

    title: str
    type: str = ""
    python: str = ""
    before: str = "store"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the user sees, and the exit code of a command."""

    text: str
    code: int


def listed() -> list[Mistake]:
    return [Mistake(**row) for row in tomllib.loads(LIST.read_text("utf-8"))["mistake"]]


def typed(mistake: Mistake, home: Path) -> Answer:
    """Types the command on a terminal; the answer."""
    first = _prepare(home, mistake.before)
    line = mistake.type.replace("ID-1", first[:-1]).replace("ID", first).strip()
    variables = {
        "MEMORY_MESH_DIR": "store",
        "NO_COLOR": "1",
        "PYTHONPATH": str(ROOT),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    shell: tuple[str, ...] = ("sh", "-c", line)
    if mistake.before == "read only":
        shell = (sys.executable, "-m", "tests.surface.mistakes", str(home), line)
    done = CommandLine(home, shell, variables).on_terminal()
    return Answer(_steady(done.out, home, first), done.code)


def in_python(mistakes: Sequence[Mistake], folder: Path) -> list[Answer]:
    """Runs the snippets in one process; what each leaves as its last words."""
    work = []
    for number, mistake in enumerate(mistakes):
        home = folder / str(number)
        home.mkdir()
        work.append({"code": mistake.python, "before": mistake.before, "home": str(home)})
    home = folder / "home"
    home.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "tests.surface.mistakes"],
        input=json.dumps(work), capture_output=True, text=True, cwd=ROOT, timeout=120, check=False,
        env={**CommandLine(home).environment, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [
        Answer(_steady(text, Path(each["home"]), ""), 1 if text else 0)
        for text, each in zip(json.loads(done.stdout), work, strict=True)
    ]


def page(mistakes: Sequence[Mistake], answers: Sequence[Answer]) -> str:
    """The page: what was typed, and what came."""
    parts = [HEAD]
    for kind, heading in (("type", "On the command line"), ("python", "In Python")):
        parts.append(f"## {heading}\n")
        for mistake, answer in zip(mistakes, answers, strict=True):
            if getattr(mistake, kind):
                parts.append(_section(mistake, answer))
    return "\n".join(parts)


def examples(mistakes: Sequence[Mistake], answers: Sequence[Answer]) -> str:
    """The page of the documentation, with some of them."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    shown = [
        _section(mistake, answer)
        for mistake, answer in zip(mistakes, answers, strict=True)
        if mistake.title in EXAMPLES
    ]
    return f"{before}{BEGIN}\n" + "\n".join(shown) + f"{END}{after}"


def _section(mistake: Mistake, answer: Answer) -> str:
    situation = SITUATIONS[mistake.before]
    told = f"{situation}\n\n" if situation else ""
    if mistake.python:
        code = f"```py\n{mistake.python.strip()}\n```\n\n"
        return f"### {mistake.title}\n\n{told}{code}```text\n{answer.text}\n```\n"
    line = mistake.type.strip().replace("ID-1", SHOWN_ID[:-1]).replace("ID", SHOWN_ID)
    code = f"\n(exit code {answer.code})" if answer.code else ""
    return f"### {mistake.title}\n\n{told}```text\n$ {line}\n{answer.text}{code}\n```\n"


HEAD = """# Forty mistakes, and what memory-mesh answers

Each answer names the cause and the next step. The answers are what comes when each line is run:
`pytest tests/surface/test_mistakes.py` compares them, and writes them anew with `UPDATE_GOLDEN=1`.
The commands run on a terminal of 80 columns. The store is in the folder `store`
(`MEMORY_MESH_DIR=store`) and holds three memories; `notes.txt` and `photo.jpg` lie beside it. Of
Python's traceback the last lines are shown.
"""
SITUATIONS = {
    "store": "",
    "deleted": "The memory was deleted before.",
    "read only": "The folder of the store may be read, not written.",
    "newer": "A later version of memory-mesh wrote the store.",
    "base install": "Installed without extras.",
    "other key": "The key in `~/.config/memory-mesh/keys` was replaced.",
    "locked": "Another process holds the lock of the store for longer than the wait.",
    "damaged": "Somebody has written over the database file.",
}


def _steady(text: str, home: Path, first: str) -> str:
    """The text without what differs from run to run."""
    shown = text.replace(str(home), "~").replace(first or "\0", SHOWN_ID)
    if first:
        shown = re.sub(rf"{first[:-1]}(?![0-9a-f])", SHOWN_ID[:-1], shown)
    shown = _ID.sub(
        lambda found: found[0] if found[0] in _KNOWN else "mem_1767225600001_3d4e5f", shown
    )
    shown = _KEY.sub("0123456789abcdef", _KEY_NAME.sub("01234567", shown))
    shown = _WAITED.sub("0.2 s", shown.replace(f"-e '{ROOT}[", "'memory-mesh["))
    shown = _BLOCK.sub("yamo_change_1767225600002_6a7b8c", _PROCESS.sub("4711", shown))
    return "\n".join(line.rstrip() for line in _DAY.sub("2026-01-01", shown).splitlines()).strip()


def _prepare(home: Path, before: str) -> str:
    """Makes the store of a situation; the id of its first memory."""
    os.environ["HOME"] = str(home)  # where keys are kept
    (home / "notes.txt").write_text("Tea at four\n")
    (home / "photo.jpg").write_bytes(b"\xff\xd8\xff\xe0\x00\x10JFIF\x00")
    with MemoryMesh(db_dir=home / "store", embedder="none") as mesh:
        first = mesh.add("The user prefers dark themes for the night", kind="preference").id
        assert first is not None
        mesh.add("Deploys run on Fridays")
        mesh.add("Write to ada@example.org")
        if before == "deleted":
            mesh.delete(first)
    file = home / "store/namespaces/default.db"
    if before == "newer":
        import sqlite3
        from contextlib import closing

        with closing(sqlite3.connect(file)) as db, db:
            db.execute("UPDATE store SET min_reader = 9999")
    if before == "damaged":
        file.write_bytes(b"no database" * 1_000)
    if before == "other key":
        (key,) = Path("~/.config/memory-mesh/keys").expanduser().glob("*.key")
        with MemoryMesh(db_dir=home / "other", embedder="none") as mesh:
            mesh.add("Write to ada@example.org")
        (other,) = {*key.parent.glob("*.key")} - {key}
        key.write_bytes(other.read_bytes())
    return first


@contextmanager
def _situation(before: str) -> Iterator[None]:
    """What has to hold while the snippet runs."""
    if before == "base install":
        kept = {name: sys.modules.get(name) for name in _MISSING}
        sys.modules.update(dict.fromkeys(_MISSING))  # type: ignore[arg-type]  # None: not installed
        try:
            yield
        finally:
            for name, module in kept.items():
                if module is None:
                    del sys.modules[name]
                else:
                    sys.modules[name] = module
    elif before == "locked":
        path = Path("store/namespaces/default.lock")
        holder = subprocess.Popen(
            [sys.executable, "-c", _HOLD, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        os.environ["MEMORY_MESH_LOCK_WAIT_SECONDS"] = "0.2"
        try:
            yield
        finally:
            del os.environ["MEMORY_MESH_LOCK_WAIT_SECONDS"]
            holder.kill()
            holder.communicate()
    else:
        yield


def _last_words(code: str, before: str) -> str:
    """What Python prints below the traceback of a snippet; an empty text if it does not fail."""
    printed, last = io.StringIO(), ""
    with _situation(before), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", RuntimeWarning)  # a coroutine that was never awaited
        try:
            with redirect_stdout(printed):
                exec(compile(code, "mistake.py", "exec"), {})  # the list is ours
        except Exception as error:  # noqa: BLE001  # any error is the answer
            last = "".join(traceback.format_exception_only(error))
        gc.collect()
    told = [f"{each.category.__name__}: {each.message}\n" for each in warned]
    return "".join([printed.getvalue(), last, *told])


def _main() -> None:
    if sys.argv[1:]:  # a home whose store cannot be written, and a line
        cannot_be_written(Path(sys.argv[1], "store"))
        os.execvp("sh", ["sh", "-c", sys.argv[2]])  # the list is ours
    said = []
    for each in json.load(sys.stdin):
        os.chdir(each["home"])
        _prepare(Path(each["home"]), each["before"])
        said.append(_last_words(each["code"], each["before"]))
    json.dump(said, sys.stdout)


if __name__ == "__main__":
    _main()
