"""What `deploy/` has for those who run the service: over what it really says, and well formed."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from memory_mesh.server import problems
from memory_mesh.server.routes import routes
from tests.surface.serving import served

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
RULES = yaml.safe_load((DEPLOY / "alerts.yaml").read_text("utf-8"))["groups"][0]["rules"]
PANELS = json.loads((DEPLOY / "grafana.json").read_text("utf-8"))["panels"]
ASKED = [rule["expr"] for rule in RULES]
ASKED += [target["expr"] for panel in PANELS for target in panel["targets"]]


def test_alerts_and_dashboard_ask_for_what_the_service_says(tmp_path: Path) -> None:
    with served(tmp_path, embedder="none") as service:
        service.mesh().search("x")
        headers = {"Authorization": f"Bearer {service.key}"}
        with urlopen(Request(f"{service.url}/metrics", headers=headers)) as answer:
            told = list(text_string_to_metric_families(answer.read().decode()))
    samples = [sample for family in told for sample in family.samples]
    for asked in ASKED:
        named = set(re.findall(r"\bmemory_mesh_\w+", asked))
        assert named <= {sample.name for sample in samples}, asked
        labels = {label for _, label in re.findall(r"([{,(])\s*(\w+)(?==|\))", asked)}
        assert labels <= {"route", "status", "job"}, asked
    assert {label for sample in samples for label in sample.labels} == {"route", "status"}
    assert any(sample.labels["route"] == "/v1/search" for sample in samples)


def test_alerts_are_about_routes_and_statuses_that_there_are() -> None:
    statuses = {*map(str, problems._STATUS.values()), "200", "401", "429"}
    for asked in ASKED:
        for named in re.findall(r'status=~?"([\d|]+)"', asked):
            assert set(named.split("|")) <= statuses, asked
        assert set(re.findall(r'route="([^"]+)"', asked)) <= routes().keys(), asked


def test_the_runbook_says_what_each_alert_means() -> None:
    page = (ROOT / "docs/reference/runbook.md").read_text("utf-8")
    assert re.findall(r"(?m)^\| `(MemoryMesh\w+)`", page) == [rule["alert"] for rule in RULES]


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        ("promtool check rules alerts.yaml", ""),
        ("promtool check config --syntax-only prometheus.yaml", ""),
        # the program is not installed where tests run
        ("systemd-analyze verify --man=no ./memory-mesh.service", "is not executable"),
    ],
)
def test_its_own_program_takes_it(command: str, allowed: str) -> None:
    words = command.split()
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} was not found")
    done = subprocess.run(words, cwd=DEPLOY, capture_output=True, text=True, check=False)
    lines = [line for line in done.stderr.splitlines() if not (allowed and allowed in line)]
    assert lines == [], done.stdout
    assert allowed or done.returncode == 0, done.stdout
