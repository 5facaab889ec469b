"""Writes the bounds as JUnit test cases for CI servers."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from memory_mesh.evaluation.report import Report

_SECONDS = len("2026-01-01T00:00:00")  # the form knows no zone
_QUESTIONS = 50  # that a failure names


def write(report: Report, file: Path, bounds: Mapping[str, float], split: str) -> None:
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
            failure.text = "\n".join([missed[metric], *_failed(report)])
    whole = ET.Element("testsuites")
    whole.append(suite)
    ET.indent(whole)
    ET.ElementTree(whole).write(file, encoding="utf-8", xml_declaration=True)


def _failed(report: Report) -> Iterator[str]:
    """The questions that failed, one line each, without what XML cannot hold."""
    for each in report.failures[:_QUESTIONS]:
        line = f"{each.id}: {each.question} {each.why}"
        yield "".join(char if char.isprintable() else " " for char in line)
    if len(report.failures) > _QUESTIONS:
        yield f"and {len(report.failures) - _QUESTIONS} more"
