"""Git's configuration text to values: as much of its grammar as naming a project needs."""

import re

Entries = list[tuple[str, str, str, str]]  # section, subsection, key, value

_PLAIN = re.compile(r'\[[^"\\\]]*(?:"[^"\\\]]*")?[^"\\\]]*\]')
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", '"': '"', "\\": "\\"}


def entries(text: str) -> Entries:
    """Returns every value of a configuration with its section, subsection and key, in order.

    Sections and keys are in lower case. A line that git would refuse is left out.
    """
    found: Entries = []
    section = subsection = ""
    for line in _joined(text):
        setting = line
        if line.startswith("["):
            section, subsection, setting = _heading(line)
        key, equals, value = setting.partition("=")
        key = key.strip().lower()
        if section and key and key[0] not in "#;":
            found.append((section, subsection, key, _value(value) if equals else "true"))
    return found


def with_value(text: str, section: str, key: str, value: str | None) -> str:
    """Returns a configuration in which one key of a plain section has this value, or none.

    All other lines stay as they are.
    """
    kept: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        if bare.startswith("["):
            inside = _heading(bare)[:2] == (section, "")
        elif inside and bare.partition("=")[0].strip().lower() == key:
            continue
        kept.append(line)
    lines = _without_empty(kept, section)
    if value is not None:
        if lines and not lines[-1].endswith("\n"):
            lines.append("\n")
        quoted = value.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'[{section}]\n\t{key} = "{quoted}"\n')
    return "".join(lines)


def _without_empty(lines: list[str], section: str) -> list[str]:
    """Leaves out headings of a section that has no line of its own any more."""
    kept: list[str] = []
    for number, line in enumerate(lines):
        following = lines[number + 1].strip() if number + 1 < len(lines) else "["
        if line.strip() == f"[{section}]" and following.startswith("["):
            continue
        kept.append(line)
    return kept


def _joined(text: str) -> list[str]:
    """The lines, each with those that continue it, without the space around them."""
    lines: list[str] = []
    continued = ""
    for line in text.splitlines():
        whole = continued + line
        if (len(whole) - len(whole.rstrip("\\"))) % 2:
            continued = whole[:-1]
            continue
        continued = ""
        lines.append(whole.strip())
    return [*lines, continued.strip()] if continued else lines


def _heading(line: str) -> tuple[str, str, str]:
    """Section and subsection of a heading, and what stands behind it on the same line."""
    end = line.index("]") if _PLAIN.match(line) else _end(line)
    section, _, named = line[1:end].partition('"')
    name = _unescaped(named.rpartition('"')[0])
    return section.strip().lower(), name, line[end + 1 :].strip()


def _end(line: str) -> int:
    """Where a heading ends: at the first bracket outside of quotes."""
    quoted = escaped = False
    for place, letter in enumerate(line):
        if escaped:
            escaped = False
        elif letter == "\\":
            escaped = True
        elif letter == '"':
            quoted = not quoted
        elif letter == "]" and not quoted:
            return place
    return len(line)


def _unescaped(text: str) -> str:
    letters = iter(text)
    return "".join(next(letters, "") if letter == "\\" else letter for letter in letters)


def _value(text: str) -> str:
    """A value without its quotes, escapes and comment."""
    if not any(mark in text for mark in '"\\#;'):
        return text.strip()
    found: list[str] = []
    quoted, kept = False, 0
    letters = iter(text.strip())
    for letter in letters:
        if letter == '"':
            quoted = not quoted
            kept = len(found)
        elif letter == "\\":
            named = next(letters, "")
            found.append(_ESCAPES.get(named, named))
            kept = len(found)
        elif letter in "#;" and not quoted:
            break
        else:
            found.append(letter)
            if quoted or not letter.isspace():
                kept = len(found)
    return "".join(found[:kept])
