"""A disk that is full and a disk that fails: errors come in our words, and nothing is half.

Full: a tmpfs of 8 MB in a private mount namespace, which grows when room is made and vanishes with
its process; where mounting is refused, a limit on the size of files. Failing: libfiu makes 2 % of
the calls to read, write and sync fail with EIO, after start-up, in a process of its own.
"""

import ast
import codecs
import contextlib
import ctypes
import errno
import importlib
import inspect
import json
import os
import pkgutil
import random
import resource
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType

from phonenumbers import PhoneMetadata

from memory_mesh import (
    care,
    context,
    formats,
    learn,
    ledgers,
    mesh as operations,
    platform,
    rules,
    search,
    write,
)
from memory_mesh.compat.rfc11.reader import MeshHoldings
from memory_mesh.model.errors import StoreError, StoreIsFull, shown
from memory_mesh.models.sinks.jsonl import JsonLinesSink
from memory_mesh.privacy import masked
from memory_mesh.privacy.table import RULES
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing.doubles import FrozenClock
from tests.faults.crash import (
    VERBS,
    Intent,
    Journal,
    Kept,
    Model,
    applied,
    compare,
    contents,
    fold,
    intents,
    own_word,
    perform,
    word,
)
from tests.faults.processes import Child, call
from tests.faults.report import Progress, Report, Ticker, silent

ROOT = Path(__file__).resolve().parents[2]
DISK_BYTES = 8 << 20
TMPFS = "tmpfs of 8 MB"
EIO_POINTS = (
    "posix/io/rw/read",
    "posix/io/rw/pread",
    "posix/io/rw/write",
    "posix/io/rw/pwrite",
    "posix/io/rw/ftruncate",
    "posix/io/rw/truncate",
    "posix/io/sync/fsync",
    "posix/io/sync/fdatasync",
)
_CLONE_NEWNS, _MS_REC_PRIVATE, _MS_REMOUNT = 0x20000, 0x4000 | 0x40000, 0x20
_SEARCHES = 130  # twice over the mark at which recall blocks are written
_REFUSALS = 12  # a small write may still fit where a large one did not


def disk_full(
    folder: Path, *, rounds: int, seed: int, room: int = 3 << 20, progress: Progress = silent
) -> Report:
    """Write until the disk is full, read, make room, write on; each round on a new small disk."""
    report = Report({"rounds": 0, "acknowledged": 0, "refused": 0, "lost": 0, "findings": 0})
    dice = random.Random(seed)
    ticker = Ticker(progress, rounds)
    for round_ in range(rounds):
        here = folder / f"disk-{round_}"
        here.mkdir()
        part = Child(_full_round, here, dice.random(), room).result()
        for name, amount in part.figures.items():
            if isinstance(amount, int):
                report.count(name, amount)
        report.figures["disk"] = part.figures["disk"]
        report.failures += [f"round {round_}: {failure}" for failure in part.failures]
        report.count("rounds")
        ticker.tick(round_ + 1, f"disks filled, {report.figures['acknowledged']} acknowledged")
        shutil.rmtree(here, ignore_errors=True)
    return report


def sink_on_a_full_disk(folder: Path) -> Report:
    """A line that was cut off by the full disk is told again, whole and on a line of its own."""
    failures = Child(_cut_off, folder).result()
    return Report({"cut off": 1}, failures)


def no_free_block(folder: Path) -> str:
    """What a write says on a disk without a free block; empty where nothing can be mounted."""
    return str(Child(_without_a_block, folder).result())


def can_inject_errors() -> bool:
    """True where libfiu and its preload wrapper are installed."""
    return shutil.which("fiu-run") is not None


def disk_errors(
    folder: Path, *, rounds: int, operations: int, seed: int, progress: Progress = silent
) -> Report:
    """Five calls of a thousand fail; every operation answers or raises a MeshError."""
    report = Report({"rounds": 0, "acknowledged": 0, "errors": 0, "lost": 0, "findings": 0})
    dice = random.Random(seed)
    ticker = Ticker(progress, rounds)
    model: Model = {}
    call(_stored, folder / "store")  # else a disk that fails may never let the schema be made
    for round_ in range(rounds):
        journal, errors = folder / f"journal-{round_}", folder / f"errors-{round_}"
        order = {
            "folder": str(folder / "store"),
            "journal": str(journal),
            "errors": str(errors),
            "operations": operations,
            "seed": dice.random(),
            "model": {id_: _plain(kept) for id_, kept in model.items()},
        }
        done = subprocess.run(
            ["fiu-run", "-x", sys.executable, "-m", "tests.faults.disk"],
            input=json.dumps(order), text=True, capture_output=True, cwd=ROOT, timeout=120,
            check=False,
        )  # fmt: skip
        if done.returncode:
            report.broken("foreign errors", f"round {round_}: {done.stderr[-2000:]}")
        heard = errors.read_text().splitlines() if errors.exists() else []
        report.count("errors", len(heard))
        _look_at(folder / "store", journal, model, report, f"round {round_}")
        report.count("rounds")
        ticker.tick(round_ + 1, f"rounds, {report.figures['errors']} errors")
    return report


def _plain(kept: object) -> list[object]:
    return [
        getattr(kept, name) for name in ("text", "status", "pinned", "uses", "helpful", "harmful")
    ]


def _contents_and_findings(store: Path) -> tuple[Model, list[str]]:
    with MemoryMesh(db_dir=store) as mesh:
        mesh._opened().ledger.flush("default")
        return contents(mesh), [str(finding) for finding in mesh.care.verify().findings]


def _full_round(here: Path, seed: float, room: int) -> Report:
    """In a process of its own: fill, look, make room, go on."""
    dice = random.Random(seed)
    report = Report({"disk": small_disk(here)})
    filler = here / "filler"
    filler.write_bytes(b"x" * (DISK_BYTES - room - dice.randrange(1 << 20)))
    model: Model = {}
    journal = here.parent / f"{here.name}-journal"
    report.count("refused", call(_write_until_full, here, journal, dice.random()))
    _look_at(here / "store", journal, model, report, "full")
    for failure in call(_read_while_full, here, model):
        report.broken("unreadable", failure)
    journal.unlink()
    filler.unlink()
    if report.figures["disk"] == TMPFS:  # room for the log of all that waits for the sink
        _mount(here, 2 * DISK_BYTES, _MS_REMOUNT)
    else:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    model, _ = call(_contents_and_findings, here / "store")  # reading counted uses
    call(_write_on, here, journal, dice.random())
    _look_at(here / "store", journal, model, report, "with room again")
    if missing := call(_unheard, here):
        report.broken("undelivered", f"blocks {missing[:5]} never reached the sink")
    journal.unlink()
    return report


def _cut_off(folder: Path) -> list[str]:
    """In a process of its own: one block that fits in part, then with room again."""
    here = folder / "disk"
    here.mkdir()
    kind = small_disk(here)
    path = here / "sink.jsonl"
    with MemoryMesh(db_dir=folder / "store") as mesh:
        mesh.add("a block for the sink", {"note": "x" * 3000})
        blocks = mesh.care.blocks()
    sink = JsonLinesSink(path)
    sink.deliver("default", blocks)
    line = path.stat().st_size
    if kind == TMPFS:
        (here / "filler").write_bytes(b"x" * (DISK_BYTES - (4 << 12)))
    else:
        _limit(line * 9 + line // 2)
    for _ in range(100):
        try:
            sink.deliver("default", blocks)
        except OSError:
            break
    else:
        return ["a sink on a full disk says that all is told"]
    cut = path.stat().st_size % line
    (here / "filler").unlink(missing_ok=True)
    _limit(resource.RLIM_INFINITY)
    sink.deliver("default", blocks)
    lines = path.read_text().splitlines()
    wrong = [f"the disk cut at {cut}, the last line is {lines[-1][:80]}"]
    return [] if json.loads(lines[-1])["position"] == blocks[-1].position and cut else wrong


def _without_a_block(folder: Path) -> str:
    """In a process of its own: SQLite cannot even make the shared memory of its log."""
    here = folder / "disk"
    here.mkdir()
    if small_disk(here) != TMPFS:
        return ""
    call(_stored, here / "store")
    with suppress(OSError), (here / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(b"x" * 4096)
    with MemoryMesh(db_dir=here / "store") as mesh:
        try:
            mesh.add("nothing fits")
        except StoreError as error:
            return f"{type(error).__name__}: {error}"
    return "stored"


def _stored(store: Path) -> None:
    with MemoryMesh(db_dir=store) as mesh:
        mesh.add("tea is hot")


def small_disk(here: Path) -> str:
    """Eight megabytes: a tmpfs of this process alone, else a limit on every file."""
    libc = ctypes.CDLL(None, use_errno=True)
    private = libc.unshare(_CLONE_NEWNS) == 0 and not libc.mount(
        b"none", b"/", None, _MS_REC_PRIVATE, None
    )
    if private and _mount(here, DISK_BYTES):
        return TMPFS
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _limit(DISK_BYTES)
    return "RLIMIT_FSIZE of 8 MB"


def _mount(here: Path, size: int, flags: int = 0) -> bool:
    """Whether a tmpfs of so many bytes could be mounted, or mounted again with another size."""
    libc = ctypes.CDLL(None, use_errno=True)
    return not libc.mount(b"none", bytes(here), b"tmpfs", flags, b"size=%d" % size)


def _limit(soft: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, resource.RLIM_INFINITY))


class _FreeJournal(Journal):
    """A journal that no limit on file sizes reaches."""

    def note(self, line: Intent) -> None:
        """One line, whole."""
        soft, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
        _limit(resource.RLIM_INFINITY)
        super().note(line)
        _limit(soft)


def _write_until_full(here: Path, journal: Path, seed: float) -> int:
    """Mixed writes of all sizes until nothing fits any more; how often the disk refused."""
    dice, notes, refused = random.Random(seed), _FreeJournal(journal), 0
    model: Model = {}
    limited = resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY
    mesh = MemoryMesh(db_dir=here / "store", sinks=[JsonLinesSink(here / "sink.jsonl")])
    for intent in intents(model, dice, 0):
        if intent["verb"] == "get":  # answers on a full disk too, and then counts no use
            continue
        if intent["verb"] == "add":
            intent["texts"][0] += " long" * dice.randrange(2000)
        notes.note(intent)
        try:
            ids = perform(mesh, intent, model)
        except StoreError as error:
            if not limited and not isinstance(error, StoreIsFull):
                raise
            refused += 1
            notes.note({"failed": True})
            model.pop(intent.get("id", ""), None)
            if refused == _REFUSALS:
                break
        else:
            notes.note({"done": ids})
            applied(model, intent, ids)
    mesh.close()
    return refused


def _read_while_full(here: Path, model: Model) -> list[str]:
    """Every way to read, on the full disk; what does not work."""
    failures = []
    alive = {id_: kept for id_, kept in model.items() if kept.status == "active"}
    limited = resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY
    with MemoryMesh(db_dir=here / "store") as mesh:
        for number in range(_SEARCHES):
            id_ = list(alive)[number * len(alive) // _SEARCHES]
            if id_ not in [hit.id for hit in mesh.search(own_word(alive[id_].text))]:
                failures.append(f"search does not find {id_}")
            if limited:  # not ENOSPC but EFBIG: then counting a use is refused aloud
                continue
            memory = mesh.get(id_)
            if memory is None or memory.text != alive[id_].text:
                failures.append(f"get does not give {id_}")
        if mesh.stats().memories != len(alive):
            failures.append("stats counts wrongly")
    return failures


def _write_on(here: Path, journal: Path, seed: float) -> None:
    """Twenty more calls, and every one succeeds."""
    dice, notes = random.Random(seed), Journal(journal)
    with MemoryMesh(db_dir=here / "store", sinks=[JsonLinesSink(here / "sink.jsonl")]) as mesh:
        model = contents(mesh)
        for _, intent in zip(range(20), intents(model, dice, 0), strict=False):
            if len(intent.get("texts", [])) > 20:
                continue
            notes.note(intent)
            ids = perform(mesh, intent, model)
            notes.note({"done": ids})
            applied(model, intent, ids)
    clock = FrozenClock(datetime.now(UTC))
    for _ in range(60):  # every close feeds the sinks for a moment, an hour after it failed
        clock.advance(timedelta(hours=1))
        sink = JsonLinesSink(here / "sink.jsonl")
        with MemoryMesh(db_dir=here / "store", sinks=[sink], clock=clock):
            pass


def _look_at(store: Path, journal: Path, model: Model, report: Report, where: str) -> None:
    """Acknowledged against stored, and every invariant; go on from what is there."""
    pending = fold(model, journal, report)
    actual, findings = call(_contents_and_findings, store)
    for finding in findings:
        report.broken("findings", f"{where}: {finding}")
    mine = {id_: kept for id_, kept in actual.items() if kept.text.startswith("writer ")}
    compare(model, pending, mine, report, where)
    model.clear()
    model.update(mine)


def _unheard(here: Path) -> list[int]:
    """Positions of blocks that no whole line of the sink's file holds."""
    heard = set()
    for line in (here / "sink.jsonl").read_text().splitlines():
        try:
            heard.add(json.loads(line)["position"])
        except ValueError:
            continue  # a line cut off by the full disk; the block must be in a later one
    with MemoryMesh(db_dir=here / "store") as mesh:
        blocks = [*MeshHoldings(mesh).blocks()]
    return [block.position or 0 for block in blocks if block.position not in heard]


def _work_under_faults() -> None:
    """The worker's main: open, switch the faults on, work, switch them off."""
    order = json.load(sys.stdin)
    dice, notes = random.Random(order["seed"]), Journal(Path(order["journal"]))
    errors = Journal(Path(order["errors"]))
    model = {id_: Kept(*values) for id_, values in order["model"].items()}
    mesh = MemoryMesh(db_dir=order["folder"])
    _load_all(mesh, int(dice.random() * 1e12) * 1000)
    loaded = set(sys.modules)
    fiu = ctypes.CDLL("libfiu.so.0")
    fiu.fiu_enable_random.argtypes = [
        ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_float,
    ]  # fmt: skip
    fiu.fiu_set_prng_seed(int(order["seed"] * 2**31))
    for point in EIO_POINTS:
        fiu.fiu_enable_random(point.encode(), 1, errno.EIO, 0, 0.005)
    try:
        for _, intent in zip(range(order["operations"]), intents(model, dice, 0), strict=False):
            _try(mesh, intent, model, notes, errors)
    finally:  # a traceback can be printed only on a disk that works
        for point in EIO_POINTS:
            fiu.fiu_disable(point.encode())
    if missed := sorted(set(sys.modules) - loaded):
        raise AssertionError(f"read from a failing disk, and no part of the store: {missed}")
    os._exit(0)  # as if killed: what was acknowledged must not depend on close


def _load_all(mesh: MemoryMesh, number: int) -> None:
    """Every module, verb and privacy rule: no code is read from the disk once it fails."""
    for part in (
        care, context, formats, learn, ledgers, operations, platform, rules, search, write
    ):  # fmt: skip
        for module in pkgutil.walk_packages(part.__path__, f"{part.__name__}."):
            _load_late_imports(importlib.import_module(module.name))
    for rule in RULES:  # an id made by chance can look like a bank account, which is then checked
        masked(rule.example)
    PhoneMetadata.load_all()
    model: Model = {}
    for verb in VERBS:
        number += 1
        intent: Intent = {"verb": verb, "id": next(iter(model), ""), "flag": True}
        intent |= {"text": f"warm {word(number)}", "texts": [f"warm {word(number)}"]}
        applied(model, intent, perform(mesh, intent, model))
    shown(str(StoreError(f"mail {word(number)}@example.org")))
    codecs.lookup("ascii")  # in which Linux lists its locks


def _load_late_imports(module: ModuleType) -> None:
    """What the module's functions import when they are called."""
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        names: list[str | None] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module]
        for name in filter(None, names):
            with contextlib.suppress(ImportError):  # a package that is not installed
                importlib.import_module(name)


def _try(mesh: MemoryMesh, intent: Intent, model: Model, notes: Journal, errors: Journal) -> None:
    """One call, which is done, or refused with an error of ours."""
    notes.note(intent)
    try:
        ids = perform(mesh, intent, model)
    except StoreError as error:
        errors.note({"error": type(error).__name__})
        notes.note({"failed": True})
        model.pop(intent.get("id", ""), None)  # what became of it is not certain: leave it
    else:
        notes.note({"done": ids})
        applied(model, intent, ids)


if __name__ == "__main__":
    _work_under_faults()
