"""`memory-mesh eval`."""

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from shutil import get_terminal_size

from memory_mesh.base.typed import TYPE_CHECKING
from memory_mesh.cli import output
from memory_mesh.cli.command_table import Command, UsageError, argument
from memory_mesh.cli.found import wrapped
from memory_mesh.formats.terminal import safe_text

if TYPE_CHECKING:
    from memory_mesh.evaluation import EvaluationReport

_WIDTH = 30  # columns of the bar
_INDENT, _NARROWEST, _LINES = 15, 20, 12  # of a part of a failure on a terminal
_FAILURES = 5  # failed questions that are shown; the report has more
_PATHS = {"data", "baseline", "vectors"}
_ONCE = "This is the split dev, for tuning. Look at test once per release: --split test"


def _run_eval(options: argparse.Namespace) -> int:
    """Runs a suite, compares reports or lists the suites."""
    if options.action == "list":
        return _list(as_json=options.json)
    return _compare(options) if options.action == "compare" else _run(options)


def _run(options: argparse.Namespace) -> int:
    from memory_mesh import evaluation

    if len(options.what) != 1:
        raise UsageError(
            "name one suite: memory-mesh eval run SUITE. List them: memory-mesh eval list"
        )
    suite = evaluation.load(options.what[0])
    bounds = _bounds(options.fail_below)
    folder = Path(options.out) if options.out else evaluation.work_folder(suite, options.work)
    report = evaluation.run(
        suite,
        data=options.data,
        split=options.split,
        systems=[name.strip() for name in options.systems.split(",") if name.strip()],
        added=dict(map(_pair, options.add)),
        baseline=options.baseline,
        work=options.work,
        vectors=options.vectors,
        sample=options.sample,
        seed=evaluation.SEED if options.seed is None else options.seed,
        fresh=options.fresh,
        out=folder,
        fail_below=bounds,
        command=_command(options),
        progress=_progress,
    )
    output.progress("")
    _show(report, folder, as_json=options.json)
    for line in report.lacking:
        output.note(line)
    if options.split is None and report.last_split == "dev":
        output.hint(_ONCE)
    misses = report.misses(bounds)
    for miss in misses:
        output.note(f"[MemoryMesh] Below the bound: {miss}")
    return 1 if misses else 0


def _show(report: "EvaluationReport", folder: Path, *, as_json: bool) -> None:
    if as_json:
        output.say_json({**report.values, "failures": [each.as_json() for each in report.failures]})
        return
    for system, splits in report.systems.items():
        for split in splits:
            found = report.figure(system, split, report.counts)
            shown = "-" if found is None else f"{found:.4f}"
            output.say(f"{system:<12} {split:<6} {report.counts} {shown}")
    _show_failures(report)
    output.say(f"[MemoryMesh] The report is in {folder / report.suite}.md")


def _show_failures(report: "EvaluationReport") -> None:
    from memory_mesh.evaluation.report_files import brief, expected_line

    if not report.failures:
        return
    asked = report.systems[next(iter(report.systems))][report.last_split].get("n")
    output.say(f"[MemoryMesh] {len(report.failures)} of {asked} questions failed.")
    for each in report.failures[:_FAILURES]:
        output.say(f"{each.id:<4} {brief(each.question)}")
        for want in each.expected:
            _say_part("expected", expected_line(want))
        if not each.expected:
            _say_part("expected", "nothing")
        _say_part("first", brief(each.first[1] or each.first[0]) if each.first else "nothing")
        _say_part("why", each.why)
    if len(report.failures) > _FAILURES:
        output.say(f"… and {len(report.failures) - _FAILURES} more; the report lists them.")


def _say_part(name: str, text: str) -> None:
    """Prints one part of a failure; on a terminal in lines of its width."""
    shown = output.unbroken(text)
    columns = max(_NARROWEST, get_terminal_size().columns - _INDENT)
    lines = wrapped(shown, columns, _LINES) if sys.stdout.isatty() else [shown]
    output.say(f"     {name:<8}  {lines[0]}")
    for line in lines[1:]:
        output.say(" " * _INDENT + line)


def _compare(options: argparse.Namespace) -> int:
    from memory_mesh.evaluation.whole_run import compare

    try:
        before, after = (Path(path) for path in options.what)
    except ValueError:
        raise UsageError("name two reports: memory-mesh eval compare A.json B.json") from None
    found = compare(before, after, work=Path(options.work) if options.work else None)
    if options.json:
        output.say_json(found)
        return 0
    for each in found:
        sure = each["questions"]
        interval = f"  [{sure[0]:+.3f}, {sure[1]:+.3f}]" if isinstance(sure, list) else ""
        output.say(
            f"{each['system']:<12} {each['split']:<6} {each['metric']:<20} "
            f"{each['before']:.4f} {each['after']:.4f} {each['difference']:+.4f}{interval}"
        )
    return 0


def _list(*, as_json: bool) -> int:
    from memory_mesh.evaluation import suite

    found = suite.builtin()
    if as_json:
        output.say_json(dict(found))
        return 0
    for line in output.pairs(found):
        print(line)
    return 0


def _command(options: argparse.Namespace) -> str:
    """Returns the command to repeat the run; of each path only the last part."""
    words = ["memory-mesh eval run", Path(options.what[0]).name]
    for name in ("data", "split", "baseline", "sample", "seed", "vectors"):
        value = getattr(options, name)
        if value is not None:
            shown = (Path(value).name or ".") if name in _PATHS else value
            words.append(f"--{name} {shown}")
    if options.systems != "mesh":
        words.append(f"--systems {options.systems}")
    words += [f"--add {name}={Path(file).name}" for name, file in map(_pair, options.add)]
    words += [f"--fail-below {bound}" for bound in options.fail_below]
    return " ".join(words)


def _pair(word: str) -> tuple[str, str]:
    name, sign, value = word.partition("=")
    if not (name and sign and value):
        raise UsageError(f"{word!r} must be NAME=VALUE. See: memory-mesh eval --help")
    return name, value


def _bounds(words: Sequence[str]) -> dict[str, float]:
    """Returns the bound of each figure; the highest if it is given twice."""
    found: dict[str, float] = {}
    for name, value in map(_pair, words):
        found[name] = max(_number(value), found.get(name, -math.inf))
    return found


def _number(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise UsageError(f"--fail-below needs a number, such as R@10=0.75, not {text!r}")
    return found


def _progress(what: str, done: int, of: int) -> None:
    """Prints a progress bar, on a terminal only."""
    filled = _WIDTH * done // max(1, of)
    bar = "█" * filled + "·" * (_WIDTH - filled)
    output.progress(f"{bar} {done}/{of} {safe_text(what, keep_newlines=False)[:40]}")


EVAL = Command(
    """memory-mesh eval run my-suite.yaml --fail-below R@5=0.9 --out report
  memory-mesh eval run locomo --data sets/locomo --fail-below R@10=0.75
  memory-mesh eval compare before/locomo.json after/locomo.json
  memory-mesh eval list""",
    (
        argument(
            "action",
            choices=("run", "compare", "list"),
            help="run a suite, compare two reports, list the suites",
        ),
        argument(
            "what", nargs="*", metavar="SUITE|REPORT", help="run: one suite; compare: two reports"
        ),
        argument(
            "--data",
            metavar="PATH",
            help="the data set: a folder of JSON lines, or LongMemEval's file",
        ),
        argument(
            "--split", metavar="NAME", help="dev, test or all; default: dev if the suite has one"
        ),
        argument(
            "--systems",
            metavar="NAMES",
            default="mesh",
            help="mesh,keyword,rrf or systems of the suite",
        ),
        argument(
            "--add",
            metavar="NAME=FILE",
            action="append",
            default=[],
            help="add the rankings of another system",
        ),
        argument(
            "--baseline", metavar="FILE", help="an earlier report or its results to compare with"
        ),
        argument(
            "--fail-below",
            metavar="FIGURE=VALUE",
            action="append",
            default=[],
            help="exit with 1 if a figure of the first system is below; may be repeated",
        ),
        argument("--sample", metavar="N", type=int, help="ask only this number of questions"),
        argument("--seed", metavar="S", type=int, help="seed of the sample and the resamples"),
        argument("--out", metavar="DIR", help="folder of the report; default: the work folder"),
        argument(
            "--work", metavar="DIR", help="folder for stores and results, reused between runs"
        ),
        argument(
            "--vectors",
            metavar="FILE",
            help="file of computed vectors; default: in the work folder",
        ),
        argument("--fresh", action="store_true", help="ignore earlier results and start again"),
    ),
    _run_eval,
)
