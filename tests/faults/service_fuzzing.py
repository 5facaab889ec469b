"""Schemathesis against the service: each route with what its description allows, and what not.

It has an environment of its own, which the first run makes in `.ci/tools/schemathesis`.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.faults.report import Progress, Report, silent
from tests.faults.service_crossing import UNLIMITED
from tests.surface.serving import served

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / ".ci/tools/schemathesis"
VERSION = "4.32.5"
_LINES = """import schemathesis

@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")
"""  # how it sends a body of /v1/import
_ENDS_KEYS = "access_keys/(revoke|rotate)$"
_CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
)


def fuzzed(
    folder: Path, *, examples: int, least: int, seed: int, progress: Progress = silent
) -> Report:
    """What each route answers: no server error, and nothing that is not described."""
    report = Report({"cases": 0, "routes": 0, "fewest of a route": 0, "undocumented answers": 0})
    cases, statuses = Counter[str](), Counter[str]()
    # It learns the id of its own key from a list, and would end it: what ends keys runs alone.
    for part, choice in (("most", "--exclude-path-regex"), ("ending", "--include-path-regex")):
        for event in _run(folder / part, examples, seed, (choice, _ENDS_KEYS)):
            if event["status"] == "error":
                report.failures.append(f"{event['recorder']['label']} could not be asked")
            _count(report, event["recorder"], cases, statuses)
    routes = {label: count for label, count in cases.items() if " /v1/" in label}
    report.figures |= {"cases": cases.total(), "routes": len(routes)}
    report.figures["fewest of a route"] = fewest = min(routes.values(), default=0)
    report.figures["statuses"] = dict(sorted(statuses.items()))
    if statuses["401"] > 2 * len(routes):  # one of each has no key, on purpose
        report.failures.append(f"{statuses['401']} cases had no valid key: little was asked")
    if fewest < least:
        report.failures.append(f"a route had {fewest} cases of at least {least}")
    progress(f"{cases.total()} cases")
    return report


def _run(folder: Path, examples: int, seed: int, choice: Sequence[str]) -> list[dict[str, Any]]:
    """What became of each of the chosen routes."""
    events = folder / "events.ndjson"
    folder.mkdir(parents=True)
    with served(folder / "store", UNLIMITED, embedder="none") as service:
        service.behind.add("The office is in Oslo")
        command = [
            *(str(_program()), "run", f"{service.url}/openapi.json", "--no-color"),
            *("--no-shrink", *choice),
            *("--header", f"Authorization: Bearer {service.key}", "--seed", str(seed)),
            *("--phases", "coverage,fuzzing", "--max-examples", str(examples)),
            *("--checks", ",".join(_CHECKS), "--continue-on-failure"),
            *("--suppress-health-check", "all", "--request-timeout", "60"),
            *("--report", "ndjson", "--report-ndjson-path", str(events)),
        ]
        (folder / "lines.py").write_text(_LINES, encoding="utf-8")
        stated = os.environ | {"SCHEMATHESIS_HOOKS": "lines", "PYTHONPATH": str(folder)}
        done = subprocess.run(
            command, cwd=folder, env=stated, capture_output=True, text=True, check=False
        )
    if not events.exists():
        raise AssertionError(done.stdout + done.stderr)
    with events.open(encoding="utf-8") as lines:
        found = [json.loads(line).get("ScenarioFinished") for line in lines]
    return [event for event in found if event is not None]


def _count(
    report: Report, recorder: dict[str, Any], cases: Counter[str], statuses: Counter[str]
) -> None:
    cases[recorder["label"]] += len(recorder.get("cases", ()))
    for each in recorder.get("interactions", {}).values():
        statuses[str((each.get("response") or {}).get("status_code", "none"))] += 1
    for id_, checks in recorder.get("checks", {}).items():
        for check in checks:
            if check["status"] != "success":
                said = json.dumps([check, recorder["cases"][id_]["value"]])
                report.broken("undocumented answers", f"{recorder['label']}: {said[:1400]}")


def _program() -> Path:
    program = PLACE / "bin/schemathesis"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", PLACE], check=True)
        wanted = f"schemathesis=={VERSION}"
        subprocess.run([PLACE / "bin/pip", "install", "--quiet", wanted], check=True)
    return program
