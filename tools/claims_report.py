"""Measure the reading and comparing of claims and write results/benchmarks/claims.json.

    python tools/claims_report.py                   the pairs of tests/corpora
    python tools/claims_report.py --facts FOLDER    beside them, a stream of facts with questions

FOLDER has corpus.jsonl (id, tenant, text, in order of arrival) and queries.jsonl (tenant, gold,
stale: ids). The stream is replayed per tenant: a conflict supersedes, the newest wins. A question
with stale facts is right when all of them are superseded and no gold fact is.

A supersession counts as true when the two facts are equal up to a relation and differ only in what
follows it, judged on their words alone: the common beginning holds the last verb and, after it, a
preposition, or it is "The … is" or "…'s child is"; and neither ending holds a verb.
"""

import argparse
import json
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from memory_mesh.write.claims import Claim, ClaimRelation, compare, read

ROOT = Path(__file__).resolve().parent.parent
CORPORA = ROOT / "tests" / "corpora"
REPORT = ROOT / "results" / "benchmarks" / "claims.json"
VERBS = frozenset(("is", "was", "speaks", "plays", "died", "worked", "works"))
PREPOSITIONS = frozenset(("of", "by", "to", "for", "in"))
SENTENCE = (
    "The headquarters of the northern branch of the institute is located in the city of Bergen"
)
Row = Mapping[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures and write them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--facts", type=Path, metavar="FOLDER")
    parser.add_argument("--only", nargs="*", metavar="TENANT", help="replay these tenants only")
    options = parser.parse_args(arguments)
    report = measure()
    if options.facts:
        report["facts"] = facts(options.facts, options.only)
    text = json.dumps(report, indent=2, ensure_ascii=False)
    REPORT.write_text(text + "\n", encoding="utf-8")
    print(text)
    return 0


def measure() -> dict[str, object]:
    """The report on our own pairs."""
    benign, updates = (
        rows(CORPORA / f"{name}.jsonl") for name in ("benign_pairs", "genuine_updates")
    )
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": _git("rev-parse", "--short", "HEAD"),
        "command": "python tools/claims_report.py --facts FOLDER",
        "corpus sha256": sha256(json.dumps([benign, updates]).encode()).hexdigest(),
        "benign pairs": outcomes(benign),
        "benign pairs of many values": outcomes([row for row in benign if row["multi"]]),
        "genuine updates": outcomes(updates),
        "us to read a sentence of 90 characters": cost(),
    }


def outcomes(pairs: Sequence[Row]) -> dict[str, object]:
    """How often each outcome was met, and in which kinds of pairs something is superseded."""
    found = Counter(outcome(row["old"], row["new"]) for row in pairs)
    hit = Counter(
        row["kind"] for row in pairs if outcome(row["old"], row["new"]) == ClaimRelation.CONFLICT
    )
    return {
        "pairs": len(pairs),
        "counts": dict(sorted(found.items())),
        "share superseded": round(found[ClaimRelation.CONFLICT] / len(pairs), 4),
        "share unsure": round(found[ClaimRelation.UNSURE] / len(pairs), 4),
        "superseded by kind": dict(sorted(hit.items())),
    }


def outcome(old: str, new: str) -> str:
    """The relation of two statements; `apart` when they are not about one thing, or no claims."""
    before, after = read(old), read(new)
    if before is None or after is None:
        return "no claim"
    if (before.subject, before.predicate) != (after.subject, after.predicate):
        return "apart"
    return compare(after, before).value


def facts(folder: Path, only: Sequence[str] | None) -> dict[str, object]:
    """The figures of every tenant and of all; relations are named, facts are not."""
    texts: dict[str, list[Row]] = defaultdict(list)
    asked: dict[str, list[Row]] = defaultdict(list)
    for row in rows(folder / "corpus.jsonl"):
        texts[row["tenant"]].append(row)
    for row in rows(folder / "queries.jsonl"):
        if row["stale"]:
            asked[row["tenant"]].append(row)
    wanted = [name for name in texts if only is None or name in only]
    return {name: tenant(texts[name], asked[name]) for name in wanted}


def tenant(stream: Sequence[Row], questions: Sequence[Row]) -> dict[str, object]:
    """One stream replayed, and its questions asked."""
    words = {row["id"]: row["text"] for row in stream}
    over, unsure, unread = replay(stream)
    false = Counter(
        _relation(words[new])
        for old, new in over.items()
        if not conflicting(words[old], words[new])
    )
    missed = [row for row in questions if not _right(row, over)]
    return {
        "facts": len(stream),
        "without a claim": unread,
        "superseded": len(over),
        "superseded truly": round(1 - false.total() / max(1, len(over)), 4),
        "false by relation": dict(false.most_common()),
        "flagged as unsure": unsure,
        "questions with stale facts": len(questions),
        "right": round(1 - len(missed) / max(1, len(questions)), 4),
        "missed by relation": dict(
            Counter(_relation(words[row["gold"][0]]) for row in missed).most_common()
        ),
        "stale facts the rule of the label agrees with": round(_agreement(questions, words), 4),
    }


def replay(stream: Sequence[Row]) -> tuple[dict[str, str], int, int]:
    """Who was superseded by whom; how many were flagged; how many facts gave no claim."""
    alive: dict[tuple[str, str], list[tuple[Claim, str]]] = defaultdict(list)
    over: dict[str, str] = {}
    unsure = unread = 0
    for row in stream:
        claim = read(row["text"])
        if claim is None:
            unread += 1
            continue
        standing = alive[claim.subject, claim.predicate]
        relations = [compare(claim, rival) for rival, _ in standing]
        unsure += ClaimRelation.UNSURE in relations
        for (_, loser), relation in zip(standing, relations, strict=True):
            if relation is ClaimRelation.CONFLICT:
                over[loser] = row["id"]
        standing[:] = [
            rival
            for rival, relation in zip(standing, relations, strict=True)
            if relation is not ClaimRelation.CONFLICT
        ]
        standing.append((claim, row["id"]))
    return over, unsure, unread


def conflicting(old: str, new: str) -> bool:
    """The label: equal up to a relation, different after it."""
    one, two = (text.removesuffix(".").split() for text in (old, new))
    shared = next(
        (at for at, (left, right) in enumerate(zip(one, two, strict=False)) if left != right),
        min(len(one), len(two)) - 1,
    )
    begin = one[:shared]
    verbs = [at for at, word in enumerate(begin) if word in VERBS]
    if one == two or not verbs or not VERBS.isdisjoint((*one[shared:], *two[shared:])):
        return False
    at = verbs[-1]
    if not PREPOSITIONS.isdisjoint(begin[at + 1 :]):
        return True
    return begin[at] == "is" and (begin[0] == "The" or begin[at - 1] == "child")


def cost() -> float:
    """What reading a sentence costs once the words are loaded; the best of many runs."""
    best = float("inf")
    for _ in range(300):
        start = time.perf_counter()
        read(SENTENCE)
        best = min(best, time.perf_counter() - start)
    return round(best * 1e6, 1)


def rows(path: Path) -> list[Row]:
    """Every line of a JSONL file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _right(question: Row, over: Mapping[str, str]) -> bool:
    stale = all(fact in over for fact in question["stale"])
    return stale and not any(fact in over for fact in question["gold"])


def _agreement(questions: Sequence[Row], words: Mapping[str, str]) -> float:
    pairs = [(stale, row["gold"][0]) for row in questions for stale in row["stale"]]
    agreed = sum(conflicting(words[stale], words[gold]) for stale, gold in pairs)
    return agreed / max(1, len(pairs))


def _relation(text: str) -> str:
    claim = read(text)
    return claim.predicate if claim else "no claim"


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
