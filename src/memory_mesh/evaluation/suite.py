"""A suite: what is asked of which set, how, and which figure counts."""

import inspect
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from importlib import resources
from pathlib import Path

from memory_mesh.base.typed import TYPE_CHECKING, TextIO, TypeAlias, dataclass, field
from memory_mesh.evaluation.records import (
    FIELDS,
    DataSet,
    EvaluationQuestion,
    EvaluationRecord,
    Fields,
    digest_of,
)
from memory_mesh.model.errors import FilterError, InvalidInput, NotFound
from memory_mesh.rules.filters import parse as parse_filter
from memory_mesh.sync import MemoryMesh

if TYPE_CHECKING:
    from yaml import Node

_ABSTENTION = "_abs"
_BLOCK = 1 << 20  # characters read at a time: the large file has gigabytes
_DAY = re.compile(r"(\d{4})/(\d{2})/(\d{2})(?: \(\w+\))?(?: (\d{2}):(\d{2}))?")

NodePath: TypeAlias = tuple[str | int, ...]


Lines: TypeAlias = Mapping[NodePath, int]

RECORD, SESSION = "record", "session"
HALVES, REST, ALL = "halves of each category", "rest", "all"
DEV, TEST = "dev", "test"
NEWEST, PRECISION = "newest_above_stale", "P@R95"
SYSTEMS: Mapping[str, Mapping[str, object]] = {
    "mesh": {},
    "keyword": {"keyword_only": True},
    "rrf": {"profile": "rrf", "limit": 10},  # it looks at twice the limit: to the letter of 10
}
DEPTH = 100  # answers asked for, unless a suite or system says otherwise
_KS, _OWN_KS = (5, 10, 20), (1, 5, 10)
_KNOWN = {
    "name", "about", "unit", "k", "counts", "splits", "leave_out", "ask", "systems", "records",
    "min_relevance", "store", "namespace", "questions",
}  # fmt: skip
_ASKED = {"ask", "expect", "stale", "category"}  # keys of a question
_OURS = {"self", "query", "use_cache", "scope"}  # what the run says, not the suite


@dataclass(frozen=True, slots=True)
class OwnQuestion:
    """A question to a user's own store: what should come back, by id or by a part of its text."""

    text: str
    expect: tuple[str, ...]
    category: str = ""
    places: tuple[str, ...] = ()  # of each expected text: its file and line
    stale: tuple[str, ...] = ()  # what must not stand above it


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """All that is fixed about a measurement but the data and the code."""

    name: str
    about: str = ""
    unit: str = RECORD
    ks: tuple[int, ...] = _KS
    counts: str = "R@10"
    splits: Mapping[str, tuple[str, ...]] | None = None  # no tenants: all that no split names
    halves: bool = False
    leave_out: tuple[str, ...] = ()
    ask: Mapping[str, object] = field(default_factory=dict)
    systems: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    records: Mapping[str, str] = field(default_factory=dict)
    min_relevance: float | None = None
    store: Path | None = None
    namespace: str = "default"
    questions: tuple[OwnQuestion, ...] = ()

    @property
    def cut(self) -> int:
        """Where all@k and nDCG@k are taken: at 10, or at the deepest k below it."""
        return 10 if 10 in self.ks else max(self.ks)  # noqa: PLR2004  # the usual one

    @property
    def split_names(self) -> tuple[str, ...]:
        """The splits that can be asked for, `all` aside."""
        return (DEV, TEST) if self.halves else tuple(self.splits or ())

    def options(self, system: str) -> dict[str, object]:
        """What `search` is told for a system of this suite."""
        named = {**SYSTEMS, **self.systems}
        if system not in named:
            raise NotFound(f"there is no system {system!r}; there are: {', '.join(named)}")
        across = ("session",) if self.store is None else ("project", "agent", "session")
        told = {"limit": DEPTH, "across": across, "min_relevance": 0.0}
        return {**told, **self.ask, **named[system]}


def builtin() -> dict[str, str]:
    """The suites that come along, and what each is about."""
    found = {}
    for entry in sorted(_folder().iterdir(), key=lambda entry: entry.name):
        if entry.name.endswith(".yaml"):
            suite = _parsed(entry.read_text(encoding="utf-8"), entry.name)
            found[suite.name] = suite.about
    return found


def load(named: str | Path) -> Suite:
    """A suite that comes along, by its name, or one of the user's own, by its file."""
    path = Path(named)
    if path.suffix in {".yaml", ".yml"}:
        if not path.is_file():
            raise NotFound(f"there is no suite file {path}")
        return _parsed(path.read_text(encoding="utf-8"), path.name, path.parent)
    entry = _folder() / f"{named}.yaml"
    if not str(named).isidentifier() or not entry.is_file():
        known = ", ".join(builtin())
        raise NotFound(f"there is no suite {named}; there are: {known}, or give a .yaml file")
    return _parsed(entry.read_text(encoding="utf-8"), entry.name)


def asking_options() -> set[str]:
    """What may be said under `ask`: the options of `search`, and who asks."""
    named = inspect.signature(MemoryMesh.search).parameters
    return {*named, "project", "agent", "session"} - _OURS


def split(
    suite: Suite, questions: Sequence[EvaluationQuestion]
) -> dict[str, list[EvaluationQuestion]]:
    """The questions that count, by split; `all` has every one."""
    asked = [question for question in questions if question.category not in suite.leave_out]
    if suite.halves:
        parts = _halved(asked)
    else:
        parts = {name: list[EvaluationQuestion]() for name in suite.splits or ()}
        home = {
            tenant: name for name, tenants in (suite.splits or {}).items() for tenant in tenants
        }
        rest = next((name for name, listed in (suite.splits or {}).items() if not listed), None)
        for question in asked:
            name = home.get(question.tenant, rest)
            if name is not None:
                parts[name].append(question)
    return {**parts, ALL: asked}


def _halved(questions: Sequence[EvaluationQuestion]) -> dict[str, list[EvaluationQuestion]]:
    """The first half of each category in file order is dev; the odd one goes to test."""
    sizes: dict[str, int] = {}
    for question in questions:
        sizes[question.category] = sizes.get(question.category, 0) + 1
    seen: dict[str, int] = {}
    parts: dict[str, list[EvaluationQuestion]] = {DEV: [], TEST: []}
    for question in questions:
        category = question.category
        seen[category] = seen.get(category, 0) + 1
        parts[DEV if seen[category] <= sizes[category] // 2 else TEST].append(question)
    return parts


def _folder() -> "resources.abc.Traversable":
    return resources.files("memory_mesh.evaluation") / "suites"


def _parsed(text: str, file: str, folder: Path | None = None) -> Suite:
    values, lines = read(text, file)
    if not isinstance(values, dict):
        raise InvalidInput(f"{file} must be a mapping with name, unit, k and so on")
    return _Reading(values, lines, file, folder or Path()).suite()


class _Reading:
    """A suite's values, checked one by one."""

    def __init__(self, values: Mapping[str, object], lines: Lines, file: str, folder: Path) -> None:
        self._values, self._lines, self._file, self._folder = values, lines, file, folder
        self._known((), values, _KNOWN, "a suite")

    def suite(self) -> Suite:
        store = self._text("store", "")
        own = bool(store)
        ks = self._ks(_OWN_KS if own else _KS)
        unit = self._text("unit", RECORD)
        if unit not in {RECORD, SESSION}:
            raise self._wrong("unit", "must be record or session")
        splits = self._values.get("splits")
        questions = tuple(self._questions())
        if own != bool(questions):
            raise self._wrong("questions", "go with a store, and a store with questions")
        return Suite(
            name=self._name(),
            about=self._text("about", ""),
            unit=unit,
            ks=ks,
            counts=self._counted(self._text("counts", f"R@{10 if 10 in ks else max(ks)}"), ks),  # noqa: PLR2004
            splits=None if splits == HALVES else self._splits(splits),
            halves=splits == HALVES,
            leave_out=tuple(self._texts("leave_out", self._values.get("leave_out", []))),
            ask=self._asked("ask", self._values.get("ask", {})),
            systems=dict(self._systems()),
            records=self._names(),
            min_relevance=self._fraction("min_relevance"),
            store=(self._folder / Path(store).expanduser()) if own else None,
            namespace=self._text("namespace", "default"),
            questions=questions,
        )

    def _name(self) -> str:
        name = self._text("name", Path(self._file).stem)
        if not name.replace("-", "_").isidentifier():
            raise self._wrong("name", "has letters, digits, _ and -: files are called by it")
        return name

    def _ks(self, default: tuple[int, ...]) -> tuple[int, ...]:
        found = self._values.get("k", list(default))
        listed = [found] if isinstance(found, int) else found
        if not isinstance(listed, list) or not listed:
            raise self._wrong("k", "must be a list of whole numbers")
        if not all(type(k) is int and 1 <= k <= DEPTH for k in listed):
            raise self._wrong("k", f"must be whole numbers from 1 to {DEPTH}")
        return tuple(sorted(set(listed)))

    def _counted(self, metric: str, ks: tuple[int, ...]) -> str:
        known = [*(f"R@{k}" for k in ks), "MRR", NEWEST, PRECISION]
        if metric not in known:
            raise self._wrong("counts", f"must be one of: {', '.join(known)}")
        return metric

    def _splits(self, found: object) -> dict[str, tuple[str, ...]] | None:
        if found is None:
            return None
        if not isinstance(found, dict):
            raise self._wrong("splits", f"must be {HALVES!r} or name lists of tenants")
        if ALL in found:
            raise self._wrong("splits", "cannot be called all: that is every question")
        return {
            str(name): () if tenants == REST else tuple(self._texts("splits", tenants))
            for name, tenants in found.items()
        }

    def _systems(self) -> Iterator[tuple[str, Mapping[str, object]]]:
        found = self._values.get("systems", {})
        if not isinstance(found, dict):
            raise self._wrong("systems", "must be names, each with options of search")
        for name, options in found.items():
            yield str(name), self._asked(f"systems: {name}", options or {}, ("systems", str(name)))

    def _asked(self, where: str, found: object, path: NodePath = ()) -> dict[str, object]:
        if not isinstance(found, dict):
            raise self._wrong(where, "must be options of search", path)
        self._known(path or (where,), found, asking_options(), "the options of search")
        limit = found.get("limit", DEPTH)
        if type(limit) is not int or not 1 <= limit <= 10 * DEPTH:
            raise self._wrong(where, f"limit must be a whole number from 1 to {10 * DEPTH}", path)
        try:
            parse_filter(found.get("filter") or "pinned")
        except FilterError as error:
            raise self._wrong(where, str(error), path) from None
        across = found.get("across", [])
        listed = [across] if isinstance(across, str) else list(self._texts(where, across))
        return {**found, "across": tuple(listed)} if "across" in found else dict(found)

    def _names(self) -> dict[str, str]:
        found = self._values.get("records", {})
        if not isinstance(found, dict) or not found.keys() <= FIELDS.keys():
            raise self._wrong("records", f"may say how these are called: {', '.join(FIELDS)}")
        return {str(ours): str(theirs) for ours, theirs in found.items()}

    def _questions(self) -> Iterator[OwnQuestion]:
        found = self._values.get("questions", [])
        if not isinstance(found, list):
            raise self._wrong("questions", "must be a list")
        for at, item in enumerate(found):
            where, path = f"questions: number {at + 1}", ("questions", at)
            if not isinstance(item, dict):
                raise self._wrong(where, "must have ask, a text, and expect, a list", path)
            self._known(path, item, _ASKED, "a question")
            if not isinstance(item.get("ask"), str):
                raise self._wrong(where, "must have ask, a text, and expect, a list", path)
            expect = item.get("expect", [])
            within = (*path, "expect")
            given = [expect] if isinstance(expect, str) else expect
            listed = tuple(self._texts(f"{where}: expect", given, within))
            places = [self._place((*within, place), within) for place in range(len(listed))]
            if not all(text.strip() for text in listed):
                raise self._wrong(where, "expect must not hold an empty text", within)
            stale = tuple(self._texts(f"{where}: stale", item.get("stale", []), (*path, "stale")))
            category = str(item.get("category", ""))
            yield OwnQuestion(item["ask"], listed, category, tuple(places), stale)

    def _text(self, name: str, default: str) -> str:
        found = self._values.get(name, default)
        if not isinstance(found, str):
            raise self._wrong(name, "must be a text")
        return found

    def _texts(self, where: str, found: object, path: NodePath = ()) -> Iterator[str]:
        if not isinstance(found, list):
            raise self._wrong(where, "must be a list of texts", path)
        yield from (str(item) for item in found)

    def _fraction(self, name: str) -> float | None:
        found = self._values.get(name)
        if found is None:
            return None
        if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found <= 1:
            raise self._wrong(name, "must be a number from 0 to 1")
        return float(found)

    def _known(
        self, path: NodePath, found: Mapping[str, object], known: set[str], what: str
    ) -> None:
        """Refuses the first key that means nothing."""
        for key in found:
            if str(key) not in known:
                place = self._place((*path, str(key)))
                raise InvalidInput(f"{place}: {unknown(key, known, what)}")

    def _wrong(self, where: str, what: str, path: NodePath = ()) -> InvalidInput:
        return InvalidInput(f"{self._place(path, (where,))}: {where} {what}")

    def _place(self, *paths: NodePath) -> str:
        """The file, and the line of the first of the paths that it has."""
        line = next((self._lines[path] for path in paths if path and path in self._lines), None)
        return self._file if line is None else f"{self._file}, line {line}"


# Reads YAML and keeps the line of each value, so that an error can name it.


"""Where a value stands: the keys and places from the top of the file."""


def read(text: str, file: str) -> tuple[object, Lines]:
    """Returns the values of a file, and the line of each; a key that is there twice is an error."""
    import yaml

    try:
        values = yaml.safe_load(text)
        top = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        shown = " ".join(str(error).split())
        raise InvalidInput(f"{file} is not valid YAML: {shown}") from None
    lines: dict[NodePath, int] = {}
    try:
        if top is not None:
            _walk(top, (), lines, file)
    except RecursionError:
        raise InvalidInput(f"{file} holds a value that contains itself") from None
    return values, lines


def unknown(key: object, known: Iterable[str], where: str) -> str:
    """Returns what to say of a key that is not allowed: the nearest one, and all that are."""
    allowed = sorted(known)
    near = get_close_matches(str(key), allowed, 1)
    hint = f"; did you mean {near[0]}?" if near else "."
    return f"there is no {str(key)!r} in {where}{hint} Allowed: {', '.join(allowed)}"


def _walk(node: "Node", path: NodePath, lines: dict[NodePath, int], file: str) -> None:
    import yaml

    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.SequenceNode):
        for place, item in enumerate(node.value):
            _walk(item, (*path, place), lines, file)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner, line = (*path, str(key.value)), key.start_mark.line + 1
            if inner in lines:
                raise InvalidInput(f"{file}, line {line}: {key.value} is there twice")
            lines[inner] = line
            _walk(value, inner, lines, file)


# Reads the official LongMemEval file: a list of questions, each with its own history.


def read_longmemeval(file: Path) -> DataSet:
    """Returns the data set of the file: each question is a tenant, each turn a record."""
    questions = tuple(_unique(_items(file)))
    if not questions:
        raise InvalidInput(f"{file.name} holds no question")
    return DataSet(digest_of(file), questions, lambda wanted: _tenants(file, wanted))


def _unique(items: Iterator[Fields]) -> Iterator[EvaluationQuestion]:
    seen: set[str] = set()
    for item in items:
        question = _question(item)
        if question.id in seen:
            raise item.wrong(f"question_id {question.id!r} is there twice")
        seen.add(question.id)
        yield question


def _tenants(file: Path, wanted: Collection[str]) -> Iterator[tuple[str, list[EvaluationRecord]]]:
    for item in _items(file):
        tenant = item.text("question_id")
        if tenant in wanted:
            yield tenant, [record for record, _ in _turns(item, tenant)]


def _question(item: Fields) -> EvaluationQuestion:
    id_ = item.text("question_id")
    answered = not id_.endswith(_ABSTENTION)
    gold = tuple(record.id for record, answers in _turns(item, id_) if answers)
    asked = item.text_or_none("question_date")
    return EvaluationQuestion(
        id=id_,
        text=item.text("question"),
        tenant=id_,
        category=item.text("question_type"),
        gold=gold if answered else (),
        gold_sessions=item.texts("answer_session_ids") if answered else (),
        asked_at=None if asked is None else _moment(item, "question_date", asked),
    )


def _turns(item: Fields, tenant: str) -> Iterator[tuple[EvaluationRecord, bool]]:
    """Yields every turn of the history, numbered in its session, and whether it answers."""
    names, dates = item.texts("haystack_session_ids"), item.texts("haystack_dates")
    sessions = item.get("haystack_sessions")
    if not isinstance(sessions, list) or len(sessions) != len(names) or len(dates) != len(names):
        raise item.wrong("haystack_sessions must be a list with an id and a date for each session")
    order, seen = 0, dict[str, int]()
    for name, date, session in zip(names, dates, sessions, strict=True):
        if not isinstance(session, list):
            raise item.wrong(f"haystack_sessions: {name} must be a list of turns")
        seen[name] = seen.get(name, 0) + 1
        own = name if seen[name] == 1 else f"{name}#{seen[name]}"  # told again: another session
        at = _moment(item, "haystack_dates", date)
        for number, values in enumerate(session, start=1):
            turn = Fields(values, f"session {own}, turn {number}")
            record = EvaluationRecord(
                id=f"{own}_{number}",
                text=turn.text("content"),
                tenant=tenant,
                session=own,
                order=order,
                speaker=turn.text("role"),
                occurred_at=at,
            )
            yield record, turn.flag("has_answer")
            order += 1


def _moment(item: Fields, name: str, date: str) -> datetime:
    found = _DAY.fullmatch(date.strip())
    try:
        if found is not None:
            year, month, day, hour, minute = (int(part or 0) for part in found.groups())
            return datetime(year, month, day, hour, minute, tzinfo=UTC)
    except ValueError:
        pass
    raise item.wrong(f"{name} must be a date such as 2023/05/20 (Sat) 02:21, not {date!r}")


def _items(file: Path) -> Iterator[Fields]:
    """Yields the objects of the file's list; only one is in memory at a time."""
    with file.open(encoding="utf-8-sig") as opened:
        try:
            for number, values in enumerate(_listed(opened), start=1):
                yield Fields(values, f"{file.name}, question {number}")
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{file.name} is not UTF-8 text: {error}") from None
        except _Broken as error:
            raise InvalidInput(f"{file.name} must be a JSON list of questions: {error}") from None


class _Broken(ValueError):
    """The text is not a list of JSON values."""


def _listed(opened: TextIO) -> Iterator[object]:
    decoder = json.JSONDecoder()
    text = opened.read(_BLOCK).lstrip()
    if not text.startswith("["):
        raise _Broken("it does not begin with [")
    text, step = text[1:].lstrip(), _BLOCK
    while True:
        if text.startswith("]"):
            return
        try:
            value, end = decoder.raw_decode(text)
            text = text[end:].lstrip()
            if not text:
                text = opened.read(_BLOCK).lstrip()
            if not text.startswith((",", "]")):
                raise _Broken("there is no comma between two of them")
        except (json.JSONDecodeError, RecursionError) as error:
            more = opened.read(step)
            if not more:
                raise _Broken(str(error)) from None
            text, step = text + more, 2 * step  # an object longer than that: try again, less often
            continue
        yield value
        text = text.removeprefix(",").lstrip()
        step = _BLOCK
