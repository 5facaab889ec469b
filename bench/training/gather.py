"""What ranking looks at for every question of the dev splits, asked through the real product.

    python -m bench.training.gather --data FOLDER --vectors FILE --out FOLDER --wild FOLDER

FOLDER holds the sets by name (locomo, beam100k, realmem, mab_conflict, precisionmembench); `--wild`
is what `bench.wild_sets` wrote. Only the dev splits are read, and what is there `more` to train.
Each tenant is also asked questions of its neighbour: whatever is found for those is no answer, and
that is how a model learns what a question without one looks like. LoCoMo's adversarial questions
ask of one speaker what the other said: they count as questions without an answer.
The open half of the everyday memories (tests/corpora) is gathered at each of its sizes.
With `MEMORY_MESH_EMBEDDER=static` the rows are called `static`, and no keyword rows are written.
"""

import argparse
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bench import order
from memory_mesh.base.typed import replace
from memory_mesh.config import load as configured
from memory_mesh.evaluation import all_questions, records, suite
from memory_mesh.evaluation.one_question import RecordNames, search_options
from memory_mesh.evaluation.records import EvaluationQuestion
from memory_mesh.evaluation.vector_cache import KeptVectors
from memory_mesh.model import Query
from memory_mesh.model.ports import Embedder
from memory_mesh.models.embedders import embedder_of
from memory_mesh.platform.ids import SystemClock
from memory_mesh.search import recall
from memory_mesh.search.ranking import features
from memory_mesh.sync import MemoryMesh

SETS = ("locomo", "beam100k", "realmem", "mab_conflict", "precisionmembench")
OWN = ("languages", "aliases", "temporal")
WILD = ("notes", "personal", "documents")
EVERYDAY = "everyday"
ADVERSARIAL = "adversarial"
HERE = Path(__file__).resolve().parents[1] / "sets"
FOREIGN = 40  # questions of other tenants put to each tenant, about
MOST = 250  # questions of one tenant
SEED = 20_260_101


@dataclass
class Gathered:
    """Rows of all questions of one set, one below the other."""

    matrix: list[np.ndarray] = field(default_factory=list)
    answers: list[np.ndarray] = field(default_factory=list)
    units: list[np.ndarray] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    gold: list[int] = field(default_factory=list)
    tenants: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)

    def add(
        self, tenant: str, question: str, table: features.FeatureTable, named: list[str],
        gold: set[str],
    ) -> None:  # fmt: skip
        """One question with its candidates."""
        places = {name: place for place, name in enumerate(dict.fromkeys(named))}
        self.matrix.append(np.array(table.rows, np.float32))
        self.answers.append(np.array([float(name in gold) for name in named], np.float32))
        self.units.append(np.array([places[name] for name in named], np.int32))
        self.sizes.append(len(named))
        self.gold.append(len(gold))
        self.tenants.append(tenant)
        self.questions.append(question)

    def save(self, file: Path) -> None:
        """All of it in one file."""
        np.savez_compressed(
            file, names=np.array(features.NAMES), matrix=np.concatenate(self.matrix),
            answers=np.concatenate(self.answers), units=np.concatenate(self.units),
            sizes=np.array(self.sizes), gold=np.array(self.gold), tenants=np.array(self.tenants),
            questions=np.array(self.questions),
        )  # fmt: skip


def main() -> int:
    """Gather every set, with and without a model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--vectors", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--wild", type=Path, required=True, help="what bench.wild_sets wrote")
    parser.add_argument("--sets", nargs="+", default=(*SETS, *OWN, *WILD, EVERYDAY))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    chain = embedder_of(configured(), SystemClock())
    if chain is None:
        parser.error("there is no model: set MEMORY_MESH_MODEL_DIR")
    kept = KeptVectors(chain, options.vectors)
    folders = dict.fromkeys(OWN, HERE) | dict.fromkeys(WILD, options.wild)
    modes = ("static",) if configured().embedder == "static" else ("hybrid", "keyword")
    for name in options.sets:
        data = folders.get(name, options.data) / name
        rows = everyday(kept, modes) if name == EVERYDAY else gathered(name, data, kept, modes)
        for mode, found in rows.items():
            found.save(options.out / f"{name}.{mode}.npz")
            print(f"{name} {mode}: {len(found.sizes)} questions", flush=True)
    kept.release()
    return 0


def gathered(
    name: str, data: Path, embedder: Embedder, modes: Sequence[str] = ("hybrid", "keyword")
) -> dict[str, Gathered]:
    """All modes of one set, stored once."""
    found = {mode: Gathered() for mode in modes}
    asked = replace(suite.load(name), leave_out=())
    read = records.read(data, asked.records)
    parts = suite.split(asked, read.questions)
    dev = [*parts["dev"], *parts.get("more", ())]
    chance = random.Random(SEED)
    with tempfile.TemporaryDirectory() as folder:
        job = all_questions.AnswerJob(asked, {}, {}, Path(folder), "", embedder, lambda *_: None)
        for mesh, question, names, own in _steps(job, read, dev, chance):
            for mode, into in found.items():
                ask(mesh, question, (asked, names, own, mode == "keyword"), into)
    return found


def everyday(embedder: Embedder, modes: Sequence[str]) -> dict[str, Gathered]:
    """All modes of the everyday memories, whose questions without an answer are there too."""
    found = {mode: Gathered() for mode in modes}
    for store in order.stores("open"):
        with order.opened(embedder) as mesh:
            names = order.fill(mesh, store.memories)
            for mode, into in found.items():
                for number, (text, gold, kind) in enumerate(store.asked):
                    query = Query(text, mesh._lens(None), 10, keyword_only=mode == "keyword")  # noqa: SLF001
                    evidence, memories = recall.looked_at(mesh._access(), query)  # noqa: SLF001
                    table = features.table(evidence)
                    named = [names[memories[version].id] for version in table.versions]
                    if table.versions:
                        tenant, asked = f"dev-{store.size}", f"{kind}-{number}-{text}"
                        into.add(tenant, asked, table, named, gold)
    return found


def _steps(
    job: all_questions.AnswerJob,
    data: records.DataSet,
    dev: Sequence[EvaluationQuestion],
    chance: random.Random,
) -> Iterator[tuple[MemoryMesh, EvaluationQuestion, RecordNames, bool]]:
    """Each question, and in between some that belong to others."""
    by_tenant: dict[str, list[EvaluationQuestion]] = {}
    for question in dev:
        by_tenant.setdefault(question.tenant, []).append(question)
    for tenant, questions in by_tenant.items():
        listed = chance.sample(questions, min(MOST, len(questions)))
        others = [q for name, asked in by_tenant.items() if name != tenant for q in asked]
        for mesh, question, names in all_questions.steps(job, data, listed):
            yield mesh, question, names, question.category != ADVERSARIAL
            if others and chance.random() < FOREIGN / len(listed):
                yield mesh, chance.choice(others), names, False


def ask(
    mesh: MemoryMesh,
    question: EvaluationQuestion,
    how: tuple[suite.Suite, RecordNames, bool, bool],
    into: Gathered,
) -> None:
    """Adds what ranking looks at for one question: of which suite, own or not, by keyword only."""
    asked, names, own, keyword = how
    told = search_options(asked.options("mesh"), question.scopes)
    lens = mesh._lens(told["scope"], filter=told.get("filter"), across=told["across"])  # noqa: SLF001
    query = Query(question.text, lens, 10, keyword_only=keyword)
    evidence, memories = recall.looked_at(mesh._access(), query)  # noqa: SLF001
    table = features.table(evidence)
    if not table.versions:
        return
    named = [names.of_memory(memories[version].id) for version in table.versions]
    gold = set(names.gold(question)) if own else set()
    into.add(question.tenant, question.id, table, named, gold)


if __name__ == "__main__":
    raise SystemExit(main())
