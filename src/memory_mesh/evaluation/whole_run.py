"""A whole run: from a suite and its data to a report."""

import hashlib
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from memory_mesh import config as configuration
from memory_mesh._version import __version__
from memory_mesh.base.typed import replace
from memory_mesh.evaluation import (
    own_store,
    records,
    report as evaluation_report,
    report_files,
    results,
    suite as suites,
)
from memory_mesh.evaluation.all_questions import AnswerJob, Answers, Progress, Rows, answer
from memory_mesh.evaluation.one_question import QuestionResult
from memory_mesh.evaluation.report import EvaluationReport
from memory_mesh.evaluation.suite import Suite
from memory_mesh.evaluation.vector_cache import KeptVectors
from memory_mesh.mesh.store import configured_embedder
from memory_mesh.model import InvalidInput, Json, NotFound, StoreIsBusy
from memory_mesh.model.ports import Embedder
from memory_mesh.platform.ids import SystemClock
from memory_mesh.platform.locks import locked

_NO_FIGURES = ("n", "goldless", "with_stale", "threshold", "tokens")  # to be better in
_PACKAGE = Path(__file__).resolve().parent.parent
_ANSWERING = {  # of this folder
    "all_questions.py",
    "one_question.py",
    "records.py",
    "load_records.py",
}
_SOURCES = {".py", ".sql", ".md", ".json"}

SEED = 20_260_101


def run(
    suite: str | Path | Suite,
    *,
    data: str | Path | None = None,
    split: str | None = None,
    systems: Sequence[str] = ("mesh",),
    added: Mapping[str, str | Path] | None = None,
    baseline: str | Path | None = None,
    work: str | Path | None = None,
    vectors: str | Path | None = None,
    embedder: Embedder | None = None,
    sample: int | None = None,
    seed: int = SEED,
    fresh: bool = False,
    out: str | Path | None = None,
    fail_below: Mapping[str, float] | None = None,
    command: str | None = None,
    progress: Progress | None = None,
) -> EvaluationReport:
    """Measure; what an interrupted run answered is not asked again unless it should be `fresh`.

    `added` names files with other systems' rankings, `baseline` the results of an earlier run, and
    `embedder` stands for the configured one. `out` is a folder for the files of the report, and
    `fail_below` has the bounds that its JUnit file tests; `report.misses(fail_below)` lists those
    that are not reached.
    """
    loaded = suite if isinstance(suite, Suite) else suites.load(suite)
    if seed < 0:
        raise InvalidInput("a seed is a whole number from 0 on")
    evaluation_report.check(loaded, fail_below or {})
    folder = work_folder(loaded, work)
    earlier = {} if baseline is None else _earlier(Path(baseline), loaded, folder)
    with (
        alone(folder),
        _embedder(embedder, Path(vectors) if vectors else folder.parent / "vectors.db") as chosen,
    ):
        if fresh:
            _forget(folder)
        session = _Session(loaded, folder, chosen, progress or _silent, seed)
        session.take(systems, added or {})
        parts, answers, digest = session.answered(data, split, sample)
        rows = _split_rows(answers.rows, parts)
        lost = session.failures(rows)
        _check_baseline(earlier, rows)
        facts = evaluation_report.Facts(
            command=command or f"memory_mesh.evaluation.run({loaded.name!r})",
            date=datetime.now(UTC).isoformat(timespec="seconds"),
            version=__version__,
            commit=commit(),
            seed=seed,
            sample=sample,
            embedder=_space(chosen),
            data_digest=digest,
            records=answers.outcomes,
            results=results.write(folder, loaded.name, rows).name,
        )
    report = replace(evaluation_report.build(loaded, facts, rows, earlier), failures=lost)
    return report if out is None else _written(report, Path(out), fail_below or {})


def work_folder(suite: Suite, work: str | Path | None = None) -> Path:
    """Where a suite's stores and results are kept."""
    return (Path(work) if work else cache_folder(os.environ)).expanduser() / suite.name


def results_of(file: Path, work: Path | None = None) -> Path:
    """The results behind a report, beside it or in the work folder; or the file itself."""
    if file.suffix != ".json":
        return file
    name = EvaluationReport.read(file).results
    places_ = [file.parent, *([work, work / file.stem] if work is not None else [])]
    for folder in places_:
        if (folder / name).is_file():
            return folder / name
    raise NotFound(f"{file} has no results beside it; {name} is in the work folder of its run")


class _Session:
    """One run's circumstances."""

    def __init__(
        self,
        suite: Suite,
        folder: Path,
        embedder: Embedder | None,
        progress: Progress,
        seed: int,
    ) -> None:
        self._suite, self._folder, self._embedder = suite, folder, embedder
        self._progress, self._seed = progress, seed
        self._systems: Mapping[str, Mapping[str, object]] = {}
        self._added: Mapping[str, Mapping[str, records.Fields]] = {}
        self._words: Callable[[Sequence[QuestionResult]], evaluation_report.FailureWords] = (
            lambda _: evaluation_report.FailureWords()
        )

    def take(self, systems: Sequence[str], added: Mapping[str, str | Path]) -> None:
        """Say who is asked."""
        self._systems = {name: self._suite.options(name) for name in systems}
        if any(name in self._systems for name in added) or not self._systems:
            raise InvalidInput("each system has a name of its own, and there is at least one")
        self._added = {name: results.ranked(Path(file)) for name, file in added.items()}

    def answered(
        self, data: str | Path | None, split: str | None, sample: int | None
    ) -> tuple[dict[str, list[str]], Answers, str | None]:
        """The ids of the questions by split, all answers, and the digest of the data."""
        if self._suite.store is not None:
            if data is not None or self._added:
                raise InvalidInput("a suite over a store takes neither data nor other systems")
            answers, words = own_store.answer(
                self._suite, self._systems, self._embedder, self._progress
            )
            self._words = lambda _: words
            return (
                {suites.ALL: [row.id for row in next(iter(answers.rows.values()))]},
                answers,
                None,
            )
        if data is None:
            raise InvalidInput(f"where is the data of {self._suite.name}? Give it with --data")
        found = _read(Path(data), self._suite)
        parts = self._parts(found, split, sample)
        wanted = {question.id for listed in parts.values() for question in listed}
        questions = [question for question in found.questions if question.id in wanted]
        job = AnswerJob(
            self._suite,
            self._systems,
            self._added,
            self._folder,
            self._key(found.digest),
            self._embedder,
            self._progress,
        )
        ids_of = {name: [question.id for question in listed] for name, listed in parts.items()}
        self._words = partial(evaluation_report.words_of, self._suite, data=found)
        return ids_of, answer(job, found, questions), found.digest

    def failures(
        self, rows: evaluation_report.ByPart
    ) -> tuple[evaluation_report.FailedQuestion, ...]:
        """What the first system failed at, of the last split: all, or the one asked for."""
        listed = list(next(iter(rows.values())).values())[-1]
        return evaluation_report.describe(self._suite, listed, self._words(listed))

    def _parts(
        self, data: records.DataSet, split: str | None, sample: int | None
    ) -> dict[str, list[records.EvaluationQuestion]]:
        """The questions that are asked, by split; of `all` its parts are shown too."""
        parts = suites.split(self._suite, data.questions)
        names = self._suite.split_names
        chosen = split or (suites.DEV if suites.DEV in names else suites.ALL)
        if chosen not in parts:
            raise NotFound(f"there is no split {chosen!r}; there are: {', '.join(parts)}")
        listed = [*names, suites.ALL] if chosen == suites.ALL else [chosen]
        asked = parts[chosen]
        if sample is not None:
            if sample < 1:
                raise InvalidInput("a sample has at least one question")
            chance = random.Random(self._seed)  # noqa: S311  # a sample that anyone can redo
            asked = chance.sample(asked, min(sample, len(asked)))
        kept = {question.id for question in asked}
        found = {
            name: [question for question in parts[name] if question.id in kept] for name in listed
        }
        if not asked:
            raise InvalidInput(f"the split {chosen!r} has no question in this data")
        return {name: questions for name, questions in found.items() if questions}

    def _key(self, digest: str) -> str:
        config = configuration.load()
        settings = (config.redact, config.privacy_rules, config.read_claims, config.predicates)
        reranker = (config.reranker, config.reranker_model, config.reranker_base_url)
        budget = (config.reranker_candidates, config.reranker_chars, config.reranker_timeout)
        names = sorted(self._suite.records.items())
        return results.digest(
            [
                digest,
                code_digest(),
                settings,
                reranker,
                budget,
                names,
                _space(self._embedder),
            ]
        )


def _written(
    report: EvaluationReport, folder: Path, bounds: Mapping[str, float]
) -> EvaluationReport:
    lacking = report_files.write(report, folder.expanduser(), bounds, report.last_split)
    return replace(report, lacking=tuple(lacking))


def _read(path: Path, suite: Suite) -> records.DataSet:
    if path.is_dir():
        own = path / suite.name  # of a folder with many sets, the one that is called as the suite
        inside = not (path / records.CORPUS).exists() and (own / records.CORPUS).is_file()
        return records.read(own if inside else path, suite.records)
    if path.is_file():
        return suites.read_longmemeval(path)
    raise NotFound(f"there is no data in {path}")


@contextmanager
def _embedder(given: Embedder | None, file: Path) -> Iterator[Embedder | None]:
    """The embedder of the run, with everything it ever embedded in a file."""
    chain = given or configured_embedder(configuration.load(), SystemClock())
    if chain is None:
        yield None
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    kept = KeptVectors(chain, file)
    try:
        yield kept
    finally:
        kept.release()


def _space(embedder: Embedder | None) -> str | None:
    if embedder is None:
        return None
    space = embedder.embed(["a"], query=True).space
    return f"{space.name}, {space.max_tokens} tokens"


def _split_rows(
    rows: Rows, parts: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, list[QuestionResult]]]:
    found: dict[str, dict[str, list[QuestionResult]]] = {}
    for system, listed in rows.items():
        by_id = {row.id: row for row in listed}
        found[system] = {name: [by_id[id_] for id_ in ids] for name, ids in parts.items()}
    return found


def _earlier(file: Path, suite: Suite, folder: Path) -> evaluation_report.ByPart:
    """The answers of an earlier run of the same suite."""
    if file.suffix == ".json" and (other := EvaluationReport.read(file).suite) != suite.name:
        raise InvalidInput(f"the baseline is of {other}, not of {suite.name}")
    return results.read(results_of(file, folder))


def _check_baseline(earlier: evaluation_report.ByPart, rows: evaluation_report.ByPart) -> None:
    if earlier and not _known(earlier) & _known(rows):
        raise InvalidInput("the baseline answers none of these questions")


def _known(rows: evaluation_report.ByPart) -> set[str]:
    """The questions that some system answered."""
    return {row.id for parts in rows.values() for listed in parts.values() for row in listed}


def _forget(folder: Path) -> None:
    for name in ("results", "stores"):
        shutil.rmtree(folder / name, ignore_errors=True)


def _silent(_what: str, _done: int, _of: int) -> None:
    """Show no progress."""


# The folder of an evaluation run, and the identity of the running code.


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Returns the default work folder on this platform; it can be deleted."""
    home = Path(environment.get("HOME") or Path.home())
    if sys.platform == "win32":
        base = (
            Path(environment.get("LOCALAPPDATA") or home / "AppData" / "Local")
            / configuration.APP
            / "cache"
        )
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches" / configuration.APP
    else:
        base = Path(environment.get("XDG_CACHE_HOME") or home / ".cache") / configuration.APP
    return base / "eval"


def code_digest() -> str:
    """Returns the digest of the code that results depend on: without command line and reports."""
    whole = hashlib.sha256()
    for file in sorted(_PACKAGE.rglob("*")):
        inside = file.relative_to(_PACKAGE)
        if file.suffix not in _SOURCES or inside.parts[0] in {"cli", "testing"}:
            continue
        if inside.parts[0] == "evaluation" and inside.name not in _ANSWERING:
            continue
        whole.update(f"{inside.as_posix()}\n".encode())
        whole.update(hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()


def commit() -> tuple[str | None, bool | None]:
    """Returns the commit of the checkout, and whether it has changes."""
    top = _git("rev-parse", "--show-toplevel")
    if top is None or Path(top).resolve() / "src" / "memory_mesh" != _PACKAGE:
        return None, None  # an installed package may lie in somebody else's checkout
    return _git("rev-parse", "HEAD"), bool(_git("status", "--porcelain", "--", "src"))


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Locks the folder against a second run of the same suite."""
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / ".lock", wait=False) as mine:
        if not mine:
            raise StoreIsBusy(f"another evaluation runs in {folder}; wait for it, or give --work")
        yield


def _git(*words: str) -> str | None:
    try:
        done = subprocess.run(  # noqa: S603  # fixed words
            ["git", "-C", str(_PACKAGE), *words],  # noqa: S607  # found on PATH
            capture_output=True,
            text=True,
            check=False,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


# Compares two reports, with intervals of the differences.


def compare(before: Path, after: Path, *, work: Path | None = None) -> list[Mapping[str, Json]]:
    """Returns the differences between two reports, with intervals if both have results."""
    old, new = (
        EvaluationReport.read(before),
        EvaluationReport.read(after),
    )
    if old.suite != new.suite:
        raise InvalidInput(f"one report is of {old.suite}, the other of {new.suite}")
    kept = work or cache_folder(os.environ)
    rows = _results(before, kept), _results(after, kept)
    return [
        each
        for system, splits in new.systems.items()
        for split, figures in splits.items()
        if split in old.systems.get(system, {})
        for each in _compared(
            (system, split), (old.systems[system][split], figures), rows, _seed_of(new)
        )
    ]


def _compared(
    named: tuple[str, str],
    pair: tuple[Mapping[str, Json], Mapping[str, Json]],
    rows: tuple[evaluation_report.ByPart, evaluation_report.ByPart],
    seed: int,
) -> Iterator[Mapping[str, Json]]:
    (system, split), (old, new) = named, pair
    metrics = [
        name
        for name, value in new.items()
        if (isinstance(value, int | float) and name not in _NO_FIGURES) and name in old
    ]
    before, after = (each.get(system, {}).get(split, []) for each in rows)
    found = evaluation_report.differences(
        (("after", after), ("before", before)), split, metrics, seed
    )
    paired = {each["metric"]: each for each in found if isinstance(each, Mapping)}
    for metric in metrics:
        was, is_ = old[metric], new[metric]
        if isinstance(was, int | float) and isinstance(is_, int | float):
            sure = paired.get(metric, {})
            yield {
                "split": split,
                "metric": metric,
                "system": system,
                "before": was,
                "after": is_,
                "difference": round(is_ - was, 4),
                "questions": sure.get("questions"),
                "conversations": sure.get("conversations"),
            }


def _results(file: Path, work: Path) -> evaluation_report.ByPart:
    try:
        return results.read(results_of(file, work))
    except NotFound:
        return {}


def _seed_of(report: EvaluationReport) -> int:
    seed = report.values.get("seed")
    return seed if isinstance(seed, int) else 0
