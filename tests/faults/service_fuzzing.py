"""Schemathesis against the service: each route with what its description allows, and what not.

It has an environment of its own, which the first run makes in `.ci/tools/schemathesis`.
"""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tests.faults.report import Progress, Report, silent
from tests.faults.service_crossing import UNLIMITED
from tests.surface.serving import served

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / ".ci/tools/schemathesis"
VERSION = "4.32.5"
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
    events = folder / "events.ndjson"
    folder.mkdir(parents=True, exist_ok=True)
    with served(folder / "store", UNLIMITED, embedder="none") as service:
        service.behind.add("The office is in Oslo")
        command = [
            *(str(_program()), "run", f"{service.url}/openapi.json", "--no-color"),
            "--no-shrink",
            *("--header", f"Authorization: Bearer {service.key}", "--seed", str(seed)),
            *("--phases", "coverage,fuzzing", "--max-examples", str(examples)),
            *("--checks", ",".join(_CHECKS), "--continue-on-failure"),
            *("--suppress-health-check", "all", "--request-timeout", "60"),
            *("--report", "ndjson", "--report-ndjson-path", str(events)),
        ]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if not events.exists():
        raise AssertionError(done.stdout + done.stderr)
    cases, statuses = Counter[str](), Counter[str]()
    with events.open(encoding="utf-8") as lines:
        for line in lines:
            event = json.loads(line).get("ScenarioFinished")
            if event is not None:
                _count(report, event["recorder"], cases, statuses)
    if not cases or (done.returncode and not report.failures):
        report.failures.append((done.stdout + done.stderr)[-1500:])
    routes = {label: count for label, count in cases.items() if label.startswith("POST ")}
    report.figures |= {"cases": cases.total(), "routes": len(routes)}
    report.figures["fewest of a route"] = fewest = min(routes.values(), default=0)
    report.figures["statuses"] = dict(sorted(statuses.items()))
    if fewest < least:
        report.failures.append(f"a route had {fewest} cases of at least {least}")
    progress(f"{cases.total()} cases")
    return report


def _count(
    report: Report, recorder: dict[str, Any], cases: Counter[str], statuses: Counter[str]
) -> None:
    cases[recorder["label"]] += len(recorder["cases"])
    for each in recorder["interactions"].values():
        statuses[str((each.get("response") or {}).get("status_code", "none"))] += 1
    for id_, checks in recorder["checks"].items():
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
