"""Takes a command line of a shell apart: what would run, with which words and flags, and where.

::

    cd web && sudo rm -rf ../build  # old     ──▶ rm, words ../build, flags r f, in …/web
    git ls-files | xargs sed -i s/a/b/        ──▶ one pipeline of two runs

Quoted texts with blanks in them, the bodies of `<<` and comments are data and run nothing, unless
a shell reads them. Nothing here knows what a program does.
"""

from collections.abc import Iterator, Sequence
from posixpath import join, normpath

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


def pipelines(command: str, folder: str = "", depth: int = 0) -> list[list[ProgramRun]]:
    """Returns what a command line would run: runs that feed each other stand together."""
    found: list[list[ProgramRun]] = []
    here = folder
    for group in _groups(_tokens(command[:MOST_CHARS])):
        line: list[ProgramRun] = []
        for at, tokens in enumerate(group):
            runs = _runs(tokens, here, depth, piped=at > 0)
            if runs and runs[0].program == "cd" and len(group) == 1:
                here = resolved(runs[0].words[0], here) if runs[0].words else here
            line += runs
        if line:
            found.append(_fed(line))
        if len(found) >= _MOST_RUNS:
            break
    return found


def resolved(path: str, folder: str) -> str:
    """A path without `.` and `..`, from a folder."""
    return normpath(join(folder, path)) if folder else normpath(path)


@dataclass(frozen=True, slots=True)
class _Token:
    """A word, or a sign between words; `nested` is what stands in `$(…)`."""

    text: str
    quoted: bool = False
    sign: bool = False
    nested: tuple[str, ...] = ()


def _tokens(text: str) -> list[_Token]:
    """The words and signs of a command line."""
    reader = _Reader(text)
    while reader.at < len(text):
        reader.step()
    reader.end()
    return reader.found


class _Reader:
    """Reads a command line from left to right, one sign or quotation at a time."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.found: list[_Token] = []
        self._word, self._begun, self._quoted = "", False, False
        self._nested: list[str] = []
        self._marks: list[str] = []  # that end the bodies behind <<

    def step(self) -> None:
        """Reads what comes next."""
        text, at = self.text, self.at
        sign = text[at]
        if sign == "\\" and at + 1 < len(text):
            self._add("" if text[at + 1] == "\n" else text[at + 1], 2)
        elif sign in "'\"":
            self._quotation()
        elif text.startswith(("$(", "`"), at) and not text.startswith("$((", at):
            close = _matching(text, at)
            self._nested.append(text[at + (2 if sign == "$" else 1) : close])
            self._add("", close + 1 - at)
        elif sign == "#" and not self._begun:
            end = text.find("\n", at)
            self.at = len(text) if end < 0 else end
        elif sign == "\n":
            self._line_end()
        elif sign.isspace():
            self.end()
            self.at += 1
        elif sign in ";&|()<>":
            self._sign()
        else:
            self._add(sign, 1)

    def end(self) -> None:
        """Ends the word that is being read, if there is one."""
        if self._begun:
            self.found.append(_Token(self._word, self._quoted, nested=tuple(self._nested)))
        self._word, self._begun, self._quoted, self._nested = "", False, False, []

    def _add(self, letters: str, size: int) -> None:
        self._word, self._begun = self._word + letters, True
        self.at += size

    def _quotation(self) -> None:
        close = _closing(self.text, self.at)
        inner = self.text[self.at + 1 : close]
        self._quoted = self._quoted or any(each.isspace() for each in inner)
        if self.text[self.at] == '"':
            self._nested += _substituted(inner)
        self._add(inner, close + 1 - self.at)

    def _line_end(self) -> None:
        self.end()
        self.found.append(_Token("\n", sign=True))
        self.at += 1
        for mark in self._marks:
            body, self.at = _body(self.text, self.at, mark)
            self.found.append(_Token(body, quoted=True, sign=True))
        self._marks = []

    def _sign(self) -> None:
        text = self.text
        if text[self.at] in "<>" and self._word.isdigit():  # the number of a stream
            self._word, self._begun = "", False
        self.end()
        if text.startswith("<<", self.at) and not text.startswith("<<<", self.at):
            self.at += 2 + text.startswith("<<-", self.at)
            rest = text[self.at :].lstrip(" ")
            mark = rest.split(None, 1)[0].rstrip(";|&)") if rest.strip() else ""
            self.at += len(text) - self.at - len(rest) + len(mark)
            self._marks.append(mark.strip("'\"\\"))
            return
        size = 2 if text[self.at : self.at + 2] in _PAIRS else 1
        self.found.append(_Token(text[self.at : self.at + size], sign=True))
        self.at += size


_PAIRS = ("&&", "||", ">>", "|&", ";;", "&>", ">&", "<&", ">|")


def _closing(text: str, at: int) -> int:
    """Where a quotation ends; at the end of the text if it does not."""
    quote, place = text[at], at + 1
    while place < len(text) and text[place] != quote:
        place += 2 if text[place] == "\\" and quote == '"' else 1
    return min(place, len(text))


def _matching(text: str, at: int) -> int:
    """Where what `$(` or a backtick opens is closed."""
    if text[at] == "`":
        close = text.find("`", at + 1)
        return len(text) if close < 0 else close
    depth, place = 0, at + 1
    while place < len(text):
        if text[place] in "'\"":
            place = _closing(text, place)
        elif text[place] in "()":
            depth += 1 if text[place] == "(" else -1
            if not depth:
                return place
        place += 1
    return len(text)


def _substituted(inner: str) -> Iterator[str]:
    """What runs inside of a text in double quotes."""
    at = inner.find("$(")
    while at >= 0:
        close = _matching(inner, at)
        yield inner[at + 2 : close]
        at = inner.find("$(", close)


def _body(text: str, at: int, mark: str) -> tuple[str, int]:
    """The lines up to one that is the mark alone, and where the text goes on."""
    lines: list[str] = []
    while at < len(text):
        end = text.find("\n", at)
        line, at = (text[at:], len(text)) if end < 0 else (text[at:end], end + 1)
        if line.strip() == mark:
            break
        lines.append(line)
    return "\n".join(lines), at


def _groups(tokens: Sequence[_Token]) -> list[list[list[_Token]]]:
    """Pipelines of commands: `|` feeds the next one, any other sign begins anew."""
    groups: list[list[list[_Token]]] = [[[]]]
    for token in tokens:
        if token.sign and token.quoted:  # the body of <<, which belongs to what was before
            last = next((one for group in reversed(groups) for one in reversed(group) if one), None)
            if last is not None:
                last.append(replace(token, sign=False))
        elif token.sign and token.text in {"|", "|&"}:
            groups[-1].append([])
        elif token.sign and (token.text[0] in "<>" or token.text == "&>"):
            groups[-1][-1].append(token)
        elif token.sign:
            groups.append([[]])
        else:
            groups[-1][-1].append(token)
    return [group for group in groups if any(group)]


def _runs(tokens: Sequence[_Token], folder: str, depth: int, *, piped: bool) -> list[ProgramRun]:
    """What one command runs: itself, what its words start, and what stands in `$(…)`."""
    words, writes = _words_and_files(tokens)
    texts = [nested for token in tokens for nested in token.nested]
    nested = _nested(texts, folder, depth)
    if not words:
        return [*nested, ProgramRun("", writes=writes, folder=folder)] if writes else nested
    own = _run(words, folder, writes, reads_pipe=piped)
    if own.program in _SHOW:
        return [own, *nested]
    started = [
        replace(_run(words[at:], folder, (), reads_pipe=piped), inside=True)
        for at in range(1, len(words))
        if words[at].text and not words[at].quoted and not words[at].text.startswith("-")
    ]
    return [own, *nested, *started, *_nested(list(_commands_in(words)), folder, depth)]


def _nested(texts: Sequence[str], folder: str, depth: int) -> list[ProgramRun]:
    if depth >= _DEEPEST:
        return []
    lines = (line for text in texts for line in pipelines(text, folder, depth + 1))
    return [run for line in lines for run in line]


def _words_and_files(tokens: Sequence[_Token]) -> tuple[list[_Token], tuple[str, ...]]:
    """The words of a command without settings in front, and the files behind `>`."""
    words, writes = list[_Token](), list[str]()
    target = ""
    for token in tokens:
        if token.sign:
            target = token.text
        elif not target:
            words.append(token)
        else:
            if ">" in target and not token.text.isdigit() and token.text != "/dev/null":
                writes.append(token.text)
            target = ""
    while words and (words[0].text in _RESERVED or _is_setting(words[0].text)):
        words.pop(0)
    return words, tuple(writes)


def _run(
    words: Sequence[_Token], folder: str, writes: tuple[str, ...], *, reads_pipe: bool
) -> ProgramRun:
    plain, flags, data = list[str](), set[str](), list[str]()
    for at, token in enumerate(words[1:], start=1):
        text = token.text
        if token.quoted:
            data.append(text)
        elif text.startswith("-") and len(text) > 1:
            flags |= flags_of(text)
        elif words[at - 1].text == "-n" and at > 1:
            flags.discard("n")  # it has a value: no dry run
            flags.add("n=")
        elif text:
            plain.append(text)
    name = program_of(words[0].text)
    first = len(words) > 1 and words[1].text.startswith("-")
    return ProgramRun(
        name,
        tuple(plain),
        frozenset(flags),
        tuple(data),
        folder,
        writes,
        reads_pipe,
        flag_first=first,
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


def _commands_in(words: Sequence[_Token]) -> Iterator[str]:
    """The texts among the words that a shell would run."""
    shell = False
    for at, token in enumerate(words):
        program = program_of(token.text)
        if token.quoted and shell:
            yield token.text
        elif not token.text.startswith("-"):
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
