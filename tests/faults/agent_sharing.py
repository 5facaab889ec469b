"""Agents on one store through hooks and MCP, while somebody kills the daemon: nothing is lost.

::

    agent 1 ── memory-mesh-mcp ──┐                 ┌── kill -9, at random
    agent 1 ── memory-mesh-hook ─┤──▶ daemon ◀─────┘
    agent 2 ── …                 ┘      └──▶ one store
"""

import os
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

from memory_mesh.agents.daemon import place
from memory_mesh.rules.trust import AUDIENCE
from memory_mesh.sync import MemoryMesh
from tests.faults.crash import word
from tests.faults.report import Progress, Report, silent
from tests.faults.sample import dealt
from tests.surface.hooking import HOOK
from tests.surface.mcp_client import RawClient, variables_of

LIMIT_SECONDS = 120.0  # for detached captures that still work when the agents are done
VERBS = ("store", "prompt", "search", "feedback")
_VERB_WEIGHTS = (5, 2, 2, 1)
HELD = ("quarantined", "disputed", "superseded")
_PAUSE = (0.3, 1.5)  # seconds between two kills


@dataclass
class Told:
    """What one agent was told, or has said."""

    stored: dict[str, str] = field(default_factory=dict)  # the word of each memory and its id
    prompts: list[str] = field(default_factory=list)  # the word of each prompt
    votes: int = 0
    missed: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def sharing(
    folder: Path,
    *,
    agents: int,
    operations: int,
    seed: int,
    progress: Progress = silent,
) -> Report:
    """Let agents work at once, and compare the store with what each was told."""
    home = folder / "home"
    (home / "shop" / ".git").mkdir(parents=True)
    variables = variables_of(home, MEMORY_MESH_DAEMON="true")
    store = str(home / ".local/share/memory-mesh")
    report = Report({"agents": agents, "operations": agents * operations})
    done, struck = threading.Event(), threading.Event()
    killer = threading.Thread(target=_kill, args=(store, done, struck, seed, report))
    killer.start()
    try:
        with ThreadPoolExecutor(agents) as pool:
            told = list(
                pool.map(
                    lambda who: _work(home, variables, who, operations, (f"{seed} {who}", struck)),
                    range(agents),
                )
            )
    finally:
        done.set()
        killer.join()
    progress(f"{agents} agents are done")
    try:
        _compare(report, Path(store), told)
    finally:
        _end(store)
    return report


def _work(
    home: Path,
    variables: dict[str, str],
    who: int,
    operations: int,
    chance: tuple[str, threading.Event],
) -> Told:
    """One agent: its MCP server for the whole session, a hook for each prompt."""
    (seed, struck), told = chance, Told()
    dice = random.Random(seed)
    with RawClient(home / "shop", **variables) as front:
        front.greet()
        verbs = chain(("store",), dealt(VERBS, dice, _VERB_WEIGHTS))
        for number, verb in enumerate(islice(verbs, operations), start=who * operations):
            name = word(number)
            if told.stored:
                struck.wait(LIMIT_SECONDS)  # a daemon was killed: the rest meets what that leaves
            if verb == "store" or not told.stored:
                _store(front, told, name, number)
            elif verb == "prompt":
                _prompt(home, variables, told, who, number)
            elif verb == "search":
                known = dice.choice(list(told.stored))
                found = front.said("memory_search", query=known)
                ids = [each["id"] for each in found["memories"]]
                if told.stored[known] not in ids:
                    told.missed.append(known)
            else:
                front.said(
                    "memory_feedback", id=dice.choice(list(told.stored.values())), helpful=True
                )
                told.votes += 1
        front.close()
    return told


def _store(front: RawClient, told: Told, name: str, number: int) -> None:
    result = front.call("memory_store", content=f"The {name} service listens on port {number}.")
    said = result.get("structuredContent") or {}
    if result["isError"] or said.get("outcome") != "stored":
        told.refused.append(str(result["content"]))
    else:
        told.stored[name] = said["id"]


def _prompt(home: Path, variables: dict[str, str], told: Told, who: int, number: int) -> None:
    name = word(number)
    given = f"Remember that the {name} queue lives on host number {number}."
    shop = str(home / "shop")
    event = f'"hook_event_name": "UserPromptSubmit", "session_id": "agent-{who}", "cwd": "{shop}"'
    done = subprocess.run(
        HOOK,
        input=f'{{{event}, "prompt": "{given}"}}'.encode(),
        stdout=subprocess.PIPE,
        env=variables,
        cwd=shop,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    if done.returncode:
        told.refused.append(f"a hook ended with {done.returncode}")
    told.prompts.append(name)


def _kill(
    store: str, done: threading.Event, struck: threading.Event, seed: int, report: Report
) -> None:
    """Kill the daemon, over and over, until the agents are done."""
    dice = random.Random(f"{seed} kills")
    killed = set[int]()
    while not done.wait(dice.uniform(*_PAUSE)):
        known = place.recorded(store)
        if known is not None and known[0] not in killed:
            with suppress(ProcessLookupError):
                os.kill(known[0], signal.SIGKILL)
                killed.add(known[0])
                struck.set()
    report.figures["daemons killed"] = len(killed)


def _end(store: str) -> None:
    known = place.recorded(store)
    if known is not None:
        with suppress(ProcessLookupError):
            os.kill(known[0], signal.SIGKILL)


def _compare(report: Report, store: Path, told: list[Told]) -> None:
    expected = {name for one in told for name in (*one.stored, *one.prompts)}
    counts = _settled(store, expected)
    report.figures["acknowledged"] = sum(len(one.stored) for one in told)
    report.figures["prompts"] = sum(len(one.prompts) for one in told)
    report.figures["votes"] = sum(one.votes for one in told)
    for name in sorted(expected):
        if not counts[name]:
            report.broken("lost", name)
        elif counts[name] > 1:
            report.broken("duplicated", f"{name} is there {counts[name]} times")
    for one in told:
        for name in one.missed:
            report.broken("not found", name)
        for reason in one.refused:
            report.broken("refused", reason)
    with MemoryMesh(db_dir=store, embedder="none") as mesh:
        checked = mesh.care.verify()
    if not checked.ok:
        report.broken("verify", str(checked))
    for name in ("lost", "duplicated", "not found", "refused", "verify"):
        report.figures.setdefault(name, 0)


def _settled(store: Path, expected: set[str]) -> Counter[str]:
    """How often each word is there, once all are; captures are detached and come in later."""
    end = time.monotonic() + LIMIT_SECONDS
    while True:
        with MemoryMesh(db_dir=store, embedder="none") as mesh:
            counts = Counter(part for text in _texts(mesh) for part in text.split())
        counts = Counter({name: counts[name] for name in expected if counts[name]})
        if len(counts) == len(expected) or time.monotonic() > end:
            return counts
        time.sleep(0.5)


def _texts(mesh: MemoryMesh) -> Iterator[str]:
    """Every text that the store holds, whatever its status and audience."""
    cursor = None
    while True:
        page = mesh.get_all(limit=1_000, cursor=cursor, across=AUDIENCE, include=HELD)
        yield from (one.text for one in page)
        cursor = page.cursor
        if cursor is None:
            return
