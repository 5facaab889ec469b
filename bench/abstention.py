"""Whether a score says that there is an answer: silence, lost answers, reliability, for each set.

    python -m bench.abstention --data FOLDER --vectors FILE --work DIR [--sets locomo DIR/notes]

A set is the name of a suite, or a folder with corpus.jsonl and queries.jsonl. `bench.wild_sets`
writes notes, personal and documents; put them into FOLDER beside the others. Every question goes
through the public `search`; some questions of others are put to each tenant as well, in place of
one of its own (same moment, same scope). An interrupted run goes on where it stopped. Writes
`abstention-<set>.json` for each set and, from all of them, `abstention.md` into results/benchmarks.
"""

import argparse
import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from bench.evaluate import OUT, OWN, ROOT, SUITES, WILD
from memory_mesh.base.typed import replace
from memory_mesh.config import load as configured
from memory_mesh.evaluation import all_questions, records, results, suite, whole_run
from memory_mesh.evaluation.one_question import QuestionResult
from memory_mesh.evaluation.records import DataSet, EvaluationQuestion
from memory_mesh.evaluation.suite import Suite
from memory_mesh.evaluation.vector_cache import KeptVectors
from memory_mesh.model.ports import Embedder
from memory_mesh.models.embedders import embedder_of
from memory_mesh.platform.ids import SystemClock
from memory_mesh.search.ranking.profiles import FURTHER_SHARE

MIN_RELEVANCE = 0.12  # at which silence and loss are measured
SHOWN = 10
FOREIGN = 40  # questions of others put to each tenant
BINS = 10
ENOUGH = 50  # hits in a bin before its gap counts
FEW = 10  # questions without an answer: fewer give no figure
SEED = 20_260_101
OFF_TOPIC, IN_TOPIC = "no_answer_off_topic", "no_answer_in_topic"
ADVERSARIAL = "adversarial"  # LoCoMo: asks of one speaker what the other said
SHARED = {"mab_conflict", *WILD}  # tenants hold the same facts: a question of another is answered


@dataclass(frozen=True)
class Measured:
    """One set: what it is called, its suite and its data."""

    name: str
    suite: Suite
    data: DataSet


def main() -> int:
    """Measure each set and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--vectors", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=[*SUITES, *OWN, *WILD])
    parser.add_argument("--split", default=suite.TEST, help="of the sets that have splits")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    chain = embedder_of(configured(), SystemClock())
    if chain is None:
        parser.error("there is no model: set MEMORY_MESH_MODEL_DIR")
    kept = KeptVectors(chain, options.vectors)
    others = _opened("locomo", options.data).data.questions
    for name in options.sets:
        began = time.monotonic()
        one = _opened(name, options.data)
        asked = questions(one, options.split, others)
        rows = _rows(one, asked, options.work, kept)
        found = {**_facts(options.split), **figures(rows)}
        file = options.out / f"abstention-{one.name}.json"
        file.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        print(f"{one.name}: {len(rows)} questions, {time.monotonic() - began:.0f} s", flush=True)
    kept.release()
    (options.out / "abstention.md").write_text(page(options.out), encoding="utf-8")
    return 0


def questions(
    one: Measured, split: str, others: Sequence[EvaluationQuestion]
) -> list[EvaluationQuestion]:
    """The questions of the split, also those the suite leaves out, and some of other tenants."""
    whole = replace(one.suite, leave_out=())
    parts = suite.split(whole, one.data.questions)
    asked = parts.get(split, parts[suite.ALL])
    tenants = list(dict.fromkeys(question.tenant for question in asked))
    chance = random.Random(SEED)
    foreign = []
    for tenant in tenants:
        own = [question for question in asked if question.tenant == tenant]
        strange = [question for question in asked if question.tenant != tenant]
        if one.name in SHARED or not strange:
            strange = [each for each in others if each.category != ADVERSARIAL]
        for put in chance.sample(strange, min(FOREIGN, len(strange))):
            place = chance.choice(own)
            foreign.append(
                replace(
                    place,
                    id=f"{tenant} is asked {put.id}",
                    text=put.text,
                    category=OFF_TOPIC,
                    gold=(),
                    gold_sessions=(),
                    stale=(),
                )
            )
    return [*asked, *foreign]


def figures(rows: Sequence[QuestionResult]) -> dict[str, Any]:
    """All figures of one set."""
    kinds: dict[str, list[QuestionResult]] = {
        "answered": [],
        IN_TOPIC: [],
        OFF_TOPIC: [],
        ADVERSARIAL: [],
    }
    for row in rows:
        kinds[_kind(row)].append(row)
    own = kinds["answered"] + kinds[IN_TOPIC]
    return {
        "questions": {kind: len(listed) for kind, listed in kinds.items()},
        "auc": {
            kind: auc(_first(kinds["answered"]), _first(kinds[kind]))
            for kind in (OFF_TOPIC, IN_TOPIC, ADVERSARIAL)
        },
        "silent": {
            kind: _share([_silent(row) for row in kinds[kind]], FEW)
            for kind in (OFF_TOPIC, IN_TOPIC, ADVERSARIAL)
        },
        "lost": lost(kinds["answered"]),
        "reliability": {
            "first hit": reliability([pair for row in own for pair in _hits(row)[:1]]),
            "all hits": reliability([pair for row in own for pair in _hits(row)]),
        },
    }


def auc(answered: Sequence[float], unanswered: Sequence[float]) -> float | None:
    """How often a question with an answer scores above one without; a tie counts half."""
    if not answered or len(unanswered) < FEW:
        return None
    below = np.sort(np.array(unanswered))
    strictly = np.searchsorted(below, answered, side="left")
    or_equal = np.searchsorted(below, answered, side="right")
    return round(float(np.mean((strictly + or_equal) / 2) / len(below)), 4)


def lost(rows: Sequence[QuestionResult]) -> dict[str, Any]:
    """Questions with a right memory among the first ten that have none above the threshold."""
    found = [row for row in rows if any(right for _, right in _hits(row))]
    gone = [
        row
        for row in found
        if _silent(row)
        or not any(right for score, right in _hits(row) if score >= MIN_RELEVANCE * FURTHER_SHARE)
    ]
    return {"found": len(found), "gone": len(gone), "share": _share([row in gone for row in found])}


def reliability(hits: Sequence[tuple[float, bool]]) -> dict[str, Any]:
    """Bins of width .1: mean score, share right, how many; and the largest gap of a full bin."""
    bins = []
    for at in range(BINS):
        held = [hit for hit in hits if min(int(hit[0] * BINS), BINS - 1) == at]
        if held:
            mean = sum(score for score, _ in held) / len(held)
            right = sum(right for _, right in held) / len(held)
            bins.append(
                {
                    "from": at / BINS,
                    "score": round(mean, 3),
                    "right": round(right, 3),
                    "n": len(held),
                }
            )
    gaps: list[float] = [each["score"] - each["right"] for each in bins if each["n"] >= ENOUGH]
    widest = max((abs(gap), gap) for gap in gaps)[1] if gaps else None
    return {"largest_gap": None if widest is None else round(widest, 3), "bins": bins}


def page(folder: Path) -> str:
    """The figures of all sets as one page."""
    found = {
        file.stem.removeprefix("abstention-"): json.loads(file.read_text(encoding="utf-8"))
        for file in sorted(folder.glob("abstention-*.json"))
    }
    parts = [_HEAD, *(_row(name, each) for name, each in found.items()), _RELIABILITY]
    for name, each in found.items():
        for kind, table in each["reliability"].items():
            parts.append(_bins(name, kind, table))
    return "".join(parts)


def _kind(row: QuestionResult) -> str:
    if row.category == ADVERSARIAL:
        return ADVERSARIAL
    if OFF_TOPIC in row.category:
        return OFF_TOPIC
    return "answered" if row.gold else IN_TOPIC


def _hits(row: QuestionResult) -> list[tuple[float, bool]]:
    gold = set(row.gold)
    pairs = zip(row.ranked, row.scores, strict=True)
    return [(score, name in gold) for name, score in pairs][:SHOWN]


def _first(rows: Sequence[QuestionResult]) -> list[float]:
    return [row.scores[0] if row.scores else 0.0 for row in rows]


def _silent(row: QuestionResult) -> bool:
    return all(score < MIN_RELEVANCE for score in row.scores[:SHOWN])


def _share(flags: Sequence[bool], least: int = 1) -> float | None:
    return round(sum(flags) / len(flags), 4) if len(flags) >= least else None


def _opened(named: str, data: Path) -> Measured:
    """A suite by its name, or a folder of the neutral form."""
    folder = Path(named)
    if (folder / records.CORPUS).is_file():
        one = Suite(name=folder.name, ks=(1,), counts="R@1")
        return Measured(folder.name, one, records.read(folder))
    one = suite.load(named)
    place = (ROOT / "bench" / "sets" if named in OWN else data) / named
    return Measured(named, one, records.read(place, one.records))


def _rows(
    one: Measured, asked: Sequence[EvaluationQuestion], work: Path, embedder: Embedder
) -> list[QuestionResult]:
    """The answers, from an earlier run where nothing that matters has changed since."""
    folder = work / one.name
    key = results.digest([one.data.digest, whole_run.code_digest(), embedder.embed(["a"]).space])
    told = {**one.suite.options("mesh"), "limit": SHOWN}
    job = all_questions.AnswerJob(
        one.suite, {"mesh": told}, {}, folder, key, embedder, lambda *_: None
    )
    with whole_run.alone(folder):
        return all_questions.answer(job, one.data, asked).rows["mesh"]


def _facts(split: str) -> dict[str, Any]:
    commit, dirty = whole_run.commit()
    return {
        "command": "python -m bench.abstention --data SETS --vectors FILE --work DIR",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit,
        "dirty": dirty,
        "split": split,
        "min_relevance": MIN_RELEVANCE,
        "seed": SEED,
    }


_HEAD = f"""\
# When there is no answer

Written by `python -m bench.abstention` from the files `abstention-*.json` beside it: the test
splits, or all of a set without splits. Every question goes through the public `search` with
all-MiniLM-L6-v2.

- **AUC**: how often the first hit of a question with an answer scores above the first hit of one
  without; .5 is chance. *Off topic*: {FOREIGN} questions of others, put to each tenant. *In topic*:
  questions of the set itself that no record answers. *Wrong person*: LoCoMo's adversarial
  questions, which ask of one speaker what the other said.
- **Silent**: share of those questions that get no hit with `min_relevance={MIN_RELEVANCE}`.
- **Lost**: of the questions with a right memory among the first ten, the share that has none left
  with that threshold.
- **Gap**: score minus share right in the bin (width .1, at least {ENOUGH} hits) where they differ
  most; above 0 the score promises too much. Questions put to the wrong tenant and adversarial
  ones are left out there.

A figure over fewer than {FEW} questions without an answer is not given.

| set | AUC off topic | in topic | wrong person | silent off topic | in topic | wrong person \
| lost | gap, first hit | gap, all hits | n |
|---|---|---|---|---|---|---|---|---|---|---|
"""
_RELIABILITY = """
## Reliability

| set | hits | score: share right (n) in each bin |
|---|---|---|
"""


def _row(name: str, found: dict[str, Any]) -> str:
    kinds = (OFF_TOPIC, IN_TOPIC, ADVERSARIAL)
    cells = [_cell(found["auc"][kind]) for kind in kinds]
    cells += [_percent(found["silent"][kind]) for kind in kinds]
    cells += [_percent(found["lost"]["share"])]
    cells += [_cell(table["largest_gap"], "+.2f") for table in found["reliability"].values()]
    return f"| {name} | {' | '.join(cells)} | {sum(found['questions'].values())} |\n"


def _bins(name: str, kind: str, table: dict[str, Any]) -> str:
    cells = [f"{each['score']:.2f}: {each['right']:.2f} ({each['n']})" for each in table["bins"]]
    return f"| {name} | {kind} | {', '.join(cells)} |\n"


def _cell(value: float | None, form: str = ".3f") -> str:
    return "-" if value is None else format(value, form)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


if __name__ == "__main__":
    raise SystemExit(main())
