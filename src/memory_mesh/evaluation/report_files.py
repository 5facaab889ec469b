"""A report as files: JSON, Markdown, JUnit, failed questions and, if it can be drawn, a chart."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from memory_mesh.evaluation import charts, confidence_intervals
from memory_mesh.evaluation.report import EvaluationReport, Expected, FailedQuestion
from memory_mesh.model import Json, MissingExtra

_SECONDS = len("2026-01-01T00:00:00")  # the form knows no zone
_QUESTIONS = 50  # that a failure names

_ELSEWHERE = {"threshold", "tokens", "with_stale"}
_SHOWN_LAST = ("latency_ms", "tokens")
_SHOWN_FAILURES = 20  # of a page; the JSON lines have all
_SHOWN_CHARS = 160  # of a text in a page
_MARKUP = str.maketrans({char: f"\\{char}" for char in "\\`*_[]<>|#~&"})


def write(
    report: EvaluationReport, folder: Path, bounds: Mapping[str, float], split: str
) -> list[str]:
    """Every file; what could not be written, as lines for a person."""
    folder.mkdir(parents=True, exist_ok=True)
    base = folder / report.suite
    text = json.dumps(report.values, indent=2, ensure_ascii=False) + "\n"
    base.with_suffix(".json").write_text(text, encoding="utf-8")
    write_junit(report, base.with_suffix(".junit.xml"), bounds, split)
    _write_failures(report.failures, base.with_suffix(".failures.jsonl"))
    try:
        charts.draw(report, [base.with_suffix(".svg"), base.with_suffix(".png")])
        lacking = []
    except MissingExtra as error:
        lacking = [str(error)]
    chart = f"{report.suite}.svg" if not lacking else None
    if not confidence_intervals.possible():
        lacking.append(str(MissingExtra.of("eval", "a 95 % interval")))
    base.with_suffix(".md").write_text(markdown(report, chart), encoding="utf-8")
    return lacking


def markdown(report: EvaluationReport, chart: str | None = None) -> str:
    """The report as a page."""
    image = [f"![{report.counts}]({chart})", ""] if chart else []
    return "\n".join(
        [*_head(report), *image, *_failed(report), *_tables(report), *_differences(report)]
    )


def expected_line(each: Expected) -> str:
    """One line: an expected memory, and where it came."""
    rank = "not among the hits" if each.rank is None else f"rank {each.rank}"
    return f"{brief(each.text or each.id)} ({rank})"


def brief(text: str) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARS else f"{line[:_SHOWN_CHARS]} …"


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A Markdown table; the first row is its head."""
    head, *rest = rows
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    yield from (f"| {' | '.join(row)} |" for row in rest)


def shown(value: Json) -> str:
    """A figure for a table."""
    if value is None:
        return "-"
    if isinstance(value, bool | int):
        return str(value)
    if isinstance(value, str):
        return " ".join(value.split()).replace("|", "\\|")
    if isinstance(value, float):
        return f"{value:.4g}" if value > 1 else f"{value:.3f}"
    if isinstance(value, Mapping):
        return " / ".join(shown(each) for each in value.values())
    return f"[{', '.join(shown(each) for each in value)}]"


def _head(report: EvaluationReport) -> Iterator[str]:
    values = report.values
    commit = str(values.get("commit") or values.get("version"))[:12]
    dirty = ", changed since" if values.get("dirty") else ""
    yield f"# {report.suite}"
    yield ""
    yield f"`{values['command']}`"
    yield ""
    yield (
        f"{values['date']}, {commit}{dirty}, seed {values['seed']}; unit: {values['unit']}; "
        f"embedder: {values.get('embedder') or 'none'}; **{report.counts}** counts."
    )
    if values.get("sample"):
        yield f"A sample of {values['sample']} questions."
    yield ""


def _write_failures(failures: Sequence[FailedQuestion], file: Path) -> None:
    """Every failed question, one JSON object per line; no file where none failed."""
    if not failures:
        file.unlink(missing_ok=True)  # of an earlier run
        return
    lines = (json.dumps(each.as_json(), ensure_ascii=False) + "\n" for each in failures)
    file.write_text("".join(lines), encoding="utf-8")


def _failed(report: EvaluationReport) -> Iterator[str]:
    if not report.failures:
        return
    asked = report.systems[next(iter(report.systems))][report.last_split].get("n")
    yield "## Questions that failed"
    yield ""
    yield f"{len(report.failures)} of {asked}, by {report.counts} of {next(iter(report.systems))}."
    if len(report.failures) > _SHOWN_FAILURES:
        yield f"The first {_SHOWN_FAILURES} are here, all in `{report.suite}.failures.jsonl`."
    yield ""
    for each in report.failures[:_SHOWN_FAILURES]:
        yield f"- **{_plain(brief(each.question))}** ({_plain(each.id)})"
        yield from (f"  - expected: {_plain(expected_line(want))}" for want in each.expected)
        if not each.expected:
            yield "  - expected: nothing"
        if each.first is not None:
            id_, text, score = each.first
            yield f"  - first: {_plain(brief(text or id_))} (score {score:.2f})"
        else:
            yield "  - first: nothing was found"
        yield f"  - why: {_plain(each.why)}"
    yield ""


def _plain(text: str) -> str:
    """A text of others without the markup in it."""
    return text.translate(_MARKUP)


def _tables(report: EvaluationReport) -> Iterator[str]:
    for split in dict.fromkeys(split for each in report.systems.values() for split in each):
        found = {name: each[split] for name, each in report.systems.items() if split in each}
        columns = _columns(found.values())
        yield f"## {split}"
        yield ""
        head = ["system", *columns, f"{report.counts}, 95 %", "ms p50 / p95 / p99", "tokens"]
        rows = [
            [shown(name), *_cells(each, columns, report.counts)] for name, each in found.items()
        ]
        yield from table([head, *rows])
        yield ""
        yield from _answered(found)
        for name, each in found.items():
            yield from _categories(name, each)


def _columns(found: Iterable[Mapping[str, Json]]) -> list[str]:
    """The figures that some system has, in the order of the report."""
    return list(
        dict.fromkeys(
            name
            for each in found
            for name, value in each.items()
            if isinstance(value, int | float) and name not in _ELSEWHERE
        )
    )


def _cells(figures: Mapping[str, Json], columns: Sequence[str], counts: str) -> list[str]:
    intervals = figures.get("intervals")
    own = intervals.get(counts) if isinstance(intervals, Mapping) else None
    sure = shown(own.get("questions")) if isinstance(own, Mapping) else "-"
    return [
        *(shown(figures.get(column)) for column in columns),
        sure,
        *(shown(figures.get(column)) for column in _SHOWN_LAST),
    ]


def _answered(found: Mapping[str, Mapping[str, Json]]) -> Iterator[str]:
    """Precision and silence: only where some question has no answer."""
    if not any(each.get("goldless") for each in found.values()):
        return
    rows = [["system", "answers", "precision", "recall", "silent where nothing answers"]]
    for name, each in found.items():
        for where in ("at_default", "at_min_relevance"):
            got = each.get(where)
            if isinstance(got, Mapping):
                parts = (got.get(part) for part in ("precision", "recall", "silent"))
                rows.append([shown(name), where.replace("_", " "), *map(shown, parts)])
    yield from table(rows)
    yield ""


def _categories(system: str, figures: Mapping[str, Json]) -> Iterator[str]:
    found = figures.get("by_category")
    if not isinstance(found, Mapping) or len(found) <= 1:
        return
    named = {str(name): each for name, each in found.items() if isinstance(each, Mapping)}
    columns = _columns(named.values())
    rows = [
        [shown(category) or "-", *(shown(each.get(column)) for column in columns)]
        for category, each in named.items()
    ]
    yield from table([[f"{shown(system)}: category", *columns], *rows])
    yield ""


def _differences(report: EvaluationReport) -> Iterator[str]:
    if not report.paired:
        return
    yield "## Differences"
    yield ""
    yield "Paired, with 95 % of 10,000 resamples of the questions, and of whole conversations."
    yield ""
    yield from difference_table(report.paired)
    yield ""


def difference_table(paired: Sequence[Mapping[str, Json]]) -> Iterator[str]:
    """Differences as a table."""
    columns = ("split", "metric", "system", "against", "difference", "questions", "conversations")
    rows = [[_signed(name, each.get(name)) for name in columns] for each in paired]
    yield from table([columns, *rows])


def _signed(name: str, value: Json) -> str:
    if name == "difference" and isinstance(value, int | float):
        return f"{value:+.3f}"
    return shown(value)


# Writes the bounds as JUnit test cases for CI servers.


def write_junit(
    report: EvaluationReport, file: Path, bounds: Mapping[str, float], split: str
) -> None:
    """Returns one test case per bound of the first system; it fails if the figure is below."""
    from xml.etree import ElementTree as ET  # only written here, never read

    system = next(iter(report.systems))
    missed = {miss.metric: str(miss) for miss in report.misses(bounds, split)}
    suite = ET.Element(
        "testsuite",
        name=f"memory-mesh eval {report.suite}",
        tests=str(len(bounds)),
        failures=str(len(missed)),
        errors="0",
        skipped="0",
        time="0",
        timestamp=str(report.values["date"])[:_SECONDS],
    )
    for metric, bound in bounds.items():
        case = ET.SubElement(
            suite,
            "testcase",
            classname=f"{report.suite}.{system}.{split}",
            name=f"{metric} >= {bound:g}",
            time="0",
        )
        if metric in missed:
            failure = ET.SubElement(case, "failure", type="below", message=missed[metric])
            failure.text = "\n".join([missed[metric], *_junit_failure(report)])
    whole = ET.Element("testsuites")
    whole.append(suite)
    ET.indent(whole)
    ET.ElementTree(whole).write(file, encoding="utf-8", xml_declaration=True)


def _junit_failure(report: EvaluationReport) -> Iterator[str]:
    """The questions that failed, one line each, without what XML cannot hold."""
    for each in report.failures[:_QUESTIONS]:
        line = f"{each.id}: {each.question} {each.why}"
        yield "".join(char if char.isprintable() else " " for char in line)
    if len(report.failures) > _QUESTIONS:
        yield f"and {len(report.failures) - _QUESTIONS} more"
