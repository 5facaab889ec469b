"""Ask the peers: every question of an exchange folder, each peer with its own defaults.

Runs in the environment of the peers, from the root of the repository:

    .venv-peers/bin/python -m bench.peers.run FOLDER [--peers chroma lancedb] [--forms raw]

Beside the folder's files it writes `<peer>.<form>.jsonl`, a line a question (question, ranked,
scores, ms), and `<peer>.<form>.json`, which says what made it. Some peers order their answers
otherwise when fewer are asked for: `--k 10` asks for ten, into `<peer>.<form>.k10.jsonl`.

A tenant is written when all its questions are answered; a run that was stopped goes on with the
next one. Peers come one after another, each in a process of its own. The time is that of the
peer's search, no embedding and no storing in it.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from bench.peers import exchange
from bench.peers.exchange import FORMS, Hit, Maker, Peer, Question, Tenant

PEERS = ("chroma", "langgraph", "lancedb", "mem0", "txtai")
FIRST = 100  # answers asked for, where nothing else is said

Say = Callable[[str], None]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen peers on the chosen forms."""
    options = _options(arguments)
    if len(options.peers) > 1:
        return max(_in_own_process(options, name) for name in options.peers)
    [name] = options.peers
    try:
        adapter = import_module(f"bench.peers.{name}_peer")
        version = metadata.version(adapter.PACKAGE)
    except metadata.PackageNotFoundError as error:
        print(f"{name} is not installed here ({error}): run bench/peers/setup", file=sys.stderr)
        return 1
    for form in options.forms:
        ask(
            options.folder,
            adapter.Peer,
            made={"peer": name, "version": version, "form": form},
            k=options.k,
            fresh=options.fresh,
        )
    return 0


def ask(
    folder: Path, make: Maker, *, made: Mapping[str, str], k: int = FIRST, fresh: bool = False
) -> Path:
    """Answer what is not answered yet, and name the file; `made` says the peer and the form."""
    depth = "" if k == FIRST else f".k{k}"
    file = folder / f"{made['peer']}.{made['form']}{depth}.jsonl"
    tenants = exchange.load(folder, made["form"])
    stamp = {**made, "k": k, "data": exchange.digest(folder, made["form"])}
    kept = [] if fresh else _answered(file, stamp, tenants)
    _replace(file, "".join(json.dumps(line) + "\n" for line in kept))
    _replace(file.with_suffix(".json"), json.dumps(stamp, indent=2) + "\n")
    done = {line["id"] for line in kept}
    for at, tenant in enumerate(tenants, start=1):
        if all(question.id in done for question in tenant.questions):
            continue
        say = _progress(f"{made['peer']} {made['form']}, {tenant.name} ({at} of {len(tenants)})")
        lines = _ask_tenant(tenant, make, k, say)
        with file.open("a", encoding="utf-8") as out:
            out.write("".join(json.dumps(line) + "\n" for line in lines))
    return file


def _ask_tenant(tenant: Tenant, make: Maker, k: int, say: Say) -> list[dict[str, Any]]:
    say(f"storing {len(tenant.records)} records")
    if not tenant.records:
        return [_line(question, [], 0.0) for question in tenant.questions]
    ords = {record.id: record.ord for record in tenant.records}
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        peer = make(tenant.records, Path(folder))
        try:
            for at, question in enumerate(tenant.questions, start=1):
                hits, ms = _timed(peer, question, k)
                lines.append(_line(question, _in_time(hits, question, ords)[:k], ms))
                if at % 10 == 0:
                    say(f"{at} of {len(tenant.questions)} questions")
            say(f"{len(lines)} questions answered\n")
        finally:
            peer.close()
    return lines


def _timed(peer: Peer, question: Question, k: int) -> tuple[list[Hit], float]:
    start = time.perf_counter()
    hits = peer.answer(question, k)
    return hits, (time.perf_counter() - start) * 1_000


def _in_time(hits: Sequence[Hit], question: Question, ords: Mapping[str, int]) -> list[Hit]:
    """Without the records that a question may not see yet, for peers that cannot filter."""
    before = question.as_of_ord
    return [hit for hit in hits if before is None or ords[hit[0]] < before]


def _line(question: Question, hits: Sequence[Hit], ms: float) -> dict[str, Any]:
    return {
        "id": question.id,
        "ranked": [id for id, _ in hits],
        "scores": [round(float(score), 6) for _, score in hits],
        "ms": round(ms, 3),
    }


def _answered(
    file: Path, stamp: Mapping[str, Any], tenants: Sequence[Tenant]
) -> list[dict[str, Any]]:
    """The kept lines of tenants that are complete; none when something else made the file."""
    made_by = file.with_suffix(".json")
    if not file.exists() or not made_by.exists() or json.loads(made_by.read_text()) != stamp:
        return []
    lines = {}
    for text in file.read_text(encoding="utf-8").splitlines(keepends=True):
        if text.endswith("\n"):  # a line without its end was cut off
            line = json.loads(text)
            lines[line["id"]] = line
    kept = []
    for tenant in tenants:
        found = [lines[question.id] for question in tenant.questions if question.id in lines]
        kept += found if len(found) == len(tenant.questions) else []
    return kept


def _replace(file: Path, text: str) -> None:
    fresh = file.with_name(f"{file.name}.new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(file)


def _progress(title: str) -> Say:
    if not sys.stderr.isatty():
        return lambda _: None
    return lambda text: print(f"\r\033[K{title}: {text}", end="", file=sys.stderr, flush=True)


def _in_own_process(options: argparse.Namespace, name: str) -> int:
    command = [sys.executable, "-m", "bench.peers.run", str(options.folder), "--peers", name]
    command += ["--k", str(options.k), "--forms", *options.forms]
    command += ["--fresh"] if options.fresh else []
    return subprocess.run(command, check=False).returncode


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.peers.run", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="what bench.peers.export made")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=list(FORMS))
    parser.add_argument("--k", type=int, default=FIRST, help="how many answers to ask for")
    parser.add_argument("--fresh", action="store_true", help="ask again what is answered already")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
