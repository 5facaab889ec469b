"""Make 20 small git repositories and 400 memories that cite them, each with what became of it.

    from bench.evidence_repositories import make
    cases = make(folder, "dev")        or "held_out"; folder/<repository> is the working tree

Written on 2026-11-19, before the rules that are judged by them and without sight of those. The half
`held_out` is to be read once, when the rules are done; the names were put in halves beforehand.
`bench/sets/evidence/<repository>.txt` is the plan of one repository: its commits, its memories, and
the label that the author of the commits gave each memory. No label comes from a checker.

How a memory is labelled: by the working tree at the last commit, against the tree of the commit
that the citation names.

- A citation of a symbol cites its definition: signature, body, comments inside, none above it. A
  citation of lines cites their text. A citation of a path alone cites the file, not its lines.
- **fresh**: the cited text still stands in the same file (for a symbol: under the same name), maybe
  at other lines. Whitespace, line breaks, line ends, trailing commas and the kind of quotes are no
  content. A file cited as a whole is fresh while it keeps more than half of its words. A file that
  was deleted and restored, and one whose copy stands elsewhere, is fresh.
- **moved**: it is gone from there and the same text (but for a new name) stands elsewhere: in a
  renamed file, in another file, or in the same file under another name or in a renamed class.
  `new_path` and `new_lines` say where. In a file that was renamed and edited in one commit, what
  was not edited is moved. A place where the text stood already at the cited commit is no move.
- **drifted**: the cited thing is there (or moved), and its content changed: code, a value, or a
  comment inside it. Lines drift if other lines stand in their place. A file cited as a whole drifts
  if it was written anew.
- **orphaned**: it is gone: a symbol or file that was deleted, lines that were taken out with
  nothing in their place. The same name with another body in another place is another thing.
- A memory that cites several files (`others`) is orphaned if all are gone, drifted if one of them
  drifted or is gone, else moved if one moved, else fresh.
- A symbolic link is read through. What never stood in the tree (a submodule that was not fetched, a
  file of another project) proves nothing, so that a memory about it is fresh.
- `implicit`: nothing is cited beside the text. `path` and `symbol` then say what the text names,
  and the commit is the one at which the text was written.
"""

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Half = Literal["dev", "held_out"]
Label = Literal["fresh", "moved", "drifted", "orphaned"]
LABELS: tuple[Label, ...] = ("fresh", "moved", "drifted", "orphaned")
PLANS = Path(__file__).resolve().parent / "sets" / "evidence"
HALVES: dict[Half, tuple[str, ...]] = {
    "dev": (
        "taskq",  # Python
        "mdtable",  # TypeScript
        "ratelimit",  # Go
        "kvlog",  # Rust
        "invoicer",  # Java
        "tinyini",  # C
        "dotstash",  # shell
        "homelab",  # YAML and TOML
        "fieldguide",  # Markdown
        "webnotes",  # JavaScript and Python
    ),
    "held_out": (
        "feedreader",  # Python
        "colorwheel",  # TypeScript
        "portfwd",  # Go
        "bitgrep",  # Rust
        "librarian",  # Java
        "ringbuf",  # C
        "nightsave",  # shell
        "pipelines",  # YAML and TOML
        "handbuch",  # Markdown
        "photobox",  # JavaScript and Python
    ),
}
FIRST_DAY = 1_700_000_000  # in seconds; each commit comes a day later
DAY = 86_400
AUTHORS = ("Ada Okafor", "Jonas Weber", "Mei Tanaka")
COMMIT = re.compile(r"=== (\d+) (.+)")
EDIT = re.compile(r"(\+\+\+|~~~|>>>|---|@@@|%%%|<<<|!!!|\^\^\^|\*\*\*) (.+)")
LINK = "link to "  # how a tree holds a symbolic link
Tree = dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Case:
    """One memory, what it cites, and what is true at the last commit."""

    repository: str
    text: str
    path: str
    symbol: str | None
    lines: tuple[int, int] | None  # first and last, from 1
    commit: str
    implicit: bool
    label: Label
    new_path: str | None = None
    new_lines: tuple[int, int] | None = None
    others: tuple[str, ...] = ()


@dataclass(slots=True)
class Commit:
    """One commit of a plan: its edits, and after they are done the tree."""

    number: int
    subject: str
    edits: list[tuple[str, str, list[str]]] = field(default_factory=list)
    parent: int = 0
    branch: str = "main"
    tree: Tree = field(default_factory=dict)


def make(folder: Path, half: Half) -> list[Case]:
    """Make the repositories of a half in `folder` and return the memories that cite them."""
    cases = list[Case]()
    for name in HALVES[half]:
        commits, memories = read_plan(name)
        _build(commits)
        hashes = _write(folder / name, commits)
        cases += (_case(name, line, commits, hashes) for line in memories)
    return cases


def read_plan(name: str) -> tuple[list[Commit], list[str]]:
    """The commits of a repository, and the lines that say its memories."""
    commits, memories, edit = list[Commit](), list[str](), list[str]()
    plan = (PLANS / f"{name}.txt").read_text("utf-8")
    body, _, cited = plan.partition("\n=== memories\n")
    for line in body.splitlines():
        if found := COMMIT.fullmatch(line):
            commits.append(Commit(int(found[1]), found[2]))
            edit = []
        elif commits and (found := EDIT.fullmatch(line)):
            edit = []
            commits[-1].edits.append((found[1], found[2], edit))
        else:
            edit.append(line)
    memories += (line for line in cited.splitlines() if line and not line.startswith("#"))
    return commits, memories


def _build(commits: Sequence[Commit]) -> None:
    """Do the edits of every commit, in turn."""
    head, branch = 0, "main"
    for commit in commits:
        for kind, what, _ in commit.edits:
            if kind == "***":  # a switch: branch, and the commit it starts from
                branch, _, start = what.partition(" ")
                head = int(start or head)
        commit.parent, commit.branch = head, branch
        commit.tree = dict(commits[head - 1].tree) if head else {}
        for kind, what, lines in commit.edits:
            _edit(commit.tree, kind, what, lines, commits)
        head = commit.number


def _edit(
    tree: Tree, kind: str, what: str, lines: Sequence[str], commits: Sequence[Commit]
) -> None:
    """Do one edit in a tree; a switch of the branch is none."""
    text = "".join(line + "\n" for line in lines).encode()
    first, _, second = what.partition(" => ")
    match kind:
        case "---":
            del tree[what]
        case ">>>":
            _rename(tree, first, second)
        case "~~~":
            tree[what] = _changed(tree[what], text)
        case "<<<":  # path => the commit it is taken from
            tree[first] = commits[int(second) - 1].tree[first]
        case "@@@":
            tree[first] = (LINK + second).encode()
        case "+++" | "!!!" | "^^^" | "%%%":
            there = tree.get(what, b"")
            tree[what] = {
                "+++": text,
                "!!!": there + text,
                "^^^": text + there,
                "%%%": there.replace(b"\n", b"\r\n"),
            }[kind]
        case _:
            pass


def _rename(tree: Tree, old: str, new: str) -> None:
    """Rename a file, or a folder that ends in a slash; `+` before the new name copies."""
    for path in [path for path in tree if path == old or (old[-1] == "/" and path.startswith(old))]:
        tree[new.removeprefix("+") + path[len(old) :]] = tree[path]
        if new[0] != "+":
            del tree[path]


def _changed(content: bytes, changes: bytes) -> bytes:
    """The content after changes: `old`, ====, `new`, and ++++ before the next pair."""
    for pair in changes.split(b"++++\n"):
        old, _, new = pair.partition(b"====\n")
        if content.count(old) != 1:
            raise ValueError(f"{content.count(old)} times: {old.decode()}")
        content = content.replace(old, new)
    return content


def _write(folder: Path, commits: Sequence[Commit]) -> list[str]:
    """Make the git repository; the hash of each commit."""
    folder.mkdir(parents=True)
    _git(folder, "init", "--quiet", "--initial-branch=main")
    _git(folder, "config", "core.autocrlf", "false")
    marks = folder / ".git" / "marks"
    stream = b"".join(part for commit in commits for part in _stream(commit))
    _git(folder, "fast-import", "--quiet", f"--export-marks={marks}", given=stream)
    _git(folder, "checkout", "--quiet", commits[-1].branch)
    known = dict(line.split() for line in marks.read_text("ascii").splitlines())
    marks.unlink()
    return [known[f":{commit.number}"] for commit in commits]


def _stream(commit: Commit) -> Iterator[bytes]:
    """A commit as `git fast-import` reads it."""
    author = AUTHORS[commit.number % len(AUTHORS)]
    mail = author.split()[0].lower() + "@example.org"
    subject = commit.subject.encode()
    yield f"commit refs/heads/{commit.branch}\nmark :{commit.number}\n".encode()
    yield f"committer {author} <{mail}> {FIRST_DAY + DAY * commit.number} +0000\n".encode()
    yield b"data %d\n%s\n" % (len(subject), subject)
    if commit.parent:
        yield b"from :%d\n" % commit.parent
    yield b"deleteall\n"
    for path, content in sorted(commit.tree.items()):
        link = content.startswith(LINK.encode())
        held = content.removeprefix(LINK.encode())
        quoted = '"' + path.replace('"', '\\"') + '"'
        yield f"M {'120000' if link else '100644'} inline {quoted}\n".encode()
        yield b"data %d\n%s\n" % (len(held), held)


def _git(folder: Path, *words: str, given: bytes = b"") -> None:
    """Run git in a folder, without the settings of the machine."""
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *words], cwd=folder, env=env, input=given, check=True, timeout=60)


def _case(name: str, line: str, commits: Sequence[Commit], hashes: Sequence[str]) -> Case:
    """Read `commit label | path; others | symbol | lines | text || new path | new lines`.

    A path after `?` is implicit. Lines are told by texts in them (see `_lines`).
    """
    told, _, new = line.partition(" || ")
    what, path, symbol, place, text = (part.strip() for part in told.split(" | ", 4))
    number, label = what.split()
    commit = commits[int(number) - 1]
    path, *others = (part.strip() for part in path.removeprefix("?").split(";"))
    new_path, _, new_place = (part.strip() for part in new.partition(" | "))
    return Case(
        repository=name,
        text=text,
        path=path,
        symbol=symbol or None,
        lines=_lines(commit.tree, path, place),
        commit=hashes[commit.number - 1],
        implicit=told.split(" | ")[1].strip().startswith("?"),
        label=LABELS[LABELS.index(label)],
        new_path=new_path or None,
        new_lines=_lines(commits[-1].tree, new_path, new_place),
        others=tuple(others),
    )


def _lines(tree: Tree, path: str, place: str) -> tuple[int, int] | None:
    """The lines of `a text` (the first that has it), `first .. last`, or `head {}`: a block."""
    if not place:
        return None
    lines = _read(tree, path).decode().splitlines()
    head, _, end = (part.strip() for part in place.removesuffix("{}").partition(" .. "))
    first = next(at for at, line in enumerate(lines) if head in line)
    last = first
    if end:
        last = next(at for at, line in enumerate(lines) if at >= first and end in line)
    elif place.endswith("{}"):
        last = _end_of_block(lines, first)
    return first + 1, last + 1


def _read(tree: Tree, path: str) -> bytes:
    """What stands at a path, through one link to a folder or file beside the link."""
    for link, target in tree.items():
        if target.startswith(LINK.encode()) and (path == link or path.startswith(link + "/")):
            beside = Path(link).parent / target.decode().removeprefix(LINK)
            path = beside.as_posix() + path[len(link) :]
    return tree[path]


def _end_of_block(lines: Sequence[str], first: int) -> int:
    """The last line of what starts at a line: what is further in, and its closing bracket."""
    depth, last = _depth(lines[first]), first
    for at in range(first + 1, len(lines)):
        line = lines[at]
        if not line.strip():
            continue
        if _depth(line) < depth or (_depth(line) == depth and line.strip()[0] not in "})]{"):
            break
        last = at
        if _depth(line) == depth and line.strip()[0] == "}":
            break
    return last


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
