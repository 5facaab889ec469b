"""Decides which failed tool calls of a session may teach something, and reads the fix that follows.

A search that finds nothing, a file that is not there, a stop by the user, a failing test or linter
in the middle of the work, and a slip of the agent's own editing teach nothing. A fix is read from
the assistant's words only where they say that it works now.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.base.typed import dataclass
from memory_mesh.learn.rules.failure_signature import signature
from memory_mesh.learn.rules.rules import read_rule
from memory_mesh.learn.rules.statement_phrases import doubts
from memory_mesh.text import analyzer
from memory_mesh.text.sentences import asks, sentences

MAX_MESSAGE_CHARS = 20_000  # of an answer or an error that are read: the end tells how it ended
_MAX_LINES, _MAX_LINE_CHARS = 5, 300
_MAX_COMMAND_CHARS = 160
_MAX_FIX_CHARS = 500
_SHARED = 2  # terms that a fix shares with a failure that was not the last one
_SLIPS_WORDS = (
    "Edit Glob Grep LS MultiEdit NotebookEdit NotebookRead Read Task TodoRead TodoWrite WebFetch "
    "WebSearch Write"
)
_SLIPS = frozenset(_SLIPS_WORDS.split())  # slips of the agent, or the weather of the network


@dataclass(frozen=True, slots=True)
class ToolFailure:
    """A failed call: what was tried, what it said, and the name of its pattern."""

    tried: str
    said: str
    pattern: str

    @property
    def text(self) -> str:
        """The failure as a memory tells it."""
        return f"`{self.tried}` failed: {self.said}" if self.tried else f"It failed: {self.said}"


def read_failure(tool: str, tool_input: Mapping[str, object], error: str) -> ToolFailure | None:
    """Returns a failure that may teach something, or None."""
    tried = _tried(tool_input)
    error = error.strip()[-MAX_MESSAGE_CHARS:]
    if tool in _SLIPS and not _guarded().search(error):
        return None
    if _stopped().search(error) or _looks_around().match(tried):
        return None
    lines = [line.strip() for line in error.splitlines()]
    told = [line for line in lines if line and not _exit_codes().fullmatch(line)]
    if not told:
        return None
    if (
        _checkers().search(tried)
        and _findings().search(error)
        and not _surroundings().search(error)
    ):
        return None
    said = _telling(told)
    shown = " ".join(tried.split())[:_MAX_COMMAND_CHARS].replace("`", "'")
    return ToolFailure(shown, said, signature(said))


def told_fix(message: str) -> str:
    """Returns the sentences of an answer that tell a fix which worked, or an empty text."""
    told = sentences(message[-MAX_MESSAGE_CHARS:])
    if any(_unsolved().search(one) for one in told):
        return ""
    at = [place for place, one in enumerate(told) if _is_fix(one)]
    if not at:
        return ""
    kept = []
    for place in at:
        before = told[place - 1] if place else ""
        if before and before not in kept and not doubts().search(before) and not asks(before):
            kept.append(before)
        if told[place] not in kept:
            kept.append(told[place])
    return " ".join(kept)[:_MAX_FIX_CHARS]


def taught_nothing(message: str) -> bool:
    """True if it is said that the failure was intended, a slip, or gone at the next try."""
    told = message[-MAX_MESSAGE_CHARS:]
    return bool(_slips().search(told) or (_intended().search(told) and not told_fix(message)))


def denies(prompt: Sequence[str]) -> bool:
    """True if the sentences of a prompt say that what the assistant found was not it."""
    return any(_denials().search(one) for one in prompt)


def fits(fix: str, failure: str) -> bool:
    """True if a fix speaks of a failure: they share words that are not of every failure."""
    common = set(analyzer.terms(fix)) & set(analyzer.terms(failure))
    return len(common - set(analyzer.terms("error failed fail build run test works"))) >= _SHARED


def lesson_of(failure: ToolFailure, fix: str, project: str | None) -> dict[str, object]:
    """Returns the context of the lesson that a failure and its fix teach."""
    read = read_rule(f"{failure.said}\n{fix}", failed=True)
    program = " ".join(failure.tried.split()[:2]) or "any task"
    first = failure.said.split("\n", 1)[0]
    return {
        "situation": failure.text,
        "error_pattern": failure.pattern or first,
        "oversight": first,
        "fix": fix,
        "preventative_rule": fix if read is None else read.text,
        "severity": "medium",
        "applicable_scope": f"{program} in {project}" if project else program,
        "confidence": 0.7,
    }


def _is_fix(sentence: str) -> bool:
    return not asks(sentence) and not doubts().search(sentence) and bool(_works().search(sentence))


def _tried(tool_input: Mapping[str, object]) -> str:
    for name in ("command", "cmd", "script", "query", "url", "file_path", "path", "prompt"):
        value = tool_input.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return ""


def _telling(lines: Sequence[str]) -> str:
    """The first line and those that say what went wrong, else the last."""
    found = [line for line in lines[1:] if _errors().search(line)] or lines[1:][-1:]
    kept = list(dict.fromkeys(line[:_MAX_LINE_CHARS] for line in (lines[0], *found)))
    return "\n".join(kept[:_MAX_LINES])


_exit_codes = lazy_pattern(
    r"(?:command |process )?exit(?:ed)?(?: with)?(?: code| status)?:? ?\d+\.?", re.IGNORECASE
)


# Pattern of a call that the user or the host did not let happen.
_stopped = lazy_pattern(
    r"interrupted by user|request interrupted|user (?:doesn't|does not) want|user rejected|"
    r"rejected by (?:the )?user|user (?:denied|declined|cancell?ed)|cancell?ed by|aborted by|"
    r"permission to use|requires approval|has been denied|not been granted|"
    r"operation was aborted|tool use was rejected|^\^C$|KeyboardInterrupt|SIGINT",
    re.IGNORECASE | re.MULTILINE,
)


# Pattern of commands that only look for something.
_looks_around = lazy_pattern(
    r"(?:cd [^&;|]{1,200}&&\s*)?(?:sudo )?(?:ls|cat|head|tail|grep|egrep|fgrep|rg|ag|ack|find|"
    r"fd|which|type|command -v|whereis|stat|file|wc|tree|diff|cmp|test|\[|pgrep|lsof|ping|dig|"
    r"sed -n|awk|less|echo|pwd|git (?:diff|log|show|status|grep|blame|ls-files|rev-parse|"
    r"branch|merge-base))\b"
)


# Pattern of commands that fail in the course of the work: tests, linters, type checkers.
_checkers = lazy_pattern(
    r"\b(?:pytest|tox|nox|unittest|jest|vitest|mocha|ava|playwright test|cypress|rspec|phpunit|"
    r"ctest|(?:go|cargo|npm|pnpm|yarn|bun|deno|mix|dotnet|swift|gradle|gradlew|mvn|make|just|"
    r"rake|npm run|pnpm run|yarn run|bazel) (?:test|check|lint|typecheck)\S*|eslint|ruff|"
    r"flake8|pylint|mypy|pyright|prettier|black|isort|clippy|golangci-lint|tsc|rubocop|"
    r"shellcheck|stylelint)\b"
)


# Pattern of what tests, linters and type checkers are there to find.
_findings = lazy_pattern(
    r"AssertionError|\bassert\b|expected|received|\d+ (?:failed|failing|errors?|problems?|"
    r"tests?)\b|(?-i:\bFAIL(?:ED|URES?)?\b)|error TS\d|\b[A-Z]{1,3}\d{3,4}\b|"
    r"would be reformatted|incompatible type|mismatched types|unused|no-\w+-|warning:|"
    r"not assignable",
    re.IGNORECASE,
)


# Pattern of files that may not be written.
_guarded = lazy_pattern(
    r"read-only|permission denied|EACCES|EROFS|EPERM|protected|immutable", re.IGNORECASE
)


# Pattern of errors of the surroundings, which a checker did not look for.
_surroundings = lazy_pattern(
    r"No module named|failed to run|SyntaxError|Cannot use import|configuration|"
    r"cannot find module|not found|no such file|ENOENT|EACCES|ECONN\w+|EADDR\w+|"
    r"connection refused|could not connect|permission denied|out of memory|heap|killed|"
    r"no space left|too many open|is not installed|missing|unsupported|version|environment|"
    r"locked|docker|daemon|timed? ?out|certificate|credentials|network|resolve host|"
    r"executable|shared librar|GLIBC|segmentation|unrecognized (?:arguments|option)",
    re.IGNORECASE,
)


_errors = lazy_pattern(
    r"error|fail|exception|fatal|panic|denied|refused|unable|cannot|can't|could not|not found|"
    r"no such|missing|unsupported|invalid|unknown|unexpected|killed|timed? ?out|not allowed|"
    r"undefined|already|exceeded|rejected|conflict|locked|required",
    re.IGNORECASE,
)


@cache
def _works() -> re.Pattern[str]:
    """Pattern of the words that say that something works now, or what made it work."""
    done = (
        r"(?:works?|worked|pass(?:es|ed)?|succeed(?:s|ed)?|builds|built|starts|started|runs|ran|"
        r"compiles|compiled|installs|installed fine|deploys|connects|loads|finishe[sd]|completes|"
        r"completed|green|go(?:es)? through|went through|boots|responds)"
    )
    return re.compile(
        rf"\b(?:now|again|then|finally|it|that|this|build|tests?|suite|install\w*|command|plan|job|"
        rf"migration|everything|all|server|app|and) (?:\w+ ){{0,3}}?{done}\b|\b{done} (?:now|again|"
        rf"fine|cleanly|after|once|with|when|without)\b|\b(?:with|after|by|once|"
        rf"since) .{{3,160}}? {done}\b|"
        r"\b(?:fixed|solved|resolved|cured)\b(?! (?:yet|later))|\b(?:the )?(?:fix|solution|"
        r"workaround) (?:is|was)\b|\b(?:did the trick|no longer fails?|went away|is gone)\b|"
        r"\b(?:l\u00e4uft|funktioniert|geht) (?:jetzt|wieder|nun)\b|\bahora funciona\b|"
        r"\b(?:fonctionne|marche) maintenant\b",
        re.IGNORECASE,
    )


_unsolved = lazy_pattern(
    r"\b(?:still (?:fails?|failing|broken|not|the same|times? out|crashes|hangs)|(?:could|can|"
    r"was|were|am|did|does|do|is)(?: not|n't) (?:able|find|fix|get|build|resolve|work|solve|"
    r"make|reproduce|help|start|figure|run|connect|install)|cannot|unable to|no luck|gave up|"
    r"give up|not (?:yet )?(?:fixed|solved|resolved|working)|fails? again|same error)\b",
    re.IGNORECASE,
)


_intended = lazy_pattern(
    r"\b(?:as (?:expected|intended|planned|desired|it should|wanted|requested|you (?:asked|"
    r"wanted))|expected (?:failure|to fail|error)|(?:fails?|failed|red|failing|rejected|"
    r"refused|blocked|denied),? (?:as|like) (?:it should|expected|intended|wanted)|"
    r"confirms? (?:the bug|that it fails|the (?:guard|check|rule|validation))|"
    r"reproduces? (?:the|it)|reproduced|intentional(?:ly)?|on purpose|(?:correctly|properly|"
    r"rightly) (?:fails?|failed|rejects?|rejected|refuses?|refused|blocks?|blocked|exits)|"
    r"(?:guard|check|hook|validation|protection|rule|gate|assertion) (?:works|catches|fires|"
    r"holds|kicks in)|(?:yes|confirmed|verified|correct)[,:.] .{0,80}(?:fails?|refuse[sd]?|"
    r"reject\w*|exits|blocked|denied)|wie erwartet|como se esperaba|comme pr\u00e9vu)\b",
    re.IGNORECASE,
)


_slips = lazy_pattern(
    r"\b(?:(?:re-?tried|re-?ran|tried again|ran it again|(?:second|next) (?:try|attempt|"
    r"run))\b[^.]{0,40}(?:works?|worked|pass\w*|succeeded|fine|through)|(?:works?|worked|"
    r"passed|succeeded) (?:on|at) (?:the )?(?:second|next|retry|another) ?(?:try|attempt|"
    r"run)?|(?:i|had) mistyped|(?:a|my) typo in (?:the|my) (?:command|path)|i (?:was|"
    r"ran it) in the wrong (?:directory|folder)|i used the wrong path)\b",
    re.IGNORECASE,
)


_denials = lazy_pattern(
    r"^(?:no+|nope|nah|nein|non)\b(?!\s+(?:problem|worries|need))|\b(?:is|was|wasn'?t|"
    r"isn'?t) (?:not )?it\b$|\b(?:still (?:fails?|failing|broken|the same|not|red|flaky)|"
    r"(?:that |it )?(?:didn'?t|did not|doesn'?t|does not) (?:help|work|fix)|not the (?:cause|"
    r"reason|problem|fix)|that'?s (?:wrong|not)|you'?re wrong|same error|fails? again|"
    r"revert (?:that|it|all)|undo (?:that|it))\b",
    re.IGNORECASE,
)
