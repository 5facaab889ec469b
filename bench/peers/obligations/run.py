"""Tries one system, or writes the page with what all of them did.

python -m bench.peers.obligations.run ours          # with the project's environment
.venv-peers/bin/python -m bench.peers.obligations.run mem0 chroma langgraph
python -m bench.peers.obligations.run --page        # docs/reference/obligations.md
"""

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module, metadata
from pathlib import Path

from bench.peers.obligations.obligations import OBLIGATIONS, verdict

SYSTEMS = ("ours", "mem0", "chroma", "langgraph")
ROOT = Path(__file__).resolve().parents[3]
RESULTS, PAGE = ROOT / "results/benchmarks/obligations.json", ROOT / "docs/reference/obligations.md"
_BEGIN, _END = "<!-- begin table -->", "<!-- end table -->"


def tried(system: str) -> dict[str, object]:
    """What one system did, with its version and the day."""
    adapter = import_module(f"bench.peers.obligations.{system}")
    with tempfile.TemporaryDirectory() as folder:
        places = {name: Path(folder, name) for name in OBLIGATIONS}
        for place in places.values():
            place.mkdir()
        found = {name: verdict(name, adapter.opened, place) for name, place in places.items()}
    return {
        "package": adapter.PACKAGE,
        "version": metadata.version(adapter.PACKAGE),
        "date": datetime.now(UTC).date().isoformat(),
        "verdicts": found,
    }


def table(results: Mapping[str, Mapping[str, object]]) -> str:
    """The results as a Markdown table, and below it how many each keeps."""
    heads = [f"{each['package']} {each['version']}" for each in results.values()]
    lines = [f"| | obligation | {' | '.join(heads)} |", "|---|---|" + "---|" * len(heads)]
    held = [dict(each["verdicts"]) for each in results.values()]  # type: ignore[call-overload]
    for number, (name, (says, _)) in enumerate(OBLIGATIONS.items(), 1):
        marks = " | ".join(_shown(verdicts[name]) for verdicts in held)
        lines.append(f"| {number} | **{name}**: {says} | {marks} |")
    kept = " | ".join(f"{sum(each == 'yes' for each in one.values())} of 24" for one in held)
    dates = ", ".join(sorted({str(each["date"]) for each in results.values()}))
    return "\n".join([*lines, f"| | kept | {kept} |", "", f"Run on {dates}.", ""])


def _shown(found: str) -> str:
    return {"yes": "**yes**", "not offered": "-"}.get(found, found)


def main(arguments: Sequence[str] | None = None) -> int:
    """Try systems, or write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("systems", nargs="*", metavar="SYSTEM")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args(arguments)
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    known |= {system: tried(system) for system in options.systems}
    known = {system: known[system] for system in SYSTEMS if system in known}
    RESULTS.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
    if options.page:
        text = PAGE.read_text(encoding="utf-8")
        before, _, rest = text.partition(_BEGIN)
        after = rest.partition(_END)[2]
        PAGE.write_text(f"{before}{_BEGIN}\n\n{table(known)}\n{_END}{after}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
