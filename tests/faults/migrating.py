"""SIGKILL at every step of a migration, a rollback and a purge: the next run ends the same.

The steps are enumerated from outside: an audit hook hears of every file that the process opens,
renames or removes in the LanceDB directory, and strace of what Lance does in its own threads. Case
n is a process of its own, started anew (Lance does not live through a fork), that dies at its n-th
event. After each kill the same action is run once more, and a rollback on another copy.

Equal means: the same folders, rows and schemas, the backup the same file for file and byte for
byte, and data files of the same bytes. Lance gives its files random names and writes them into its
manifests with the time, so names and manifests of the new table are not compared.
"""

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.faults.report import Progress, Report, silent
from tests.faults.sample import covering, points

ROOT = Path(__file__).resolve().parents[2]
NOW = datetime(2026, 4, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(days=30)
ROWS = 700  # three batches
_FILE_EVENTS = ("open", "os.rename", "os.mkdir")
_REMOVALS = ("os.remove", "os.rmdir")  # a whole folder is removed by names without their path
EVENTS = ("event",)
_CALLS = ("write", "pwrite64", "rename", "linkat", "link", "mkdir", "fsync", "unlink", "unlinkat")
_LIMIT_SECONDS = 120
State = dict[str, object]
Pair = tuple[str, str]


def main(action: str, folder: str, point: str) -> None:
    """The child: do it, and die at the given event; 0 counts the events and prints their number."""
    from memory_mesh.compat.rfc11 import migrate

    events = 0

    def heard(event: str, args: tuple[object, ...]) -> None:
        nonlocal events
        inside = str(args[0]).startswith(folder) if args else False
        if event in _REMOVALS or (event in _FILE_EVENTS and inside):
            events += 1
            if events == int(point):
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(heard)
    act(migrate, action, Path(folder))
    print(events)


def act(module: object, action: str, folder: Path) -> None:
    """One of the three verbs, at its time."""
    verb: Callable[..., object] = getattr(module, action)
    verb(folder, now=LATER if action == "purge" else NOW)


def killed_at_every_step(
    folder: Path, *, seed: int, share: float = 1.0, progress: Progress = silent
) -> Report:
    """Every event of every action, or a share of them; each kill followed by both ways on."""
    return _every(folder, random.Random(seed), share, progress, kinds=EVENTS)


def killed_in_system_calls(
    folder: Path, *, seed: int, share: float = 1.0, progress: Progress = silent
) -> Report:
    """A kill at every write, rename, link, sync and removal, those of Lance's threads included."""
    return _every(folder, random.Random(seed), share, progress, kinds=_CALLS)


def at_once(folder: Path, *, processes: int) -> Report:
    """Several processes migrate one table; one of them does it, and all see it done."""
    table = folder / "v1"
    write_v1(table)
    shutil.copytree(table, folder / "alone")
    _acted("migrate", folder / "alone")
    code = (
        "import sys; from pathlib import Path; from tests.faults.migrating import NOW; "
        "from memory_mesh.compat.rfc11.migrate import migrate; "
        "print(int(migrate(Path(sys.argv[1]), now=NOW).changed))"
    )
    command = [sys.executable, "-W", "ignore", "-c", code, str(table)]
    children = [
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    said = [child.communicate(timeout=_LIMIT_SECONDS)[0].strip() for child in children]
    report = Report({"processes": processes, "changed": said.count("1")})
    if sorted(said) != ["0"] * (processes - 1) + ["1"]:
        report.broken("not once", str(said))
    if state(table) != state(folder / "alone"):
        report.broken("torn", str(_names(table)))
    return report


def write_v1(folder: Path, rows: int = ROWS) -> None:
    """A V1 table as the original writes it: in several appends, with a deletion."""
    import lancedb
    import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

    schema = pa.schema([
        pa.field("id", pa.utf8(), nullable=False),
        pa.field("vector", pa.list_(pa.field("item", pa.float32()), 8), nullable=False),
        pa.field("content", pa.utf8(), nullable=False),
        pa.field("metadata", pa.utf8()),
        pa.field("created_at", pa.timestamp("ms"), nullable=False),
        pa.field("updated_at", pa.timestamp("ms")),
    ])  # fmt: skip
    table = lancedb.connect(str(folder)).create_table("memory_entries", schema=schema)
    made = [
        {
            "id": f"mem_{1_700_000_000_000 + number}_{number:06x}",
            "vector": [float(number % 7)] * 8,
            "content": f"fact {number} ✓",
            "metadata": json.dumps({"type": "session", "session_id": "s", "n": number}),
            "created_at": datetime(2025, 1, 1) + timedelta(milliseconds=number),  # noqa: DTZ001
            "updated_at": None if number % 2 else datetime(2025, 2, 1),  # noqa: DTZ001
        }
        for number in range(rows)
    ]
    for part in (made[: rows // 2], made[rows // 2 :]):
        table.add(part)
    table.delete(f"id = '{made[3]['id']}'")


def state(folder: Path) -> State:
    """All of a LanceDB directory that must be equal."""
    found: State = {}
    for path in sorted(folder.iterdir()):
        if path.suffix == ".lance":
            found[path.name] = _table(path)
        elif path.is_dir():
            found[path.name] = {
                str(file.relative_to(path)): file.read_text() for file in sorted(path.iterdir())
            }
    return found


def _table(path: Path) -> State:
    import lance

    dataset = lance.dataset(str(path))
    rows = [json.dumps(row, default=str, sort_keys=True) for row in dataset.to_table().to_pylist()]
    data = sorted(_digest(file) for file in (path / "data").iterdir())
    files = {str(file.relative_to(path)): _digest(file)
             for file in sorted(path.rglob("*")) if file.is_file()}  # fmt: skip
    renamed_only = "session_id" not in dataset.schema.names
    return {
        "schema": str(dataset.schema),
        "rows": rows,
        "data": data,
        "files": files if renamed_only else None,
    }


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _every(
    folder: Path, dice: random.Random, share: float, progress: Progress, kinds: tuple[str, ...]
) -> Report:
    report = Report({"points": 0, "killed": 0, "torn": 0, "not undone": 0})
    events: dict[Pair, int] = {}
    starts = _starts(folder)
    begin, ends = state(starts["migrate"]), dict[str, State]()
    for action, start in starts.items():
        done = folder / f"{action}-done"
        shutil.copytree(start, done)
        _acted(action, done)
        ends[action] = state(done)
        for kind, total in _counts(folder, action, start, kinds).items():
            events[action, kind] = total
    for action, kind in events if share == 1 else covering(list(events), dice):
        for point in points(events[action, kind], share, dice):
            case = folder / "case"
            shutil.copytree(starts[action], case)
            report.count("killed", _killed(action, case, kind, point))
            report.count("points")
            for promise, detail in _broken(case, action, ends[action], begin):
                report.broken(promise, f"{action}, {kind} {point}: {detail}")
        progress(f"{action}: {kind}, {report.figures['points']} points so far")
    report.figures["events"] = {f"{action}: {kind}": n for (action, kind), n in events.items()}
    return report


def _starts(folder: Path) -> dict[str, Path]:
    """What each action finds: a V1 table, and twice one that was migrated."""
    v1 = folder / "v1"
    write_v1(v1)
    migrated = folder / "migrated"
    shutil.copytree(v1, migrated)
    _acted("migrate", migrated)
    return {"migrate": v1, "rollback": migrated, "purge": migrated}


def _broken(case: Path, action: str, ends: State, begin: State) -> list[tuple[str, str]]:
    """Once more ends as if undisturbed; and going back ends where it began, if there is a way."""
    from memory_mesh.model.errors import NotFound

    found = []
    again, back = case.with_name("again"), case.with_name("back")
    shutil.copytree(case, again)
    shutil.move(case, back)
    try:
        with suppress(NotFound) if action == "purge" else nullcontext():  # it may have been done
            _acted(action, again)
        if state(again) != ends:
            found.append(("torn", f"{_names(again)} is not {list(ends)}"))
        if action != "purge":
            _acted("rollback", back)
            if state(back) != begin:
                found.append(("not undone", str(_names(back))))
    finally:
        shutil.rmtree(again)
        shutil.rmtree(back)
    return found


def _names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.glob("*/*"))


def _acted(action: str, folder: Path) -> None:
    from memory_mesh.compat.rfc11 import migrate

    act(migrate, action, folder)


def _counts(folder: Path, action: str, start: Path, kinds: tuple[str, ...]) -> dict[str, int]:
    """How many events of each kind an action has; of system calls those that it makes at all."""
    counted, trace = folder / "counted", folder / "trace"
    shutil.copytree(start, counted)
    try:
        if kinds == EVENTS:
            return {EVENTS[0]: int(_run([], action, counted, 0).stdout)}
        _run(_tracer(trace, kinds), action, counted, 0)
    finally:
        shutil.rmtree(counted)
    lines = trace.read_text(errors="replace").splitlines()
    found = {kind: sum(f" {kind}(" in line for line in lines) for kind in kinds}
    return {kind: count for kind, count in found.items() if count}


def _killed(action: str, folder: Path, kind: str, point: int) -> bool:
    """Whether a process died at its n-th event of a kind."""
    if kind == EVENTS[0]:
        done = _run([], action, folder, point)
    else:
        inject = ("-e", f"inject={kind}:signal=KILL:when={point}")
        done = _run([*_tracer(folder.with_name("trace"), (kind,)), *inject], action, folder, 0)
    return done.returncode != 0


def _tracer(trace: Path, kinds: tuple[str, ...]) -> list[str]:
    return [
        "strace",
        "-f",
        "--seccomp-bpf",
        "-qq",
        "-o",
        str(trace),
        "-e",
        f"trace={','.join(kinds)}",
    ]


def _run(
    tracer: list[str], action: str, folder: Path, event: int
) -> "subprocess.CompletedProcess[str]":
    """A process that does it, and may have died of a SIGKILL."""
    command = [*tracer, sys.executable, "-W", "ignore", "-m", "tests.faults.migrating"]
    done = subprocess.run(
        [*command, action, str(folder), str(event)],
        cwd=ROOT, capture_output=True, text=True, timeout=_LIMIT_SECONDS, check=False,
    )  # fmt: skip
    if done.returncode not in {0, -signal.SIGKILL, 128 + signal.SIGKILL}:
        raise AssertionError(done.stderr)
    return done


if __name__ == "__main__":
    main(*sys.argv[1:])
