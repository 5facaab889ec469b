"""Finds what a file defines and where each definition ends, in a text of any language.

A definition begins with a line that names it: after a word such as `def`, `class` or `func`, before
the parameters of a block, before `=` or `:`, in a heading. It goes on while brackets are open and
while lines are further in. Nothing is parsed: what is no program (YAML, TOML, Markdown, shell) has
definitions as well.
"""

from collections.abc import Iterator, Sequence

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.base.typed import dataclass

MOST_LINES = 20_000  # of a file that is read for definitions
_MARKDOWN, _SECTIONS = (".md", ".markdown", ".mdx", ".rst"), (".toml", ".ini", ".cfg", ".conf")
_OPENS, _CLOSES = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class Definition:
    """A name with the names around it, joined by dots, and its lines, counted from 1."""

    name: str
    start: int
    end: int


def definitions(lines: Sequence[str], suffix: str) -> list[Definition]:
    """Returns what the lines of a file define, in their order."""
    lines = lines[:MOST_LINES]
    if suffix in _MARKDOWN:
        return list(_headings(lines))
    found: list[Definition] = []
    around: list[Definition] = []
    section: Definition | None = None
    for at, line in enumerate(lines):
        if suffix in _SECTIONS and (head := _section().match(line)):
            section = Definition(head[1].strip('"'), at + 1, _end_of_section(lines, at))
            found.append(section)
            continue
        name, receiver = _named(line)
        if not name or not _opens_or_states(lines, at, line, name):
            continue
        around = [one for one in around if one.end > at]
        if around and around[-1].end == at + 1 and around[-1].start == at + 1:
            continue
        outer = around[-1].name if around else receiver or (section.name if section else "")
        one = Definition(f"{outer}.{name}" if outer else name, at + 1, _end(lines, at))
        found.append(one)
        around.append(one)
    return found


def named(found: Sequence[Definition], symbol: str) -> list[Definition]:
    """Returns the definitions that a symbol names, the closest first.

    `push` names `Queue.push` where nothing is called `push` alone.
    """
    wanted = plain(symbol)
    exact = [one for one in found if plain(one.name) == wanted]
    inside = [one for one in found if plain(one.name).endswith(f".{wanted}")]
    outside = [one for one in found if wanted.endswith(f".{plain(one.name)}")]
    return exact or inside or sorted(outside, key=lambda one: -len(one.name))


def plain(symbol: str) -> str:
    """A symbol with dots between its names and without brackets."""
    bare = symbol.strip().removesuffix("()").lstrip("#").strip()
    return _between().sub(".", bare).strip(".").casefold()


def around(found: Sequence[Definition], start: int, end: int) -> Definition | None:
    """Returns the innermost definition that holds all of these lines."""
    holding = [one for one in found if one.start <= start and one.end >= end]
    return holding[-1] if holding else None


def _headings(lines: Sequence[str]) -> Iterator[Definition]:
    heads = list[tuple[int, int, str]]()
    fenced = False
    for at, line in enumerate(lines):
        fenced ^= line.lstrip().startswith(("```", "~~~"))
        if not fenced and (head := _heading().match(line)):
            heads.append((at, len(head[1]), head[2].strip(" #")))
    for place, (at, level, title) in enumerate(heads):
        after = (other for other, depth, _ in heads[place + 1 :] if depth <= level)
        yield Definition(title, at + 1, _last_said(lines, at, next(after, len(lines))))


def _end_of_section(lines: Sequence[str], at: int) -> int:
    after = range(at + 1, len(lines))
    end = next((other for other in after if _section().match(lines[other])), len(lines))
    return _last_said(lines, at, end)


def _last_said(lines: Sequence[str], at: int, end: int) -> int:
    """The last line before `end` that is not blank, counted from 1."""
    while end > at + 1 and not lines[end - 1].strip():
        end -= 1
    return end


def _named(line: str) -> tuple[str, str]:
    """The name that a line may define, and the type that a method of Go is for."""
    bare = line.strip()
    if not bare or bare[0] in "/*}])-<>.,|&\\" or len(line) > _LONGEST:
        bare = bare[2:].strip() if bare.startswith("- ") else ""
    if (found := _declared().match(bare)) is not None:
        return found["name"].rstrip(":"), found["receiver"] or ""
    found = _macro().match(bare) or _called().match(bare) or _stated().match(bare)
    first = _word().match(bare)
    if found is None or first is None or first[0] in _NO_NAMES:
        return "", ""
    return found["name"].strip("\"'"), ""


def _opens_or_states(lines: Sequence[str], at: int, line: str, name: str) -> bool:
    """Whether a line states a value under a name, or opens a block; a call does neither."""
    after = line[line.find(name) + len(name) :].lstrip("\"' ?!*")
    bare = line.strip()
    if _declared().match(bare) or _macro().match(bare) or after[:1] in {"=", ":", "{"}:
        return not after.startswith("==")
    last = _closed(lines, at)
    rest = lines[last].rstrip()
    if rest.endswith((";", ",")):
        return _typed().match(bare) is not None
    below = next((one for one in lines[last + 1 :] if one.strip()), "")
    opens = rest.endswith(("{", ":", "=>")) or "{" in rest[rest.rfind(")") :] or " -> " in rest
    return opens or below.strip() == "{"


def _closed(lines: Sequence[str], at: int) -> int:
    """The line at which the round brackets that a line opens are closed."""
    depth = 0
    for place in range(at, min(len(lines), at + 40)):
        bare = _unquoted(lines[place])
        depth += bare.count("(") - bare.count(")")
        if depth <= 0:
            return place
    return at


def _end(lines: Sequence[str], at: int) -> int:
    """The last line of what begins at a line, counted from 1."""
    own, depth, last = _indentation(lines[at]), 0, at
    opened = False
    for place in range(at, len(lines)):
        line = lines[place]
        bare = line.strip()
        if not bare:
            continue
        if place > at and depth <= 0:
            further = _indentation(line) > own
            if opened and not further and not _ends().match(bare):
                break
            closes = bare[0] in "{)]" or _ends().match(bare) is not None
            closes = closes and _indentation(line) == own
            if not further and not closes:
                break
        text = _unquoted(line)
        depth += sum(text.count(sign) for sign in _OPENS) - sum(
            text.count(sign) for sign in _CLOSES
        )
        opened = opened or "{" in text
        last = place
        if depth <= 0 and place > at and _ends().match(bare) and _indentation(line) <= own:
            break
        if depth <= 0 and opened and bare.endswith(("}", "};", "})", "});", "},")):
            break
    return last + 1


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _unquoted(line: str) -> str:
    """A line without the texts and the comment in it."""
    return _comment().sub("", _quoted().sub("", line))


# What closes a block from its own indentation.
_ends = lazy_pattern(r"\}|(?:end|fi|done|esac)\b")
_heading = lazy_pattern(r"(#{1,6})\s+(.+)")
_section = lazy_pattern(r"\s*\[{1,2}([^\[\]]+)\]{1,2}\s*(?:[#;].*)?$")
_between = lazy_pattern(r"::|->|[.#/\s]+")
_quoted = lazy_pattern(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`[^`]*`")
_comment = lazy_pattern(r"(?:(?<!\S)#|//).*$")

# A name behind a word that declares it, in the grammars of the common languages.
_declared = lazy_pattern(
    r"(?:[\w$@]+(?:\([\w ]*\))?\s+)*?"
    r"(?:class|struct|enum|interface|trait|type|namespace|module|object|record|union|protocol|"
    r"extension|mod|def|defp|defmodule|fn|func|function\*?|fun|sub|proc|procedure|const|let|var|"
    r"val|(?i:table|view|index|function|procedure|trigger)|"
    r"impl(?:<[^>]*>)?(?:\s+[\w<>:, ]+\s+for)?|macro_rules!)\s+"
    r"(?:\(\s*\w*\s*\*?(?P<receiver>\w+)(?:\[[^\]]*\])?\s*\)\s*)?"
    r"(?:mut\s+|function\s+|class\s+|struct\s+|(?i:if\s+not\s+exists\s+))*"
    r"[*&]*(?P<name>[\w$][\w$.:]*[?!]?)",
)

# A name before the parameters of a block: methods, and functions of C.
_called = lazy_pattern(
    r"(?:[\w.&*<>\[\],?~@$:]+\s+|<[^<>]*>\s*)*?[*&]*(?P<name>[\w$~][\w$.:~-]*[?!]?)"
    r"\s*(?:<[^<>()]*>\s*)?\("
)

# A name before the value that it stands for.
_stated = lazy_pattern(
    r"(?:[\w.&*<>\[\],?$]+\s+)*?[*&]*(?P<name>[\"']?[\w$][\w$.\-]*[\"']?)"
    r"\s*(?:\[[^\]]*\]\s*)?(?::\s*[^=:]*=(?!=)|:(?!:)|[:+?]?=(?![=~])|(?<=\s)\{)"
)
_typed = lazy_pattern(r"(?:[\w*&<>\[\],?:]+\s+)+[*&]*[\w~]+\s*\([^;]*\)?[\w\s]*;?$")
_macro = lazy_pattern(r"(?:#\s*define\s+|typedef\b[^;(]*\(\*)(?P<name>\w+)")
_word = lazy_pattern(r"\W*\w*")
_LONGEST = 400  # characters of a line that may define something
_NO_NAMES = frozenset(  # words of statements, which define nothing
    [
        "if",
        "elif",
        "else",
        "for",
        "while",
        "until",
        "switch",
        "case",
        "default",
        "do",
        "try",
        "catch",
        "except",
        "finally",
        "with",
        "return",
        "yield",
        "await",
        "throw",
        "raise",
        "new",
        "delete",
        "del",
        "assert",
        "import",
        "from",
        "export",
        "package",
        "using",
        "include",
        "require",
        "in",
        "not",
        "and",
        "or",
        "print",
        "echo",
        "printf",
        "then",
        "when",
        "match",
        "unless",
        "elsif",
        "self",
        "this",
        "super",
        "go",
        "defer",
        "select",
        "foreach",
        "lock",
        "goto",
        "typeof",
        "sizeof",
    ]
)
