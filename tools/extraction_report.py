"""Measure what a real language model finds in judged conversations.

    python tools/extraction_report.py HALF URL MODEL [--most N] [--write]

URL is that of a service that speaks like OpenAI's, `http://127.0.0.1:8080/v1`. A fact is right if
its quote overlaps one of the judge's facts, wrong if it overlaps what none may keep, else neutral.
`--write` writes results/benchmarks/extraction-HALF.json.
"""

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from memory_mesh.models.llm import HttpLLM  # noqa: E402
from memory_mesh.sync import MemoryMesh  # noqa: E402
from memory_mesh.testing import FrozenClock  # noqa: E402
from tests.corpora.extraction import JudgedConversation, conversations, overlap  # noqa: E402


def main() -> int:
    """Print one line for each conversation, then the sums."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("half")
    parser.add_argument("url")
    parser.add_argument("model")
    parser.add_argument("--most", type=int, default=1_000)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    llm = HttpLLM("openai", model=given.model, base_url=given.url)
    clock, sums = FrozenClock(), Counter[str]()
    with MemoryMesh(enable_memory=False, clock=clock, custom_llm=llm) as mesh:
        for number, each in enumerate(conversations(given.half)):
            if number == given.most:
                break
            clock.set(datetime.fromisoformat(each.at).replace(tzinfo=UTC))
            view = mesh.view(namespace=each.id)
            start = time.monotonic()
            found = view.learn.extract(each.messages, store=False)
            told = judged(each, [fact.quote for fact in found.facts])
            told["dropped"] = len(found.dropped)
            told["no answer"] = found.failure is not None
            told["tokens"] = sum(call.input_tokens + call.output_tokens for call in found.calls)
            told["seconds"] = round(time.monotonic() - start)
            sums.update(told)
            print(
                each.id, dict(told), found.failure or "", *found.dropped, sep="\n    ", flush=True
            )
    judged_facts = sums["right"] + sums["wrong"]
    sums_told = dict(sums) | {
        "precision": round(sums["right"] / judged_facts, 3) if judged_facts else None,
        "recall": round(sums["found"] / sums["judge"], 3) if sums["judge"] else None,
    }
    print(json.dumps(sums_told, indent=2))
    if given.write:
        commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=ROOT, text=True).strip()
        report = {
            "date": f"{datetime.now(UTC):%Y-%m-%d}",
            "commit": commit,
            "model": given.model,
            "command": f"python tools/extraction_report.py {given.half} URL MODEL",
            **sums_told,
        }
        path = ROOT / "results" / "benchmarks" / f"extraction-{given.half}.json"
        path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


def judged(each: JudgedConversation, quotes: list[str]) -> Counter[str]:
    """How many quotes are right, wrong or neither, and how many facts of the judge are found."""
    told: Counter[str] = Counter(judge=len(each.facts))
    wrong = [fact["quote"] for name in ("ungrounded", "injected") for fact in each.others(name)]
    for quote in quotes:
        if any(overlap(quote, fact["quote"]) for fact in each.facts):
            told["right"] += 1
        elif any(overlap(quote, one) for one in [*wrong, *each.refused]):
            told["wrong"] += 1
        else:
            told["neutral"] += 1
    told["found"] = sum(any(overlap(q, fact["quote"]) for q in quotes) for fact in each.facts)
    return told


if __name__ == "__main__":
    sys.exit(main())
