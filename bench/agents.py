"""What agents wait for: the MCP server's first answer, a hook without a daemon, a hook with one.

    python -m bench.agents                         the full counts, into results/benchmarks/agents.*
    python -m bench.agents --runs 30 --out DIR     a rehearsal
    python -m bench.agents --parts cold,warm       some parts; the figures of the others stay

The commands run as a host runs them: a process each, bytecode cached, everything that is compared
in turns in one run. With MEMORY_MESH_MODEL_DIR the daemon searches by meaning, too.
"""

import argparse
import json
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench import corpus, report
from bench.agent_runs import BUDGET_MS, MCP, Host, Run
from bench.agent_turns import Echo, initialized, searched
from bench.measure import Figures, median_ms, percentile_ms, rounded

OUT = Path(__file__).resolve().parent.parent / "results" / "benchmarks"
COMMAND = "python -m bench.agents"
SUBJECTS = 50  # of prompts and of what is planted
RUN = os.urandom(4).hex()  # a session of a kept store has been given its memories
FRONT_MS, SHARE, TRIPS = 150.0, 0.99, 5
Results = dict[str, dict[str, Any]]


def main() -> int:
    """Measure the chosen parts and write their figures; 1 where a bar is missed."""
    options = _options()
    code = report.code()
    with ExitStack() as stack:
        work = options.work or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        host = prepared(work.resolve(), options.memories)
        stack.callback(host.end_all)
        for name in options.parts.split(","):
            part, runs = PARTS[name]
            count = options.runs or runs
            _say(f"{name}: {count} runs")
            figures = part(host, count)
            _write(options.out, name, report.stamped(figures, _sizes(options, count), code))
            print(json.dumps({name: figures}, indent=2), flush=True)
    return 0 if all(bar["held"] for bar in bars(_read(options.out))) else 1


def prepared(work: Path, memories: int) -> Host:
    """A home whose store holds that many memories, the planted ones among them; kept in `work`."""
    model = os.environ.get("MEMORY_MESH_MODEL_DIR")
    variables = {"MEMORY_MESH_EMBEDDER": "none"}
    if model:
        variables = {"MEMORY_MESH_EMBEDDER": "local", "MEMORY_MESH_MODEL_DIR": model}
    host = Host(work / "home", work / "cache", variables)
    with host.mesh() as mesh:
        done = mesh.stats().memories
        while done < memories - SUBJECTS:
            last = min(memories - SUBJECTS, done + 1_000)
            mesh.add_many(list(corpus.texts(done, last)))
            done = last
            _say(f"  {done:,} of {memories:,} memories")
        if done < memories:
            mesh.add_many([planted(number) for number in range(SUBJECTS)])
    _say("  filling the cache of bytecode")
    host.warmed(question(0))
    return host


def front(host: Host, runs: int) -> Figures:
    """The MCP server's answer to `initialize`, beside the bare interpreter's start and end."""
    fronts, bare = list[float](), list[float]()
    initialized(host, str(MCP))
    for number in range(runs):
        bare.append(host.bare().seconds)
        fronts.append(initialized(host, str(MCP)))
        _tick(number, runs)
    return {
        **_spread("front", fronts),
        **_spread("bare", bare),
        "over_bare_p50_ms": rounded(median_ms(fronts) - median_ms(bare)),
        "over_bare_p95_ms": rounded(percentile_ms(fronts, 0.95) - percentile_ms(bare, 0.95)),
    }


def cold(host: Host, runs: int) -> Figures:
    """Hooks without a daemon: how many print the planted memory within their budget."""
    found, seconds, bare = list[bool](), list[float](), list[float]()
    for number in range(runs):
        bare.append(host.idle().seconds)
        with host.settled():  # the next one does not share the processor with this one's worker
            run = host.prompt(question(number), f"cold {number} {RUN}")
        found.append(_is_found(run, number))
        seconds.append(run.seconds)
        _tick(number, runs, f"{sum(found)} with the memory")
    reasons = Counter(
        host.outcomes(4 * runs).get(f"cold {at} {RUN}") for at in range(runs) if not found[at]
    )
    for reason, count in reasons.items():
        _say(f"  missed: {count} x {reason}")
    return {
        "found": sum(found),
        "of": runs,
        **{f"missed, {reason}": count for reason, count in reasons.items()},
        **_spread("hook", seconds),
        "hook_p99_ms": percentile_ms(seconds, 0.99),
        **_spread("script_that_does_nothing", bare),
    }


def warm(host: Host, runs: int) -> Figures:
    """Hooks with a daemon, beside a bare round trip over a socket and the search itself."""
    hooks, trips, searches, found = list[float](), list[float](), list[float](), 0
    with host.daemon(), Echo(host) as echo, host.mesh() as mesh:
        host.prompt(question(0), f"warming up {RUN}", MEMORY_MESH_HOOK_BUDGET_MS="60000")
        searched(mesh, question(0))
        for number in range(runs):
            trips.append(echo.trip())
            searches.append(searched(mesh, question(number)))
            with host.settled():
                run = host.prompt(question(number), f"warm {number} {RUN}")
            hooks.append(run.seconds)
            found += _is_found(run, number)
            _tick(number, runs, f"{found} with the memory")
    trip, search = median_ms(trips), median_ms(searches)
    return {
        "found": found,
        "of": runs,
        **_spread("hook", hooks),
        **_spread("round_trip", trips),
        **_spread("search", searches),
        "allowed_ms": rounded(TRIPS * trip + search),
        "hook_over_allowed": rounded(median_ms(hooks) / (TRIPS * trip + search)),
    }


PARTS: dict[str, tuple[Callable[[Host, int], Figures], int]] = {
    "front": (front, 50),
    "cold": (cold, 500),
    "warm": (warm, 100),
}


def name_of(number: int) -> str:
    """A name that no other text holds."""
    dice = random.Random(f"{corpus.SEED} subject {number % SUBJECTS}")
    return "".join(dice.choice("bdfgklmnprstvz") + dice.choice("aeiou") for _ in range(4))


def planted(number: int) -> str:
    """The memory that a prompt asks for."""
    at = number % SUBJECTS
    return f"The staging database of {name_of(at)} listens on port {6000 + at} behind pgbouncer."


def question(number: int) -> str:
    """A prompt."""
    return f"which port does the staging database of {name_of(number)} use?"


def bars(results: Results) -> list[dict[str, Any]]:
    """What must hold, and what was measured; a part that was not measured has no bar."""
    found: list[dict[str, Any]] = []

    def bar(part: str, text: str, must: str, value: object, *, held: bool) -> None:
        found.append({"part": part, "text": text, "must": must, "value": value, "held": held})

    if figures := results.get("front", {}).get("figures"):
        over = figures["over_bare_p50_ms"]
        text = "MCP server, cold: `initialize` answered, over the bare interpreter (median, ms)"
        bar("front", text, f"≤ {FRONT_MS:g}", over, held=over <= FRONT_MS)
    if figures := results.get("cold", {}).get("figures"):
        text = f"hooks without a daemon that print the planted memory within {BUDGET_MS} ms"
        least = round(SHARE * figures["of"])
        value = f"{figures['found']} of {figures['of']}"
        bar("cold", text, f"≥ {least}", value, held=figures["found"] >= least)
    if figures := results.get("warm", {}).get("figures"):
        text = f"hook with a daemon / ({TRIPS} bare round trips of a process + the search), medians"
        ratio = figures["hook_over_allowed"]
        bar("warm", text, "≤ 1", ratio, held=ratio <= 1)
    return found


def table(results: Results) -> str:
    """The bars, then every figure, in Markdown."""
    lines = [
        "# Agents: what they wait for",
        "",
        f"Written by `{COMMAND}`; what is compared was measured in turns in one run. Raw figures,",
        "dates and commits: [agents.json](agents.json). How: `bench/agents.py`.",
        "",
        "| bar | must | measured | command |",
        "|---|---|---|---|",
    ]
    for bar in bars(results):
        command = f"{COMMAND} --parts {bar['part']}"
        lines.append(f"| {bar['text']} | {bar['must']} | **{bar['value']}** | `{command}` |")
    for part, measured in results.items():
        lines += ["", f"## {part}", "", report.provenance(measured), ""]
        lines += ["| figure | value |", "|---|---|"]
        lines += [f"| {name} | {value:,} |" for name, value in measured["figures"].items()]
    return "\n".join(lines) + "\n"


def _is_found(run: Run, number: int) -> bool:
    return run.code == 0 and run.is_whole and planted(number).encode() in run.said


def _spread(name: str, seconds: list[float]) -> Figures:
    return {f"{name}_p50_ms": median_ms(seconds), f"{name}_p95_ms": percentile_ms(seconds, 0.95)}


def _sizes(options: argparse.Namespace, runs: int) -> dict[str, int]:
    return {"memories": options.memories, "runs": runs}


def _read(folder: Path) -> Results:
    path = folder / "agents.json"
    found: Results = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def _write(folder: Path, part: str, measured: dict[str, Any]) -> None:
    """Both files; the parts that were not measured now stay as they were."""
    folder.mkdir(parents=True, exist_ok=True)
    results = _read(folder) | {part: measured | {"model": _model()}}
    text = json.dumps(results, indent=2, ensure_ascii=False) + "\n"
    (folder / "agents.json").write_text(text, encoding="utf-8")
    (folder / "agents.md").write_text(table(results), encoding="utf-8")


def _model() -> str:
    return Path(os.environ.get("MEMORY_MESH_MODEL_DIR") or "none").name


def _tick(number: int, runs: int, note: str = "") -> None:
    if (number + 1) % 10 == 0 or number + 1 == runs:
        _say(f"  {number + 1} of {runs} {note}".rstrip())


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--parts", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    parser.add_argument("--runs", type=int, help="of each part (default: the full counts)")
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--work", type=Path, help="keep the store here (default: temporary)")
    parser.add_argument("--out", type=Path, default=OUT, help="where the figures go")
    options = parser.parse_args()
    for name in options.parts.split(","):
        if name not in PARTS:
            parser.error(f"there is no part {name!r}; choose of: {', '.join(PARTS)}")
    return options


if __name__ == "__main__":
    raise SystemExit(main())
