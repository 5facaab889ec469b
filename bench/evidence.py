"""What became of cited code, held against labels: verdicts, the price of a check, and mentions.

    python -m bench.evidence dev            the half that rules were written with, and its mistakes
    python -m bench.evidence held_out       the half that is read once: figures alone

Each memory is cited in the work tree of its commit, as a user or a hook would, and checked in that
of the last one. 200 fresh citations are checked in one process, and its processor time is taken.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from bench.evidence_repositories import Case, Half, make
from memory_mesh.evidence.citations import Citation, citation_of, worst
from memory_mesh.evidence.mentions import mentioned
from memory_mesh.evidence.work_tree import WorkTree, check, cite

_HERE = Path(__file__).resolve().parent
_CHECKED = 200


def main() -> None:
    """Print the figures of one half."""
    half: Half = "held_out" if sys.argv[1:] == ["held_out"] else "dev"
    with tempfile.TemporaryDirectory() as folder:
        cases = make(Path(folder), half)
        found = [(case, *_verdict(Path(folder) / case.repository, case)) for case in cases]
        cpu = _cpu(Path(folder), [(case, cited) for case, _, cited in found])
    right = sum(case.label == verdict for case, verdict, _ in found)
    fresh = [(case, verdict) for case, verdict, _ in found if case.label == "fresh"]
    stale = sum(verdict != "fresh" for _, verdict in fresh)
    names, wrong, missed = _mentions(half)
    print(f"verdicts right: {right} of {len(found)} ({right / len(found):.1%})")
    print(f"fresh called stale: {stale} of {len(fresh)} ({stale / len(fresh):.1%})")
    print(f"{_CHECKED} citations: {cpu * 1000:.1f} ms of processor time")
    print(f"mentions: {names} found, {missed} missed, {wrong} wrong")
    counts = Counter((case.label, verdict) for case, verdict, _ in found)
    for (label, verdict), count in sorted(counts.items()):
        print(f"  {label} -> {verdict}: {count}")
    if half == "dev":
        for case, verdict, _ in found:
            if case.label != verdict:
                print(case.repository, case.path, case.symbol, case.lines, case.label, verdict)


def _verdict(root: Path, case: Case) -> tuple[str, list[Citation]]:
    """What becomes of a memory that was cited at its commit, and its citations."""
    _git(root, "checkout", "-q", case.commit)
    given: list[object] = [{"path": case.path, "symbol": case.symbol, "lines": case.lines}]
    given += [{"path": path} for path in case.others]
    if case.implicit:  # as a hook cites what a sentence names
        given = [one.as_json() for one in mentioned(WorkTree(root), case.text)]
    kept = [citation_of(one) for one in cite(str(root), given)]
    _git(root, "checkout", "-q", "main")
    verdict = worst([one.verdict for one in check(WorkTree(root), kept)]).value
    return "fresh" if verdict == "unchecked" else verdict, kept


def _cpu(folder: Path, found: list[tuple[Case, list[Citation]]]) -> float:
    """The processor time of checking so many fresh citations, the best of five runs."""
    fresh = [
        (case.repository, one) for case, kept in found if case.label == "fresh" for one in kept
    ]
    taken = [fresh[at % len(fresh)] for at in range(_CHECKED)]
    times: list[float] = []
    for _ in range(5):
        trees = {name: WorkTree(folder / name) for name, _ in taken}
        begin = time.process_time()
        for name, one in taken:
            check(trees[name], [one])
        times.append(time.process_time() - begin)
    return min(times)


def _mentions(half: Half) -> tuple[int, int, int]:
    """How many places that texts name are found, wrongly found, and missed."""
    name = "evidence_mentions.json" if half == "dev" else "evidence_mentions_held_out.json"
    told = json.loads((_HERE / name).read_text("utf-8"))
    right = wrong = missed = 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for path, symbols in told["files"].items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(_source(path, symbols), "utf-8")
        _git(root, "init", "-q")
        for text in told["texts"]:
            found = {(one.path, one.symbol) for one in mentioned(WorkTree(root), text["text"])}
            named = {(one["path"], one["symbol"]) for one in text["names"]}
            right += len(found & named)
            wrong += len(found - named)
            missed += len(named - found)
    return right, wrong, missed


def _source(path: str, symbols: list[str]) -> str:
    """A file that defines these names, in a language that its suffix says."""
    lines: list[str] = []
    for symbol in symbols:
        outer, _, inner = symbol.partition(".")
        if inner:
            continue
        methods = [one.partition(".")[2] for one in symbols if one.startswith(f"{outer}.")]
        if path.endswith(".py") and (methods or (symbol[0].isupper() and not symbol.isupper())):
            lines += [f"class {symbol}:", '    """."""', ""]
            lines += [f"    def {method}(self):\n        return 1\n" for method in methods]
        elif path.endswith(".py"):
            lines.append(
                f"{symbol} = 1" if symbol.isupper() else f"def {symbol}():\n    return 1\n"
            )
        elif path.endswith(".sh"):
            lines.append(f"{symbol}() {{\n  :\n}}")
        else:
            lines.append(f"export function {symbol}() {{\n  return 1\n}}")
    return "\n".join([*lines, ""])


def _git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, timeout=60)


if __name__ == "__main__":
    main()
