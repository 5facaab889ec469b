"""How many lessons, procedures and failure patterns are read right from notes that others wrote.

    python -m bench.lessons_report --half dev     into results/benchmarks/lessons-dev.json
    python -m bench.lessons_report --half test    the same for the half that was held out

The notes are in `bench/sets/truth/<half>`. Each is stored in a real store as a user of the library
stores it, with its status in the metadata, and `distill` or `synthesize` is called once. A lesson
is useful if it is active, as certain as the threshold for constraints, contains every keyword of
the note and reads as an instruction. It is wrong if its note teaches nothing, or if it contains
none of the note's keywords. A procedure is found if half of the steps that the story names have a
word in the skill, and all of its memories tell of one of them. No embedder is used: none of the
three asks for one.
"""

import argparse
import json
import re
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

from bench import report
from bench.measure import Figures, say
from memory_mesh.learn.rules.instructions import is_base
from memory_mesh.model import Status
from memory_mesh.model.learning import LessonBlock
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from memory_mesh.text import analyzer

ROOT = Path(__file__).resolve().parent.parent
SETS = ROOT / "bench" / "sets" / "truth"
OUT = ROOT / "results" / "benchmarks"
Row: TypeAlias = Mapping[str, object]
Outcome: TypeAlias = dict[str, object]
_STEM = 6  # letters that make two words one: registered, registry
_DUTY = re.compile(
    r"\b(?:must|should|shall|ought|needs?|ha(?:s|ve)\s+to|belongs?|requires?|required|mandatory|"
    r"forbidden|may\s+(?:not|only|never))\b",
    re.IGNORECASE,
)
_ORDER = re.compile(r"(?:always|never|no|don't|do\s+not|please)\s", re.IGNORECASE)
_CONDITION = re.compile(
    r"(?:if|when|whenever|before|after|once|unless|for|in|on|with)\b[^,]+,\s+(\w+)", re.IGNORECASE
)


def main() -> None:
    """Measure the three sets of a half and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=("dev", "test"), required=True)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    code, folder = report.code(), SETS / options.half
    with tempfile.TemporaryDirectory() as name:
        stores = Path(name)
        lessons = distilled(rows(folder / "failures.jsonl"), stores / "lessons")
        found = synthesized(rows(folder / "procedures.jsonl"), stores / "procedures")
        patterns = compared(rows(folder / "same_pattern.jsonl"), stores / "patterns")
    sizes = {"notes": len(lessons), "stories": len(found), "pairs": len(patterns)}
    figures = lesson_figures(lessons) | story_figures(found) | pair_figures(patterns)
    stamped = report.stamped(figures, sizes, code)
    if options.half == "dev":
        stamped["outcomes"] = {"lessons": lessons, "procedures": found, "patterns": patterns}
    options.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(stamped, indent=2, ensure_ascii=False) + "\n"
    (options.out / f"lessons-{options.half}.json").write_text(text, encoding="utf-8")
    for key, value in figures.items():
        say(f"  {key} = {value}")


def rows(path: Path) -> list[Row]:
    """The lines of a set."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def distilled(notes: Sequence[Row], folder: Path) -> list[Outcome]:
    """What `distill` makes of all notes in one store."""
    clock = FrozenClock()
    with MemoryMesh(db_dir=folder, clock=clock, embedder="none") as mesh:
        texts = {}
        for note in notes:
            clock.advance(timedelta(minutes=1))
            receipt = mesh.add(str(note["text"]), _metadata(note))
            texts[note["id"]] = receipt.content
        learned = mesh.lessons.distill().learned
        told = {_situation(mesh, block): block for block in learned}
        least = mesh.config.lesson_min_confidence
    return [judged(note, told.get(_start(texts[note["id"]])), least) for note in notes]


def judged(note: Row, block: LessonBlock | None, least: float) -> Outcome:
    """Whether the lesson of a note is useful, missed, wrong or rightly absent."""
    outcome: Outcome = {"id": note["id"], "states_rule": note["states_rule"]}
    taught = block is not None and block.status is Status.ACTIVE and block.rule_confidence >= least
    if block is None or not taught:
        return outcome | {"outcome": "missed" if note["lesson"] else "rightly none", "rule": None}
    rule = block.preventative_rule
    keywords = [str(word).casefold() for word in _listed(note["keywords"])]
    held = [word in rule.casefold() for word in keywords]
    if not note["lesson"] or not any(held):
        verdict = "wrong"
    elif all(held) and reads_as_instruction(rule):
        verdict = "useful"
    else:
        verdict = "not enough"
    return outcome | {"outcome": verdict, "rule": rule}


def reads_as_instruction(rule: str) -> bool:
    """True if a rule begins with an order or tells a duty."""
    first = re.match(r"[\W_]*([A-Za-z]+)", rule)
    if _ORDER.match(rule) or (first and is_base(first[1])):
        return True
    condition = _CONDITION.match(rule)
    return bool(_DUTY.search(rule)) or bool(condition and is_base(condition[1]))


def synthesized(stories: Sequence[Row], folder: Path) -> list[Outcome]:
    """What `synthesize` finds in the store of each story."""
    found = []
    for story in stories:
        with MemoryMesh(
            db_dir=folder / str(story["id"]), clock=FrozenClock(), embedder="none"
        ) as mesh:
            mesh.add_many([str(note) for note in _listed(story["notes"])])
            made = mesh.synthesize()
            texts = [memory.text for memory in mesh.get_many(made.sources)]
        steps = [str(step) for step in _listed(story["steps"])]
        named = [_names(made.yamo_text, step) for step in steps]
        told = all(any(_names(text, step) for step in steps) for text in texts)
        staged = made.status == "staged"
        right = staged and told and sum(named) * 2 >= len(named)
        verdict = (
            ("found" if right else "other" if staged else "missed")
            if story["recurs"]
            else ("false" if staged else "rightly none")
        )
        shown = re.findall(r"step_\d+;(.*);", made.yamo_text)
        found.append(
            {"id": story["id"], "outcome": verdict, "steps": shown, "sources": len(made.sources)}
        )
    return found


def compared(pairs: Sequence[Row], folder: Path) -> list[Outcome]:
    """Whether the two failures of a pair get one pattern id."""
    found = []
    for pair in pairs:
        ids = []
        for side in ("a", "b"):
            store = folder / f"{pair['id']}-{side}"
            with MemoryMesh(db_dir=store, clock=FrozenClock(), embedder="none") as mesh:
                mesh.add(
                    str(pair[side]),
                    {"status": "error", "preventative_rule": "Look at the cause first"},
                )
                ids += [block.pattern_id for block in mesh.lessons.distill().learned]
        same = len(ids) == 2 and ids[0] == ids[1]
        verdict = "right" if same is pair["same"] else "taken for one" if same else "taken for two"
        found.append({"id": pair["id"], "same": pair["same"], "outcome": verdict})
    return found


def lesson_figures(outcomes: Sequence[Outcome]) -> Figures:
    """Counts of the lessons."""
    counts = Counter(one["outcome"] for one in outcomes)
    stated = Counter(one["outcome"] for one in outcomes if one["states_rule"])
    return {
        "lessons_useful": counts["useful"],
        "lessons_useful_where_a_rule_is_stated": stated["useful"],
        "lessons_missed": counts["missed"],
        "lessons_not_enough": counts["not enough"],
        "lessons_wrong": counts["wrong"],
        "notes_rightly_without_lesson": counts["rightly none"],
    }


def story_figures(outcomes: Sequence[Outcome]) -> Figures:
    """Counts of the procedures."""
    counts = Counter(one["outcome"] for one in outcomes)
    return {
        "procedures_found": counts["found"],
        "procedures_missed": counts["missed"],
        "procedures_of_other_steps": counts["other"],
        "procedures_false": counts["false"],
        "stories_rightly_without_procedure": counts["rightly none"],
    }


def pair_figures(outcomes: Sequence[Outcome]) -> Figures:
    """Counts of the pairs."""
    counts = Counter(one["outcome"] for one in outcomes)
    return {
        "patterns_right": counts["right"],
        "patterns_taken_for_one": counts["taken for one"],
        "patterns_taken_for_two": counts["taken for two"],
    }


def _metadata(note: Row) -> dict[str, object]:
    return {} if note["status"] is None else {"status": note["status"]}


def _situation(mesh: MemoryMesh, block: LessonBlock) -> str:
    memory = mesh.get(block.memory_id)
    return "" if memory is None or memory.lesson is None else _start(memory.lesson.situation)


def _start(text: str) -> str:
    return " ".join(text.split())[:200]


def _names(text: str, step: str) -> bool:
    """True if a word of the step, or one with the same start, is in the text."""
    told = {term[:_STEM] for term in analyzer.terms(text)}
    return any(term[:_STEM] in told for term in analyzer.terms(step))


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else []


if __name__ == "__main__":
    main()
