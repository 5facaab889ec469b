"""The store itself: that it opens, takes a write and searches, and that its chain is whole."""

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from memory_mesh.agents.doctor.finding import (
    Case,
    CheckResult,
    counted,
    failed,
    ok,
    unseen,
    warning,
)
from memory_mesh.base.installed import install_command
from memory_mesh.care.key_file import IDENTITY, RECORD_FILE, KeyFile, had_key
from memory_mesh.care.moves import encrypted_by, look
from memory_mesh.model import Check, Health, StoreError, WrongKey
from memory_mesh.platform import system
from memory_mesh.rules.arguments import shown_namespace

_HOW = {
    "set": "its name was set in git's configuration",
    "remote": "known by its remote: the same in every clone and on every machine",
    "root": "known by its first commit: the same in every clone",
    "path": "known by its path alone: a moved folder is another project",
    "folder": "its name was set for this folder",
}
_NEIGHBOUR = "known by the repository on this machine that its remote leads to"

_SERVICES = frozenset({"openai", "ollama", "cohere"})
_ANOTHER_IN_USE = "memory-mesh reembed rollback"  # in what a search says that lacks the model
_UPKEEP = "memory-mesh upkeep (it makes what is missing; search finds less until then)"

LEAST_BYTES, SCARCE_BYTES = 50_000_000, 1_000_000_000
_OTHERS, _OTHERS_WRITE = 0o077, 0o022
_LOOKED_AT = 5_000  # files and folders of a store

MOST_BLOCKS = 20_000  # of a chain that is checked as a whole without being asked to
MOST_NAMESPACES = 500  # that are looked at
_SHOWN = 5  # namespaces that a line names
_OF_THE_STORE = ("store", "writing", "search")
_DAMAGED = (
    "memory-mesh verify lists all of it; somebody changed the store's files by hand, or the disk "
    "fails: restore a backup made before"
)


def store(case: Case) -> Iterator[CheckResult]:
    """Whether the store opens, takes a write and answers a search."""
    found = case.health
    broken = [found[name] for name in _OF_THE_STORE if is_broken(found.get(name))]
    if broken:
        said = dict.fromkeys(check.detail for check in broken)
        yield failed("store", "; ".join(said), _store_fix(broken[0], case))
        return
    stats = case.mesh.stats()
    count = counted(stats.memories, "memory", "memories")
    yield ok(
        "store",
        f"{case.where} opens, takes writes and answers; {count} in the namespace "
        f"{shown_namespace(stats.namespace)}",
    )
    if hidden := stats.by_status.get("erasing"):
        yield warning(
            "erasures",
            f"{counted(hidden, 'erasure')} hidden and not done: bytes of it are still there",
            "memory-mesh upkeep goes on with it; memory-mesh erase says what it waits for",
        )


def chain(case: Case) -> Iterator[CheckResult]:
    """Whether the audit chain is whole: all of it, or of a long one its last block."""
    blocks = case.mesh.stats().blocks
    if blocks > MOST_BLOCKS and not case.whole_chain:
        last = case.health["chain"]
        said = f"only the last of {blocks:,} blocks was checked: {last.detail}"
        if last.health is Health.UNHEALTHY:
            yield failed("chain", said, _DAMAGED)
        else:
            yield ok("chain", said, "to check all of it: memory-mesh doctor --whole-chain")
        return
    found = case.mesh.care.verify()
    if found.ok:
        yield ok("chain", f"all {counted(blocks, 'block')} checked, nothing wrong")
        return
    first = found.findings[0]
    count = counted(len(found.findings), "finding")
    yield failed("chain", f"{count}, first: {first.check}: {first.detail}", _DAMAGED)


def namespaces(case: Case) -> Iterator[CheckResult]:
    """Whether the other namespaces of the store open, and have what was acknowledged."""
    found = look(case.store, besides=case.mesh.config.namespace, most=MOST_NAMESPACES)
    others = counted(found.namespaces, "other namespace")
    some = f"the first {found.seen:,} of {others}" if found.seen < found.namespaces else others
    if found.wrong:
        bad = [shown_namespace(name) for name in found.wrong]
        named = ", ".join(bad[:_SHOWN]) + (", …" if len(bad) > _SHOWN else "")
        verb = "does" if len(bad) == 1 else "do"
        said = (
            f"{len(bad):,} of {some} {verb} not open: {named}. {next(iter(found.wrong.values()))}"
        )
        yield failed(
            "namespaces", said, "do what it says; all that is wrong: memory-mesh verify --all"
        )
    elif found.seen < found.namespaces:
        fix = "to look at all of them: memory-mesh verify --all"
        yield ok("namespaces", f"{some} open and have what was acknowledged", fix)
    else:
        verbs = "opens and has" if found.seen == 1 else "open and have"
        said = f"{others} {verbs} what was acknowledged" if found.seen else "there is no other"
        yield ok("namespaces", said)


def is_broken(check: Check | None) -> bool:
    """Old terms only slow a search down; `index` tells of them."""
    return check is not None and (
        check.health is Health.UNHEALTHY
        or (check.name == "writing" and check.health is not Health.HEALTHY)
    )


def _store_fix(check: Check, case: Case) -> str:
    if case.is_server:
        return "do what it says; check the server, the address and the key of the database"
    if "memory-mesh " in check.detail:  # it names the commands that help
        return "do what it says; see: memory-mesh verify --all"
    if check.name == "writing":
        return "end the process that holds it, or run this again later; see: memory-mesh stats"
    return "memory-mesh stats says more; restore the folder from a backup, or set MEMORY_MESH_DIR"


# The store's files: room on the disk, rights, and the key.


def disk(case: Case) -> Iterator[CheckResult]:
    """Whether there is room for more memories."""
    there = next(each for each in (case.store, *case.store.parents) if each.exists())
    yield room(shutil.disk_usage(there).free, there)


def room(free: int, folder: Path) -> CheckResult:
    """Judges the free bytes of the disk that a folder is on."""
    said = f"{free / 1e9:.1f} GB free at {folder}" if free > LEAST_BYTES else (
        f"only {free / 1e6:.0f} MB free at {folder}: the next write may fail"
    )  # fmt: skip
    fix = f"free some space, or set MEMORY_MESH_DIR to a folder of another disk; see: df -h {quote(str(folder))}"  # noqa: E501
    if free <= LEAST_BYTES:
        return failed("disk", said, fix)
    return warning("disk", said, fix) if free < SCARCE_BYTES else ok("disk", said)


def encryption(case: Case) -> Iterator[CheckResult]:
    """Whether the file system of the store is encrypted; memory-mesh encrypts no file itself."""
    there = next(each for each in (case.store, *case.store.parents) if each.exists())
    by = encrypted_by(there)
    if by is not None:
        yield ok("encryption", f"the file system of {there} is encrypted by {by}")
        return
    said = f"not known for the file system of {there}: no encryption by this system is seen"
    yield ok("encryption", said, "to have it: docs/how-to/privacy.md, At rest")


def permissions(case: Case) -> Iterator[CheckResult]:
    """Whether the store belongs to this user and to nobody else."""
    if not system.MODES or not case.store.exists():
        yield ok("permissions", "there is no store yet; it will be for its owner only")
        return
    paths = _paths(case.store)
    foreign = [path for path in paths if path.lstat().st_uid != system.user_id()]
    if foreign and system.user_id() != 0:
        yield failed(
            "permissions",
            f"{foreign[0]} belongs to another user",
            f"sudo chown -R {system.user_id()} {quote(str(case.store))}",
        )
    opened = [path for path in paths if _mode(path) & _OTHERS]
    if opened:
        yield warning(
            "permissions",
            f"{counted(len(opened), 'file or folder', 'files and folders')} can be used by others, "
            f"{opened[0]} first (mode {_mode(opened[0]):04o})",
            f"chmod -R go= {quote(str(case.store))}",
        )
    elif not foreign or system.user_id() == 0:
        files = "file or folder", "files and folders"
        yield ok("permissions", f"{counted(len(paths), *files)}, for their owner only")


def key(case: Case) -> Iterator[CheckResult]:
    """Whether the store's key is there, outside of the store, and private."""
    named = (case.store / IDENTITY).exists()  # by a backup, too, though there may be no key yet
    keys = KeyFile.of(case.store, case.environment) if named else None
    written = (case.store / RECORD_FILE).exists()
    if keys is None or not (written or keys.path.exists() or had_key(case.store)):
        yield ok("key", "none yet: the first memory that needs it makes it")
        return
    if (wrong := _wrong(keys)) is not None:
        yield failed(
            "key",
            wrong,
            f"copy it back from a backup to {quote(str(keys.path))}, or set "
            "MEMORY_MESH_KEY_DIR; if it is lost: memory-mesh keys replace",
        )
    elif not keys.path.exists():
        yield warning(
            "key",
            f"{keys.path} is not there: what was sealed with it cannot be recognised again",
            f"copy it back from a backup to {quote(str(keys.path))}; if there was none, store a "
            "memory, and a new one is made",
        )
    elif system.MODES and _mode(keys.path) & _OTHERS:
        yield failed(
            "key", f"{keys.path} can be read by others", f"chmod 600 {quote(str(keys.path))}"
        )
    elif system.MODES and _mode(keys.path.parent) & _OTHERS_WRITE:
        folder = keys.path.parent
        yield failed("key", f"{folder} can be written by others", f"chmod 700 {quote(str(folder))}")
    else:
        found = counted(len(keys.keys()), "key")
        yield ok(
            "key", f"{found} in {keys.path}, for its owner only; back it up apart from the store"
        )


def _wrong(keys: KeyFile) -> str | None:
    """Why the store's key is not the one that it was written with."""
    try:
        if keys.recorded():
            keys.keys()
    except WrongKey as error:
        if not keys.path.exists():
            return f"{error.path} is not there, and the store was written with its key"
        return f"the store was written with another key than those in {error.path}"
    except StoreError:  # told below, with its own fix
        return None
    return None


def _paths(store: Path) -> list[Path]:
    """The store's folder and what lies in it, as far as it is looked at; links are not followed."""
    found = [store]
    for folder, folders, files in os.walk(store):
        found += [Path(folder, name) for name in (*folders, *files)]
        if len(found) > _LOOKED_AT:
            break
    return [path for path in found[:_LOOKED_AT] if os.path.lexists(path) and not path.is_symlink()]


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# Search by meaning: a real embedder, and an index that holds every text.


def embedder(case: Case) -> Iterator[CheckResult]:
    """Whether texts become vectors, and by which model."""
    if case.config.embedder == "none":
        said = "switched off by the setting embedder: search goes by words only"
        yield ok(
            "embedder", said, "to search by meaning, take the setting out (MEMORY_MESH_EMBEDDER)"
        )
        return
    if is_broken(case.health["store"]):
        yield unseen("embedder", "store")
        return
    found = case.meaning
    seen = found.get("embedder") or found["store"]
    if seen.health is not Health.HEALTHY:
        yield warning(
            "embedder", f"{seen.detail}{_meanwhile(seen.detail)}", _fix(case, seen.detail)
        )
    elif "vectors" not in found:
        yield warning("embedder", "no model is installed: search goes by words only", _get())
    else:
        yield ok("embedder", f"loads, gives vectors and {seen.detail}")


def index(case: Case) -> Iterator[CheckResult]:
    """Whether every text has its keyword terms and, with an embedder, its vector."""
    old = case.mesh.stats().to_reindex
    vectors = case.meaning.get("vectors")
    said = [f"{counted(old, 'text')} with keyword terms of an earlier version"] if old else []
    if vectors is not None and vectors.health is not Health.HEALTHY:
        said.append(vectors.detail.partition(";")[0])
    if said:
        yield warning("index", "; ".join(said), _UPKEEP)
    elif vectors is None:
        yield ok("index", "every text has its keyword terms; there are no vectors to wait for")
    else:
        yield ok("index", "every text has its keyword terms and its vector")


def _fix(case: Case, detail: str) -> str:
    """What to do about a model that does not answer, by the setting that names it."""
    if _ANOTHER_IN_USE in detail:
        return (
            "install the model in use here: memory-mesh models install FOLDER --name NAME; which "
            "one it is, and how to go back to the former: memory-mesh reembed"
        )
    if "needs onnxruntime" in detail:
        return install_command("onnx")
    if case.config.embedder in _SERVICES:
        return "mend what it says; or use a model of this machine: MEMORY_MESH_EMBEDDER=local"
    if case.config.model_dir is not None:
        return (
            "set MEMORY_MESH_MODEL_DIR to a folder with a model, or take it out and run: "
            "memory-mesh models pull (offline: memory-mesh models install FOLDER)"
        )
    return _get()


def _get() -> str:
    return (
        f"{install_command('local')} (works at once), or {install_command('onnx')} and "
        "memory-mesh models pull; offline: memory-mesh models install FOLDER"
    )


def _meanwhile(detail: str) -> str:
    """How a search goes on, where what was seen does not say it."""
    said = any(words in detail for words in ("by keyword", "answered by", _ANOTHER_IN_USE))
    return "" if said else "; search goes by words meanwhile"


# What the folder's project is called: memories of another one do not appear here.


def project(case: Case) -> Iterator[CheckResult]:
    """The project that hooks in this folder store for and read."""
    config = case.config
    if "project" in config.origins:
        yield ok("project", f"{config.project or 'none'}, by an option or a setting")
        return
    found = case.mesh.care.projects.at(str(case.here))
    if found is None:
        said = f"{case.here} belongs to no project: what is stored here is for every project"
        yield ok("project", said, "to give it a name: memory-mesh project set NAME")
    else:
        fix = "to keep its name: memory-mesh project set NAME" if found.how == "path" else ""
        how = _NEIGHBOUR if found.is_named_by_a_neighbour else _HOW.get(found.how, found.how)
        yield ok("project", f"{found.name}, {how}", fix)
