"""What becomes of cited code, in repositories of the test's own and on the set of examples."""

import subprocess
import time
from pathlib import Path

import pytest

from bench.evidence_repositories import make
from memory_mesh.evidence.citations import Citation, CodeState, citation_of, kept_in, worst
from memory_mesh.evidence.definitions import definitions
from memory_mesh.evidence.mentions import mentioned
from memory_mesh.evidence.work_tree import WorkTree, check, checked, cite
from memory_mesh.model import InvalidInput

QUEUE = """\
LIMIT = 100


class Queue:
    def push(self, job):
        if len(self.jobs) >= LIMIT:
            raise Full(self.name, job)
        self.jobs.append(job)
        self.changed.notify()

    def pop(self):
        with self.changed:
            return self.jobs.popleft()
"""


def git(root: Path, *words: str) -> None:
    own = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *own, *words], cwd=root, check=True, capture_output=True, timeout=60)


def committed(root: Path) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-qm", "a change")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/queue.py").write_text(QUEUE)
    (tmp_path / "src/other.py").write_text("def other():\n    return 1\n")
    git(tmp_path, "init", "-q", "-b", "main")
    committed(tmp_path)
    return tmp_path


def cited(root: Path, *places: str) -> list[Citation]:
    return [citation_of(one) for one in cite(str(root), list(places))]


def verdicts(root: Path, citations: list[Citation]) -> list[str]:
    return [one.verdict.value for one in check(WorkTree(root), citations)]


PUSH, POP, LINES = "src/queue.py#Queue.push", "src/queue.py#pop", "src/queue.py:6-7"


@pytest.mark.parametrize(
    ("old", "new", "becomes"),
    [
        ("", "", ["fresh", "fresh", "fresh"]),
        ("LIMIT = 100", "import this\n\nLIMIT = 100", ["fresh", "fresh", "fresh"]),
        (
            "            raise Full(self.name, job)",
            "            raise Full(\n                self.name, job,\n            )",
            ["fresh", "fresh", "fresh"],
        ),
        (">= LIMIT", "> LIMIT", ["drifted", "fresh", "drifted"]),
        ("def push", "def put", ["moved", "fresh", "fresh"]),
        ("class Queue", "class Jobs", ["moved", "moved", "fresh"]),
        (QUEUE[QUEUE.index("    def pop") :], "", ["fresh", "orphaned", "fresh"]),
        (
            "        if len(self.jobs) >= LIMIT:\n            raise Full(self.name, job)\n",
            "",
            ["drifted", "fresh", "orphaned"],
        ),
    ],
    ids=["unchanged", "shifted", "reformatted", "edited", "renamed", "class", "deleted", "cut"],
)
def test_an_edit_of_the_file_gives_each_citation_its_verdict(root, old, new, becomes):
    kept = cited(root, PUSH, POP, LINES)
    path = root / "src/queue.py"
    path.write_text(path.read_text().replace(old, new) if old else path.read_text())
    assert verdicts(root, kept) == becomes


def test_a_renamed_file_is_followed_and_a_deleted_one_is_gone(root):
    kept = cited(root, PUSH, "src/queue.py", "src/other.py")
    git(root, "mv", "src/queue.py", "src/jobs.py")
    git(root, "rm", "-q", "src/other.py")
    committed(root)
    found = check(WorkTree(root), kept)
    assert [one.verdict.value for one in found] == ["moved", "moved", "orphaned"]
    assert str(found[0].now) == "src/jobs.py#Queue.push"
    now = [one.now for one in found[:2] if one.now is not None]
    assert verdicts(root, now) == ["fresh", "fresh"]  # as it would be cited from now on


def test_fresh_citations_ask_git_nothing_and_read_each_file_once(root):
    kept = cited(root, PUSH, POP, LINES, "src/queue.py", "src/other.py#other")
    tree = WorkTree(root)
    assert {one.verdict for one in check(tree, kept)} == {CodeState.FRESH}
    assert tree._asked == {}
    assert set(tree._files) == {"src/queue.py", "src/other.py"}


def test_what_git_cannot_tell_has_changed_and_is_never_gone(root, monkeypatch, tmp_path):
    kept = cited(root, PUSH)
    (root / "src/queue.py").unlink()
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert verdicts(root, kept) == ["drifted"]


def test_nothing_outside_of_the_repository_is_read(root, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "secret.py"
    outside.write_text("KEY = 1\n")
    (root / "link.py").symlink_to(outside)
    for place in (str(outside), "../secret.py", "link.py"):
        assert cited(root, place)[0].hash is None


def test_the_commit_that_changed_something_is_found(root):
    kept = cited(root, PUSH)
    for number in range(5):
        path = root / "src/queue.py"
        path.write_text(f"# {number}\n{path.read_text()}")
        if number == 2:
            path.write_text(path.read_text().replace(">= LIMIT", "> LIMIT"))
            committed(root)
            changed = subprocess.run(
                ["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=True
            ).stdout
        else:
            committed(root)
    assert changed.startswith(WorkTree(root).changed_by(kept[0]) or "-")


@pytest.mark.parametrize(
    ("text", "path", "symbol", "lines"),
    [
        ("src/a.py", "src/a.py", None, None),
        ("src/a.py:7", "src/a.py", None, (7, 7)),
        ("src/a.py:10-20", "src/a.py", None, (10, 20)),
        ("src/a.py#L10-L20", "src/a.py", None, (10, 20)),
        ("src/a.py#Queue.push", "src/a.py", "Queue.push", None),
        ("docs/user guide.md#Sign in", "docs/user guide.md", "Sign in", None),
    ],
)
def test_a_place_is_written_as_people_write_it(text, path, symbol, lines):
    one = citation_of(text)
    assert (one.path, one.symbol, one.lines) == (path, symbol, lines)
    assert citation_of(one.as_json()) == one


@pytest.mark.parametrize(
    "value", ["", ":3", 7, {"path": "a", "size": 1}, {"path": "a", "lines": "b"}]
)
def test_what_is_no_place_is_refused(value):
    with pytest.raises(InvalidInput):
        citation_of(value)


def test_a_key_of_somebody_else_is_no_evidence():
    assert kept_in({"evidence": 7}) == []
    assert kept_in({"evidence": [{"photo": "a.png"}]}) == []
    assert checked(WorkTree("/"), {"evidence": "seen by Ada"}) is not None  # a path, unchecked


@pytest.mark.parametrize(
    ("found", "whole"),
    [
        (["fresh", "fresh"], "fresh"),
        (["fresh", "moved"], "moved"),
        (["fresh", "orphaned"], "drifted"),
        (["orphaned", "orphaned"], "orphaned"),
        (["moved", "drifted"], "drifted"),
        (["unchecked"], "unchecked"),
        (["unchecked", "fresh"], "fresh"),
    ],
)
def test_the_verdict_on_several_places(found, whole):
    assert worst([CodeState(one) for one in found]).value == whole


@pytest.mark.parametrize(
    ("suffix", "text", "names"),
    [
        (".go", "func (r *Ring) Push(x int) {\n\treturn x\n}\n", ["Ring.Push"]),
        (
            ".rs",
            "impl Log {\n    pub fn len(&self) -> u64 {\n        0\n    }\n}\n",
            ["Log", "Log.len"],
        ),
        (".c", "static int show(char *a)\n{\n    return 0;\n}\n", ["show"]),
        (".sh", "backup() {\n    mv a b\n}\n", ["backup"]),
        (".rb", "def final?\n  true\nend\n", ["final?"]),
        (".md", "# A\n\n## B c\ntext\n", ["A", "B c"]),
        (".toml", "[tool.x]\nline = 1\n", ["tool.x", "tool.x.line"]),
        (
            ".yaml",
            "services:\n  web:\n    image: a\n",
            ["services", "services.web", "services.web.image"],
        ),
        (".py", "if ready(x):\n    go(x)\nreturn_value(x)\n", []),
    ],
    ids=lambda value: value if isinstance(value, str) and value.startswith(".") else "",
)
def test_definitions_of_many_languages_are_found(suffix, text, names):
    assert [one.name for one in definitions(text.splitlines(), suffix)] == names


def test_a_text_names_files_and_symbols(root):
    found = mentioned(
        WorkTree(root), "Queue.push raises Full, see queue.py; and/or https://a.b/src/other.py"
    )
    assert [str(one) for one in found] == ["src/queue.py#Queue.push"]
    assert mentioned(WorkTree(root), "Ada prefers short messages.") == []


@pytest.mark.slow
def test_the_set_of_repositories_is_judged_right(tmp_path):
    """The half that the rules were written with; `python -m bench.evidence` has both."""
    right = fresh = stale = 0
    cases = [case for case in make(tmp_path, "dev") if not case.implicit]
    for case in cases:
        root = tmp_path / case.repository
        git(root, "checkout", "-q", case.commit)
        given = [{"path": case.path, "symbol": case.symbol, "lines": case.lines}]
        kept = cite(str(root), [*given, *({"path": path} for path in case.others)])
        git(root, "checkout", "-q", "main")
        found = worst([one.verdict for one in check(WorkTree(root), list(map(citation_of, kept)))])
        verdict = "fresh" if found is CodeState.UNCHECKED else found.value
        right += verdict == case.label
        fresh += case.label == "fresh"
        stale += case.label == "fresh" and verdict != "fresh"
    assert right >= 0.97 * len(cases)
    assert stale <= 0.01 * fresh


def test_a_check_costs_little_beside_reading_the_files(root):
    """200 citations against reading and splitting 200 files, in turns: no wall time is judged."""
    kept = cited(root, PUSH, POP, LINES, "src/other.py#other") * 50
    ours = theirs = 0.0
    for _ in range(5):
        begin = time.process_time()
        check(WorkTree(root), kept)
        ours += time.process_time() - begin
        begin = time.process_time()
        for _ in kept:
            (root / "src/queue.py").read_text().split()
        theirs += time.process_time() - begin
    assert ours < 10 * theirs
