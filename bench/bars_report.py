"""Bars to files: `bars.json`, a record for each with commit and paths, and the table `bars.md`."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from bench import report
from bench.bars import BARS, BY_NAME, FULL_SIZE, Bar, Bench
from bench.measure import Sides, Skipped, say

Record: TypeAlias = dict[str, Any]
Records: TypeAlias = dict[str, Record]
COMMAND = "python -m bench.run --bars {} --work-dir DIR"


def run(names: list[str], bench: Bench, out: Path, *, resume: bool = False) -> bool:
    """Measure these bars, each written as soon as it is known; True if none is missed."""
    code, held = report.code(), True
    for place, bar in enumerate(BY_NAME[name] for name in names):
        known = read(out).get(bar.name)
        if resume and known is not None and _is_current(known, code, bench):
            say(f"{bar.name}: measured on this commit already")
        else:
            say(f"[{place + 1} of {len(names)}] {COMMAND.format(bar.name)}")
            known = _measured(bar, bench, code)
            write(out, read(out) | {bar.name: known})
            say(f"  {_verdict(known)}")
        held = held and known.get("met") is not False
    return held


def read(out: Path) -> Records:
    """What earlier runs measured."""
    path = out / "bars.json"
    found: Records = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def write(out: Path, records: Records) -> None:
    """Both files, the bars in their order."""
    out.mkdir(parents=True, exist_ok=True)
    ordered = {bar.name: records[bar.name] for bar in BARS if bar.name in records}
    (out / "bars.json").write_text(json.dumps(ordered, indent=2) + "\n", encoding="utf-8")
    (out / "bars.md").write_text(table(ordered), encoding="utf-8")


def table(records: Records) -> str:
    """Every bar with both ratios, what it must be and where it stands."""
    lines = [
        "# Bars: speed as ratios",
        "",
        "Written by `just bench --bars --work-dir DIR`. Both sides of a ratio are measured in",
        "turns in one run and compared by their medians: processor time of all threads, and the",
        "clock. A bar is met when both are. What is measured how stands in `bench/bars.py`; raw",
        "figures and the paths that each bar depends on are in [bars.json](bars.json).",
        "",
        "| bar | memories | CPU | clock | must | aim | |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [_row(bar, records.get(bar.name)) for bar in BARS]
    lines += ["", "## Each bar", ""]
    for name, record in records.items():
        lines += [f"- **{name}**: {_details(record)}", f"  `{COMMAND.format(name)}`"]
    return "\n".join(lines) + "\n"


def _measured(bar: Bar, bench: Bench, code: dict[str, object]) -> Record:
    sizes = [bench.sized(size) for size in bar.sizes]
    stamp = report.stamped({}, {}, code, bar.paths)
    record: Record = {
        "name": bar.name,
        "text": bar.text,
        **stamp,
        "must": bar.must,
        "aim": bar.aim,
        "sizes": sizes,
        "rehearsal": bool(bar.sizes) and bench.size != FULL_SIZE,
    }
    try:
        sides = bar.run(bench)
    except Skipped as reason:
        return record | {"skipped": str(reason), "met": None}
    return record | _judged(bar, sides) | {"date": _now()}


def _judged(bar: Bar, sides: Sides) -> Record:
    summary = sides.summary()
    worst = max(summary["cpu_ratio"], summary["wall_ratio"])
    return {
        "figures": {**summary, **sides.figures},
        "rounds": len(sides.over.cpu),
        "met": worst <= bar.must,
        "aim_reached": worst <= bar.aim,
    }


def _is_current(record: Record, code: dict[str, object], bench: Bench) -> bool:
    sizes = [bench.sized(size) for size in BY_NAME[record["name"]].sizes]
    return (
        record["commit"] == code["commit"]
        and not record["dirty"]
        and not code["dirty"]
        and record["sizes"] == sizes
        and "skipped" not in record
    )


def _row(bar: Bar, record: Record | None) -> str:
    if record is None:
        sizes, cpu, wall, state = bar.sizes, "-", "-", "not measured"
    elif "skipped" in record:
        sizes, cpu, wall, state = record["sizes"], "-", "-", f"skipped: {record['skipped']}"
    else:
        figures = record["figures"]
        sizes, cpu, wall = record["sizes"], figures["cpu_ratio"], figures["wall_ratio"]
        state = "aim reached" if record["aim_reached"] else "met" if record["met"] else "missed"
        state += ", rehearsal" if record["rehearsal"] else ""
    shown = " / ".join(f"{size:,}" for size in sizes) or "few"
    return f"| {bar.text} | {shown} | {cpu} | {wall} | ≤ {bar.must:g} | {bar.aim:g} | {state} |"


def _details(record: Record) -> str:
    at = f"{record['date']}, commit {record['commit'][:10]}"
    at += " with changes" if record["dirty"] else ""
    at += f", {record['cores']} cores, Python {record['python']}, SQLite {record['sqlite']}"
    at += f", seed {record['seed']}"
    if "skipped" in record:
        return f"skipped, {record['skipped']} ({at})."
    figures = ", ".join(f"{name} {value:g}" for name, value in record["figures"].items())
    return f"{figures}; {record['rounds']} rounds ({at})."


def _verdict(record: Record) -> str:
    if "skipped" in record:
        return f"skipped: {record['skipped']}"
    figures = record["figures"]
    state = "met" if record["met"] else "MISSED"
    return (
        f"CPU {figures['cpu_ratio']:g}, clock {figures['wall_ratio']:g}, "
        f"must {record['must']:g}, aim {record['aim']:g}: {state}"
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
