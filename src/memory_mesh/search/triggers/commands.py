"""Takes a command line of a shell apart: what would run, with which words and flags, and where.

::

    cd web && sudo rm -rf ../build  # old     ──▶ rm, words ../build, flags r f, in …/web
    git ls-files | xargs sed -i s/a/b/        ──▶ one pipeline of two runs

Quoted texts with blanks in them, the bodies of `<<` and comments are data and run nothing, unless
a shell reads them. Nothing here knows what a program does.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from posixpath import join, normpath

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.base.typed import dataclass, replace

MOST_CHARS = 20_000  # of a command that is read
_MOST_RUNS = 200
_DEEPEST = 4  # shells within shells
SHELLS = frozenset(("sh", "bash", "zsh", "dash", "ksh", "fish", "ash"))
_TAKE_COMMANDS = frozenset(("ssh", "eval", "su", "watch", "script", "trap"))
_SHOW = frozenset(  # what only prints or looks for its words
    [
        "echo",
        "printf",
        "man",
        "which",
        "type",
        "whatis",
        "apropos",
        "info",
        "tldr",
        "help",
        "grep",
        "egrep",
        "fgrep",
        "rg",
        "ag",
        "ack",
        "cat",
        "less",
        "more",
        "head",
        "tail",
        "alias",
        "history",
        "command-not-found",
    ]
)
_RESERVED = frozenset(
    [
        "if",
        "then",
        "else",
        "elif",
        "do",
        "while",
        "until",
        "!",
        "{",
        "time",
        "fi",
        "done",
        "esac",
        "}",
        "case",
        "in",
    ]
)
_NOWHERE = "/dev/null"
_SIGNS = ";&|<>()\n"
_CLUSTER = 4  # letters of short flags behind one dash; more are one long name


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """One program that a command line would start."""

    program: str
    words: tuple[str, ...] = ()  # without flags and data
    flags: frozenset[str] = frozenset()  # without dashes and values
    data: tuple[str, ...] = ()  # texts with blanks, and what is read from `<<`
    folder: str = ""  # where it would run, as far as `cd` says so
    writes: tuple[str, ...] = ()  # files behind > and >>
    reads_pipe: bool = False
    inside: bool = False  # of another one's words, as behind sudo or xargs
    flag_first: bool = False  # what follows its flags is what it works on, and no subcommand
    settings: frozenset[str] = frozenset()  # NAME=value, in front of it, by env or by export


def pipelines(command: str, folder: str = "", depth: int = 0) -> list[list[ProgramRun]]:
    """Returns what a command line would run: runs that feed each other stand together."""
    found: list[list[ProgramRun]] = []
    here, exported = folder, frozenset[str]()
    tokens, nested = _tokens(command[:MOST_CHARS])
    for group in _groups(tokens):
        line: list[ProgramRun] = []
        for at, words in enumerate(group):
            runs = _runs(words, here, depth, piped=at > 0)
            if runs and runs[0].program == "cd" and len(group) == 1:
                here = resolved(runs[0].words[0], here) if runs[0].words else here
            if runs and runs[0].program == "export":
                exported |= runs[0].settings
            line += [replace(run, settings=run.settings | exported) for run in runs]
        if line:
            found.append(_fed(line))
        if len(found) >= _MOST_RUNS:
            break
    if more := _nested(nested, here, depth):
        found[-1:] = [[*found[-1], *more]] if found else [more]
    return found


def resolved(path: str, folder: str) -> str:
    """A path without `.` and `..`, from a folder."""
    return normpath(join(folder, path)) if folder else normpath(path)


def _tokens(text: str) -> tuple[list[str], list[str]]:
    """The words and signs of a command line, and the command lines in `$(…)` within it.

    The body of `<<` becomes a word with blanks in it, which is data.
    """
    text = text.replace("\\\n", " ")
    bare = _literal().sub("", _bodies().sub(r"\3\n", text))
    nested = [one or other for one, other in _substitutions().findall(bare)]
    text = _bodies().sub(lambda found: f"{found[3]} {shlex.quote(found[4] + ' ')}\n", text)
    lexer = shlex.shlex(_substitutions().sub(" ", text), posix=True, punctuation_chars=_SIGNS)
    lexer.whitespace, lexer.whitespace_split = " \t\r", True
    try:
        return list(lexer), nested
    except ValueError:  # a quotation that does not end
        return [], []


def _groups(tokens: Iterable[str]) -> list[list[list[str]]]:
    """Pipelines of commands: `|` feeds the next one, any other sign but `>` and `<` begins anew."""
    groups: list[list[list[str]]] = [[[]]]
    for token in tokens:
        if not _is_sign(token) or "<" in token or ">" in token:
            groups[-1][-1].append(token)
        elif token in {"|", "|&"}:
            groups[-1].append([])
        else:
            groups.append([[]])
    return [group for group in groups if any(group)]


def _is_sign(token: str) -> bool:
    return bool(token) and all(letter in _SIGNS for letter in token)


def _is_data(token: str) -> bool:
    """Whether a word has blanks in it, so that it was quoted."""
    return any(letter.isspace() for letter in token)


def _runs(tokens: Sequence[str], folder: str, depth: int, *, piped: bool) -> list[ProgramRun]:
    """What one command runs: itself, and what its words start."""
    words, writes = _words_and_files(tokens)
    if not words:
        return [ProgramRun("", writes=writes, folder=folder)] if writes else []
    own = _run(words, folder, writes, reads_pipe=piped)
    if own.program in _SHOW:
        return [own]
    started = [
        replace(_run(words[at:], folder, (), reads_pipe=piped), inside=True)
        for at in range(1, len(words))
        if words[at] and not _is_data(words[at]) and not words[at].startswith("-")
    ]
    settings = frozenset(filter(_is_setting, tokens))
    runs = [own, *started, *_nested(list(_commands_in(words)), folder, depth)]
    return [replace(run, settings=run.settings | settings) for run in runs]


def _nested(texts: Sequence[str], folder: str, depth: int) -> list[ProgramRun]:
    if depth >= _DEEPEST:
        return []
    lines = (line for text in texts for line in pipelines(text, folder, depth + 1))
    return [run for line in lines for run in line]


def _words_and_files(tokens: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """The words of a command without settings in front, and the files behind `>`."""
    words, writes = list[str](), list[str]()
    target = ""
    for token in tokens:
        if _is_sign(token):
            target = token
            if words and words[-1].isdigit() and len(words) > 1:  # the number of a stream
                words.pop()
        elif not target:
            words.append(token)
        else:
            if ">" in target and not token.isdigit() and token != _NOWHERE:
                writes.append(token)
            target = ""
    while words and (words[0] in _RESERVED or _is_setting(words[0])):
        words.pop(0)
    return words, tuple(writes)


def _run(
    words: Sequence[str], folder: str, writes: tuple[str, ...], *, reads_pipe: bool
) -> ProgramRun:
    plain, flags, data = list[str](), set[str](), list[str]()
    for at, word in enumerate(words[1:], start=1):
        if _is_data(word):
            data.append(word)
        elif word.startswith("-") and len(word) > 1:
            flags |= flags_of(word)
        elif words[at - 1] == "-n" and at > 1:
            flags.discard("n")  # it has a value: no dry run
            flags.add("n=")
        elif word:
            plain.append(word)
    return ProgramRun(
        program_of(words[0]),
        tuple(plain),
        frozenset(flags),
        tuple(data),
        folder,
        writes,
        reads_pipe,
        flag_first=len(words) > 1 and words[1].startswith("-"),
    )


def flags_of(text: str) -> set[str]:
    """The flags that a word with dashes sets: `-rf` is two, `--force=x` and `-chdir=x` are one."""
    name = text.lstrip("-").partition("=")[0]
    if not text.startswith("--") and len(name) <= _CLUSTER and name.isalpha():
        return set(name)
    return {name} if name else set()


def program_of(text: str) -> str:
    """The name of a program without its folder and version."""
    name = text.rpartition("/")[2].removesuffix(".exe")
    bare = name.rstrip("0123456789.")
    return ("sh" if bare in SHELLS else bare) or name


def _is_setting(text: str) -> bool:
    name, equals, _ = text.partition("=")
    return bool(equals) and name.isidentifier()


def _commands_in(words: Sequence[str]) -> Iterator[str]:
    """The texts among the words that a shell would run."""
    shell = False
    for at, word in enumerate(words):
        program = program_of(word)
        if _is_data(word) and shell:
            yield word
        elif not word.startswith("-"):
            shell = shell or program == "sh" or (program in _TAKE_COMMANDS and at < 2)  # noqa: PLR2004


def _fed(line: list[ProgramRun]) -> list[ProgramRun]:
    """The runs of a pipeline; what reads a pipe has the words and data of what feeds it, too."""
    words, data = list[str](), list[str]()
    found: list[ProgramRun] = []
    for run in line:
        if run.reads_pipe:
            more = tuple(words) if run.inside else ()
            found.append(replace(run, words=(*run.words, *more), data=(*run.data, *data)))
        else:
            found.append(run)
            if not run.inside:
                words += run.words
                data += [*run.data, " ".join(run.words)]
    return found


_bodies = lazy_pattern(
    r"<<(-?)\s*['\"]?(\w+)['\"]?([^\n]*)\n(.*?)(?:^[ \t]*\2[ \t]*$\n?|\Z)",
    re.DOTALL | re.MULTILINE,
)
_literal = lazy_pattern(r"'[^'\n]*'")
_substitutions = lazy_pattern(r"\$\(((?:[^()]|\([^()]*\))*)\)|`([^`]*)`")
