"""Says which lessons an action would repeat: a command or an edit that an agent is about to make.

A lesson warns of a call: the one that was recorded, or the first that its text quotes. What its
text says of that call is what counts; the rest (`left-pad` of `npm install left-pad`) is of that
day. What the text quotes beside it is the way that it recommends. Calls are compared by program,
words, flags and targets, never by the words of a sentence.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from posixpath import isabs

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.base.typed import dataclass, replace
from memory_mesh.search.triggers.commands import (
    ProgramRun,
    flags_of,
    pipelines,
    program_of,
    resolved,
)

_DRY = frozenset(("dry-run", "dryrun", "help", "version", "simulate", "just-print", "what-if"))
_SUBCOMMAND_PLACES = 3  # among the words of a call: before it stand values of flags
_ABBREVIATED = 3  # letters of a subcommand that is cut short, such as `npm i`
_LEAST_SHORT, _LEAST_LONG = 2, 8  # letters of an abbreviation, and of what it may stand for
_COPIES = frozenset(("cp", "mv", "install", "ln", "rsync"))  # write to their last word
_MOST_QUOTED = 12
_MARKS = "`'\"()[]{},;:!?"
_FIRST_TOKENS = 4  # of a text, among which a file is what it is about


@dataclass(frozen=True, slots=True)
class PlannedAction:
    """What an agent is about to do."""

    lines: tuple[tuple[ProgramRun, ...], ...] = ()  # of a command: runs that feed each other
    files: tuple[str, ...] = ()  # that would be written
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Warned:
    """What a lesson warns of: calls, each with the runs that make it one, or files."""

    calls: tuple[tuple[ProgramRun, ...], ...] = ()
    files: tuple[str, ...] = ()
    instead: tuple[ProgramRun, ...] = ()  # what it recommends
    recipes: tuple[tuple[ProgramRun, ...], ...] = ()  # the call again, behind another one
    said: tuple[str, ...] = ()  # the words of a text that quotes nothing
    home: str = ""  # the folder that its paths count from


def action_of(command: str, file: str, folder: str) -> PlannedAction:
    """Reads a command, or the file of an edit."""
    if file:
        return PlannedAction(files=(resolved(file, folder),), folder=folder)
    lines = tuple(tuple(line) for line in pipelines(command, folder))
    files = tuple(path for line in lines for run in line for path in _written(run))
    return PlannedAction(lines, files, folder)


@lru_cache(maxsize=1_024)
def warned_of(text: str, ran: str | None, home: str) -> Warned:
    """Reads what a lesson warns of in its text, and in the call that was recorded."""
    quoted = quotations(text)
    tokens = _tokens_of(text)
    if ran is not None and _is_file(ran):
        return Warned(files=(resolved(ran, home),), home=home)
    if ran is None:
        file = next((one for one in tokens[:_FIRST_TOKENS] if _is_file(one)), None)
        if file is not None and text.find(file) <= text.find("`") + 1:
            return Warned(files=_files(file, home), home=home)
        if not quoted or _is_file(quoted[0]):
            return Warned(files=_files(file, home), said=tokens, home=home)
        ran, quoted = quoted[0], quoted[1:]
    others = [run for one in quoted for line in pipelines(one) for run in line if not run.inside]
    lines = [_views(line) for line in pipelines(ran, home)]
    known = [run for line in lines for views in line for run in views]
    advice = [one for one in others if not any(_is_of(one, run) for run in known)]
    before = frozenset(one for run in known for one in run.settings)
    bare = text
    for quotation in quoted:
        if any(run.program == one.program for one in advice for run in _first(quotation)):
            bare = bare.replace(f"`{quotation}`", "")
    calls: list[tuple[ProgramRun, ...]] = []
    for line in lines:
        told = [_told(views, _tokens_of(bare), others) for views in line]
        if _says_enough(told):
            calls.append(tuple(told))
    advice += [one for line in lines for views in line for one in _variants(views, tokens)]
    instead = [
        replace(one, settings=_added(one.settings, before))
        for one in advice
        if any(_within(run, one) for call in calls for run in call)
    ]
    recipes = [tuple(_first(one)) for one in quoted if _leads_to(_first(one), known)]
    named = [call for call in calls if any(run.program in tokens for run in call)]
    return Warned(
        tuple(named or calls[-1:]), instead=tuple(instead), recipes=tuple(recipes), home=home
    )


def repeats(warned: Warned, action: PlannedAction) -> bool:
    """Whether an action would do again what a lesson warns of."""
    if any(file in action.files for file in warned.files):
        return True
    every = [run for line in action.lines for run in line]
    if any(
        all(any(_meets(need, run, "") for run in every) for need in recipe)
        for recipe in warned.recipes
    ):
        return False
    for line in action.lines:
        free = [run for run in line if not _is_dry(run)]
        free = [run for run in free if not any(_is_advised(one, run) for one in warned.instead)]
        for call in warned.calls:
            if all(any(_meets(need, run, warned.home) for run in free) for need in call):
                return True
        if any(_mentioned(run, warned.said) for run in free):
            return True
    return False


def _tokens_of(text: str) -> tuple[str, ...]:
    return tuple(_bare(token) for token in text.split())


def _first(command: str) -> list[ProgramRun]:
    """The commands of a quotation, without what their words start."""
    return [run for line in pipelines(command) for run in line if not run.inside]


def _files(path: str | None, home: str) -> tuple[str, ...]:
    return () if path is None else (resolved(path, home),)


def calls(triggers: Sequence[str], action: PlannedAction) -> bool:
    """Whether a trigger names a call of an action by its program and its first word."""
    said = [tuple(trigger.split()) for trigger in triggers]
    for line in action.lines:
        for run in line:
            if not _is_dry(run) and any(_mentioned(run, words) for words in said):
                return True
    return False


def quotations(text: str) -> list[str]:
    """What a text quotes as code."""
    return [one.strip() for one in _quotes().findall(text)[:_MOST_QUOTED]]


def _views(line: Sequence[ProgramRun]) -> list[list[ProgramRun]]:
    """Each command of a pipeline, with what it starts by its words."""
    found: list[list[ProgramRun]] = []
    for run in line:
        if run.inside and found:
            found[-1].append(run)
        elif run.program:
            found.append([run])
    return found


def _told(
    views: Sequence[ProgramRun], tokens: Sequence[str], others: Sequence[ProgramRun]
) -> ProgramRun:
    """Of a command that ran, what the text says of it; all of it if the text says nothing."""
    for run in views:
        fitting = [one for one in others if _is_of(one, run)]
        if fitting:
            best = max(fitting, key=lambda one: len(one.words) + len(one.flags))
            return replace(best, data=_data_told(run, tokens), reads_pipe=run.reads_pipe)
    mentions = [
        mention
        for run in views
        for mention in _mentions(run, tokens)
        if run is views[0] or mention.words or mention.flags
    ]
    if not mentions:
        return replace(views[0], data=())
    best = max(mentions, key=lambda one: len(one.words) + len(one.flags))
    return replace(best, data=_data_told(views[0], tokens))


def _mentions(run: ProgramRun, tokens: Sequence[str]) -> Iterator[ProgramRun]:
    """The call as far as a text names it, at each place where it names the program."""
    for at, token in enumerate(tokens):
        if program_of(token) != run.program:
            continue
        words, flags = list[str](), set[str]()
        for said in tokens[at + 1 :]:
            if said in run.words:
                words.append(said)
            elif said.startswith("-") and flags_of(said) <= run.flags:
                flags |= flags_of(said)
            else:
                break
        yield replace(run, words=tuple(words), flags=frozenset(flags), inside=False)


def _variants(views: Sequence[ProgramRun], tokens: Sequence[str]) -> Iterator[ProgramRun]:
    """Calls that a text names beside the one that ran: with a flag that this did not have."""
    for run in views:
        for at, token in enumerate(tokens):
            if program_of(token) != run.program:
                continue
            words, flags, differs = list[str](), set[str](), False
            for said in tokens[at + 1 :]:
                if said.startswith("-") and len(said) > 1:
                    differs = differs or not flags_of(said) <= run.flags
                    flags |= flags_of(said)
                elif said in run.words or not said.isalpha():
                    differs = differs or said not in run.words
                    words.append(said)
                else:
                    break
            if differs:
                yield replace(run, words=tuple(words), flags=frozenset(flags), data=())


def _data_told(run: ProgramRun, tokens: Sequence[str]) -> tuple[str, ...]:
    """The words of the data of a call that a text repeats."""
    if run.reads_pipe:
        return ()
    said = {token.casefold() for token in tokens}
    return tuple(sorted(_words_of(run.data) & said))


def _says_enough(call: Iterable[ProgramRun]) -> bool:
    """Whether more than the name of one program is known of a call."""
    runs = list(call)
    return len(runs) > 1 or any(run.words or run.flags or run.data for run in runs)


def _within(one: ProgramRun, run: ProgramRun) -> bool:
    return one.program == run.program and {*one.words} <= {*run.words} and one.flags <= run.flags


def _is_of(one: ProgramRun, run: ProgramRun) -> bool:
    """Whether a quoted call says nothing but what the other one did, its settings included."""
    return _within(one, run) and one.settings <= run.settings


def _is_advised(one: ProgramRun, run: ProgramRun) -> bool:
    is_set = any(
        told == setting or (setting[-1] == "=" and told.startswith(setting))
        for setting in one.settings
        for told in run.settings
    )
    return (is_set or not one.settings) and _meets(one, run, "")


def _added(settings: frozenset[str], before: frozenset[str]) -> frozenset[str]:
    """What is set beside the settings of a call that failed: by name, else with another value."""
    names = {one.partition("=")[0] for one in before}
    new = {f"{name}=" for one in settings if (name := one.partition("=")[0]) not in names}
    return frozenset(new or settings - before)


def _leads_to(runs: Sequence[ProgramRun], known: Sequence[ProgramRun]) -> bool:
    """Whether a quotation does something else before it makes the call."""
    is_call = [any(_is_of(one, run) for run in known) for one in runs]
    return len(runs) > 1 and not is_call[0] and is_call[-1]


def _meets(need: ProgramRun, run: ProgramRun, home: str) -> bool:
    """Whether a run is the call that is looked for, in whatever order and spelling."""
    words = run.words
    script = need.words[0] if need.words and _is_file(need.words[0]) else ""
    if script and program_of(script) == run.program:
        need = replace(need, program=run.program, words=need.words[1:])  # `python a.py`, `./a.py`
    if run.program != need.program:
        if not need.words or run.program != f"{need.program}-{need.words[0]}":
            return False
        words = (need.words[0], *words)
    if need.reads_pipe and not run.reads_pipe:
        return False
    if not all(_has_flag(flag, run.flags) for flag in need.flags):
        return False
    if not {*need.data} <= _words_of(run.data):
        return False
    for at, word in enumerate(need.words):
        if _is_placeholder(word):
            continue
        among = words[:_SUBCOMMAND_PLACES] if at == 0 and not need.flag_first else words
        if not any(_same(word, other, need, run, home, first=at == 0) for other in among):
            return False
    return True


def _same(
    word: str, other: str, need: ProgramRun, run: ProgramRun, home: str, *, first: bool
) -> bool:
    """Whether two words of calls are one: the same text or path, or short for it."""
    is_target = need.flag_first and not word.isdigit()
    if (is_target or "/" in word or "/" in other) and home and run.folder:
        if resolved(word, home) == resolved(other, run.folder):
            return True
        return word == other and not is_target
    if word == other:
        return True
    if first and other == run.words[0] and len(other) <= _ABBREVIATED:
        return word.startswith(other) and word.isalpha()
    short, long = sorted((word, other), key=len)
    is_long = len(short) >= _LEAST_SHORT and len(long) >= _LEAST_LONG
    return is_long and not first and short[0] == long[0] and _is_in_order(short, long)


def _is_in_order(short: str, long: str) -> bool:
    letters = iter(long)
    return all(letter in letters for letter in short)


def _has_flag(flag: str, flags: frozenset[str]) -> bool:
    if flag in flags:
        return True
    if len(flag) == 1:
        return any(one.startswith(flag) and one.isalpha() and len(one) > 1 for one in flags)
    return flag[0] in flags and flag.isalpha()


def _is_dry(run: ProgramRun) -> bool:
    return not _DRY.isdisjoint(run.flags) or "n" in run.flags


def _mentioned(run: ProgramRun, said: Sequence[str]) -> bool:
    """Whether a text that quotes nothing names a program and its first word behind each other."""
    if not said or not run.words or not run.program:
        return False
    pairs = pairwise(said)
    return any((first, second) == (run.program, run.words[0]) for first, second in pairs)


def _written(run: ProgramRun) -> Iterator[str]:
    """The files that a run would write to, as far as its words say so."""
    found = list(run.writes)
    if run.program == "tee" or (
        run.program in {"sed", "perl"} and any(flag[0] == "i" for flag in run.flags)
    ):
        found += run.words
    elif run.program in _COPIES and len(run.words) > 1:
        found.append(run.words[-1])
    for path in found:
        yield resolved(path, run.folder)


def _is_file(text: str) -> bool:
    """Whether a text is a path and no command."""
    if any(sign.isspace() for sign in text) or text.startswith(("-", "./", "http")):
        return False
    return bool(_path().fullmatch(text)) or isabs(text)


def _is_placeholder(word: str) -> bool:
    return len(word) > 1 and (word.isupper() or word[0] in "<{$")


def _words_of(data: Iterable[str]) -> set[str]:
    return {word.casefold() for text in data for word in _word().findall(text)}


def _bare(token: str) -> str:
    """A word of a sentence without its marks."""
    bare = token.strip(_MARKS)
    ended = bare.rstrip(".").rstrip(_MARKS)
    return ended if ended[-1:].isalnum() else bare


_quotes = lazy_pattern(r"`([^`\n]+)`")
_path = lazy_pattern(r"(?:[\w@.-]+/)*[\w@-]*\.?[\w@.-]*\.\w{1,12}(?:\.\w+)*")
_word = lazy_pattern(r"\w+")
