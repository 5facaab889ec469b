"""`memory-mesh doctor`: each link of the chain is broken for real, is found, and its fix is shown.

Where the fix is a command, it is run, and the next look finds nothing any more.
"""

import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memory_mesh._version import __version__
from memory_mesh.agents import journal
from memory_mesh.agents.doctor import (
    CHECKS,
    TRIALS,
    Case,
    CheckResult,
    CheckStatus,
    examined,
    hooks,
    store,
)
from memory_mesh.agents.hook import events
from memory_mesh.care.key_file import RECORD_FILE, KeyFile
from memory_mesh.models import model_files
from memory_mesh.sync import MemoryMesh
from tests.surface.command import SCRIPT, CommandLine, Ran
from tests.surface.daemons import Place, in_a_home, lives, until

PAGE = (Path(__file__).parents[2] / "docs/agents/doctor.md").read_text(encoding="utf-8")
SPENT = "the budget was spent"
PATIENT = "60000"  # ms for a hook of a trial: a busy machine is not the matter here


@dataclass(frozen=True, slots=True)
class Patient:
    """A home with a claude in it, a store, and a folder to work in."""

    place: Place

    @property
    def home(self) -> Path:
        return self.place.home

    @property
    def work(self) -> Path:
        return self.home / "work"

    @property
    def plugin(self) -> Path:
        return self.home / ".claude/memory-mesh/plugin"

    def __call__(self, *words: str) -> Ran:
        command = CommandLine(self.home, (str(SCRIPT),), self.place.environment)
        return command(*words, cwd=self.work)

    def found(self, **options: Any) -> dict[str, CheckResult]:
        """What each check finds, by its name; without the trials."""
        mesh = MemoryMesh(db_dir=self.place.store, embedder="none")
        meant = MemoryMesh(db_dir=self.place.store)
        with mesh, meant:
            case = Case(mesh, self.place.environment, self.work, meaning=meant, **options)
            return {one.check: one for one in examined(case, trials=False)}

    def trials(self) -> dict[str, Any]:
        """The same by the real command, with the trials."""
        return {one["check"]: one for one in json.loads(self("doctor", "--json").out)["checks"]}

    def fixed(self, finding: CheckResult) -> None:
        """Runs the fix of a finding in a shell, as a person would."""
        command = finding.fix.partition(" (")[0].partition(", then")[0]
        words = ["sh", "-c", command]
        done = subprocess.run(words, cwd=self.work, env=self.place.environment, check=False)
        assert done.returncode == 0, command


@pytest.fixture
def patient(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Patient]:
    with in_a_home(tmp_path, MEMORY_MESH_HOOK_BUDGET_MS=PATIENT) as place:
        (place.home / "bin").mkdir()
        claude = place.home / "bin/claude"
        claude.write_text("#!/bin/sh\n")
        claude.chmod(0o755)
        temporary = place.home / "tmp"
        temporary.mkdir()
        path = f"{place.home / 'bin'}:{SCRIPT.parent}:/usr/bin:/bin"
        place.variables |= {"PATH": path, "TMPDIR": str(temporary)}
        for name, value in place.environment.items():
            monkeypatch.setenv(name, value)
        found = Patient(place)
        found.work.mkdir()
        yield found


@pytest.fixture
def installed(patient: Patient) -> Patient:
    assert patient("init", "--yes").code == 0
    return patient


def stored(patient: Patient, *texts: str) -> None:
    with MemoryMesh(db_dir=patient.place.store, embedder="none") as mesh:
        for text in texts:
            mesh.add(text)


def hooked(
    patient: Patient,
    *outcomes: str,
    event: str = "Stop",
    what: str = "hook",
    reason: str = SPENT,
) -> None:
    """Leaves lines of the journal that are ten minutes old."""
    for outcome in outcomes:
        line = {
            "at": journal.stamp(time.time() - 600), "what": what, "event": event, "ms": 120,
            "outcome": outcome,
            **({"reason": reason} if outcome == "late" or reason != SPENT else {}),
        }  # fmt: skip
        path = f"{patient.place.store}/{journal.FOLDER}/{journal.NAME}"
        journal.append(path, json.dumps(line).encode() + b"\n")


def is_(finding: CheckResult, mark: CheckStatus, said: str, fix: str) -> None:
    assert finding.mark is mark, finding
    assert said in finding.said, finding
    assert fix in finding.fix, finding


# --- as a whole -------------------------------------------------------------------------------


def test_all_is_well_after_init_and_nothing_is_left_of_the_trials(installed: Patient) -> None:
    done = installed("doctor")
    assert [line.split()[0] for line in done.out.splitlines()] == ["ok"] * 22 + ["[MemoryMesh]"]
    assert "22 ok, 0 warnings, 0 failed" in done.out
    assert (done.code, done.err) == (0, "")
    assert "gave a planted memory back" in done.out
    assert "8 tools listed" in done.out
    assert "one started and answered" in done.out
    assert list((installed.home / "tmp").iterdir()) == []
    assert "\x1b" not in done.out


def test_a_broken_link_is_exit_code_one_in_text_and_in_json(installed: Patient) -> None:
    (installed.home / ".claude/settings.json").write_text("{ broken")
    done = installed("doctor", "--quick")
    assert done.code == 1
    assert re.search(r"(?m)^failed   plugin: .*not valid JSON.* \| fix: ", done.out)
    assert done.out.count("not valid JSON") == 1
    assert re.search(r"(?m)^ok       project: ", done.out)  # the others were looked at, too
    told = installed("doctor", "--quick", "--json")
    assert told.code == 1
    found = json.loads(told.out)
    assert (found["ok"], found["version"], found["store"]) == (
        False, __version__, installed.place.store,
    )  # fmt: skip
    assert {"check", "mark", "said", "fix"} == set(found["checks"][0])


def test_a_terminal_shows_signs_and_what_to_do_below(installed: Patient) -> None:
    command = CommandLine(installed.home, (str(SCRIPT),), installed.place.environment)
    shown = command.on_terminal("doctor", "--quick").out
    assert "\x1b[32m✓\x1b[0m \x1b[1mstore" in shown
    assert "→ start a new session of claude" in shown
    plain = CommandLine(
        installed.home, (str(SCRIPT),), {**installed.place.environment, "NO_COLOR": "1"}
    )
    assert "\x1b" not in plain.on_terminal("doctor", "--quick").out


def test_every_finding_that_is_not_ok_has_a_fix(patient: Patient) -> None:
    found = patient.found()
    assert [
        one.check for one in found.values() if one.mark is not CheckStatus.OK and not one.fix
    ] == []


# --- the store's files ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("free", "mark"),
    [(10**12, CheckStatus.OK), (5 * 10**8, CheckStatus.WARNING), (10**6, CheckStatus.FAILED)],
)
def test_a_disk_that_is_nearly_full(free: int, mark: CheckStatus, tmp_path: Path) -> None:
    found = store.room(free, tmp_path)
    assert found.mark is mark
    assert mark is CheckStatus.OK or "df -h" in found.fix


def test_a_store_that_others_can_read(patient: Patient) -> None:
    stored(patient, "The shop listens on port 6543.")
    Path(patient.place.store).chmod(0o755)
    found = patient.found()["permissions"]
    is_(found, CheckStatus.WARNING, "mode 0755", "chmod -R go= ")
    patient.fixed(found)
    assert patient.found()["permissions"].mark is CheckStatus.OK


def test_a_key_that_others_can_read(patient: Patient) -> None:
    keys = KeyFile.of(Path(patient.place.store), patient.place.environment)
    assert keys.keys()
    assert patient.found()["key"].mark is CheckStatus.OK
    keys.path.chmod(0o644)
    found = patient.found()["key"]
    is_(found, CheckStatus.FAILED, "can be read by others", "chmod 600")
    patient.fixed(found)
    keys.path.parent.chmod(0o777)
    found = patient.found()["key"]
    is_(found, CheckStatus.FAILED, "can be written by others", "chmod 700")
    patient.fixed(found)
    assert patient.found()["key"].mark is CheckStatus.OK


def test_a_store_that_never_had_a_key_has_lost_none(patient: Patient) -> None:
    stored(patient, "the harbour opens at seven")
    assert "none yet" in patient.found()["key"].said
    assert patient("backup", str(patient.place.home / "copy")).code == 0
    found = patient.found()["key"]
    assert (found.mark, found.fix) == (CheckStatus.OK, ""), found
    assert "none yet" in found.said
    stored(patient, "ask ann@example.com")
    keys = KeyFile.of(Path(patient.place.store), patient.place.environment)
    keys.path.unlink()
    (Path(patient.place.store) / RECORD_FILE).unlink()
    is_(patient.found()["key"], CheckStatus.WARNING, "cannot be recognised", "copy it back")


def test_a_key_that_is_gone(patient: Patient) -> None:
    keys = KeyFile.of(Path(patient.place.store), patient.place.environment)
    assert keys.keys()
    keys.path.unlink()
    is_(patient.found()["key"], CheckStatus.FAILED, "is not there", "memory-mesh keys replace")
    assert not keys.path.exists()  # a look makes no new one


def test_a_damaged_chain(patient: Patient) -> None:
    stored(patient, "The shop listens on port 6543.", "The office listens on port 6544.")
    assert patient.found()["chain"].mark is CheckStatus.OK
    changed(patient, "UPDATE block SET wire = 'forged' WHERE position = 1")
    is_(patient.found()["chain"], CheckStatus.FAILED, "chain", "memory-mesh verify")
    assert patient("doctor", "--quick").code == 1


def test_a_long_chain_is_checked_by_its_last_block(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(patient, "The shop listens on port 6543.", "The office listens on port 6544.")
    changed(patient, "UPDATE block SET wire = 'forged' WHERE position = 1")
    monkeypatch.setattr(store, "MOST_BLOCKS", 1)
    is_(patient.found()["chain"], CheckStatus.OK, "only the last of 2 blocks", "--whole-chain")
    assert patient.found(whole_chain=True)["chain"].mark is CheckStatus.FAILED
    changed(patient, "UPDATE block SET wire = 'forged'")
    assert patient.found()["chain"].mark is CheckStatus.FAILED


def test_a_store_that_is_none(patient: Patient) -> None:
    stored(patient, "The shop listens on port 6543.")
    ledger(patient).write_bytes(b"this is no database" * 1000)
    for each in ledger(patient).parent.glob("*-wal"):
        each.unlink()
    done = patient("doctor", "--quick")
    assert done.code == 1
    assert re.search(r"(?m)^failed   store: .* \| fix: ", done.out)


# --- meaning ----------------------------------------------------------------------------------


def test_no_embedder(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    found = patient.found()
    is_(found["embedder"], CheckStatus.OK, "switched off", "MEMORY_MESH_EMBEDDER")
    is_(found["index"], CheckStatus.OK, "there are no vectors to wait for", "")
    monkeypatch.delenv("MEMORY_MESH_EMBEDDER")
    monkeypatch.delenv("MEMORY_MESH_MODEL_DIR", raising=False)
    is_(patient.found()["embedder"], CheckStatus.OK, "gives vectors", "")
    monkeypatch.setattr(model_files, "_STATIC_PACKAGE", "a_package_that_is_not_installed")
    found = patient.found()
    is_(found["embedder"], CheckStatus.WARNING, "by words only", "memory-mesh models pull")
    assert found["index"].mark is CheckStatus.OK


def test_an_embedder_that_does_not_load_is_no_fault_of_the_store(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORY_MESH_EMBEDDER", "fastembed")  # without the name of a model
    found = patient.found()
    is_(found["embedder"], CheckStatus.WARNING, "MEMORY_MESH_EMBEDDER_MODEL", "memory-mesh models")
    assert found["store"].mark is CheckStatus.OK


def test_texts_that_wait_for_vectors_or_terms(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(patient, "The shop listens on port 6543.")
    monkeypatch.delenv("MEMORY_MESH_EMBEDDER")
    monkeypatch.delenv("MEMORY_MESH_MODEL_DIR", raising=False)
    patient.place.variables.pop("MEMORY_MESH_EMBEDDER", None)
    found = patient.found()["index"]
    is_(found, CheckStatus.WARNING, "1 text has no vector yet", "memory-mesh upkeep")
    with MemoryMesh(db_dir=patient.place.store) as mesh:
        mesh.care.upkeep()
    is_(patient.found()["index"], CheckStatus.OK, "and its vector", "")


# --- the daemon -------------------------------------------------------------------------------


def test_a_daemon_that_runs_was_stopped_or_was_killed(patient: Patient) -> None:
    is_(patient.found()["daemon"], CheckStatus.OK, "none runs", "memory-mesh daemon start (")
    pid = patient.place.started()
    is_(patient.found()["daemon"], CheckStatus.OK, f"process {pid}, version {__version__}", "")
    os.kill(pid, signal.SIGSTOP)
    found = patient.found()["daemon"]
    is_(found, CheckStatus.FAILED, "does not answer", f"kill -9 {pid}")
    patient.fixed(found)
    until(lambda: not lives(pid))
    stale = "stale socket was left behind: a socket is there, but no process answers at it"
    is_(patient.found()["daemon"], CheckStatus.WARNING, stale, "memory-mesh daemon start")
    assert patient("daemon", "start").code == 0
    assert patient.found()["daemon"].mark is CheckStatus.OK


def test_a_daemon_of_another_version(patient: Patient) -> None:
    patient.place.foreground(version="0.0.1")
    found = patient.found()["daemon"]
    is_(found, CheckStatus.WARNING, "version 0.0.1", "memory-mesh daemon stop")


# --- Claude Code ------------------------------------------------------------------------------


def test_no_claude_and_no_plugin(patient: Patient) -> None:
    found = patient.found()
    is_(found["plugin"], CheckStatus.WARNING, "not installed", "memory-mesh init")
    is_(found["hooks"], CheckStatus.WARNING, "no hook has ever run", "memory-mesh init")
    (patient.home / "bin/claude").unlink()
    is_(patient.found()["Claude Code"], CheckStatus.WARNING, "was not found", "npm install")


def test_a_plugin_that_was_switched_off(installed: Patient) -> None:
    settings = installed.home / ".claude/settings.json"
    settings.write_text(settings.read_text().replace("true", "false"))
    is_(
        installed.found()["plugin"], CheckStatus.FAILED, "does not switch it on", "memory-mesh init"
    )
    assert installed("init", "--yes").code == 0
    assert installed.found()["plugin"].mark is CheckStatus.OK


def test_a_command_of_the_plugin_that_is_gone(installed: Patient) -> None:
    rewritten(installed, str(SCRIPT.parent), "/gone/bin")
    found = installed.found()["commands"]
    is_(found, CheckStatus.FAILED, "/gone/bin/memory-mesh-hook", "memory-mesh init")
    assert installed("init", "--yes").code == 0
    assert installed.found()["commands"].mark is CheckStatus.OK


def test_a_hook_that_the_plugin_no_longer_names(installed: Patient) -> None:
    rewritten(installed, '"Stop"', '"Stopped"')
    is_(installed.found()["commands"], CheckStatus.FAILED, "nothing of Stop", "memory-mesh init")


def test_a_plugin_that_uses_another_store(patient: Patient, tmp_path: Path) -> None:
    assert patient("init", "--yes", "--db-dir", str(tmp_path / "other")).code == 0
    found = patient.found()["commands"]
    is_(found, CheckStatus.WARNING, f"{tmp_path / 'other'}, not {patient.place.store}", "--db-dir")


def test_commands_of_another_version(installed: Patient, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for name in ("memory-mesh", "memory-mesh-hook", "memory-mesh-mcp"):
        (other / name).write_text("#!/bin/sh\necho memory-mesh 9.9.9\n")
        (other / name).chmod(0o755)
    rewritten(installed, str(SCRIPT.parent), str(other))
    found = installed.found()["versions"]
    is_(found, CheckStatus.WARNING, "is of version 9.9.9", "memory-mesh init")


def test_a_plugin_of_another_version(installed: Patient) -> None:
    manifest = installed.plugin / ".claude-plugin/plugin.json"
    manifest.write_text(manifest.read_text().replace(__version__, "0.0.1"))
    is_(installed.found()["versions"], CheckStatus.WARNING, "of version 0.0.1", "memory-mesh init")


def test_a_memory_of_the_hosts_own_beside_this_one(installed: Patient) -> None:
    is_(
        installed.found()["own memory"],
        CheckStatus.OK,
        "is on (by its default)",
        "--host-memory off",
    )
    name = re.sub(r"[^A-Za-z0-9]", "-", str(installed.work))
    folder = installed.home / ".claude/projects" / name / "memory"
    folder.mkdir(parents=True)
    (folder / "shop.md").write_text("The shop listens on port 6543.\n")
    found = installed.found()["own memory"]
    is_(found, CheckStatus.WARNING, "holds 1 file", "memory-mesh init --host-memory import, or off")
    assert installed("init", "--yes", "--host-memory", "off").code == 0
    is_(installed.found()["own memory"], CheckStatus.OK, "is off", "")


# --- what hooks left --------------------------------------------------------------------------


def test_hooks_that_have_never_run(installed: Patient) -> None:
    is_(installed.found()["hooks"], CheckStatus.OK, "the plugin is new", "start a new session")
    long_ago = time.time() - 7 * 86_400
    os.utime(installed.plugin / "hooks/hooks.json", (long_ago, long_ago))
    is_(installed.found()["hooks"], CheckStatus.WARNING, "no hook has ever run", "/hooks")
    hooked(installed, "answered", event="SessionStart")
    is_(installed.found()["hooks"], CheckStatus.OK, "SessionStart 10 minutes ago", "")


@pytest.mark.parametrize("name", [".claude/settings.json", "work/.claude/settings.local.json"])
def test_hooks_that_are_all_switched_off(installed: Patient, name: str) -> None:
    hooked(installed, "answered", event="SessionStart")
    settings = installed.home / name
    settings.parent.mkdir(exist_ok=True)
    kept = json.loads(settings.read_text()) if settings.exists() else {}
    settings.write_text(json.dumps({**kept, "disableAllHooks": True}))
    fix = f'take "disableAllHooks" out of {settings}'
    is_(installed.found()["hooks"], CheckStatus.FAILED, '"disableAllHooks" is true', fix)
    settings.write_text(json.dumps(kept))
    assert installed.found()["hooks"].mark is CheckStatus.OK


def test_hooks_that_were_late(patient: Patient) -> None:
    hooked(patient, *["answered"] * 95, *["late"] * 5)
    is_(patient.found()["budget"], CheckStatus.OK, "5 late and 0 failed of the last 100 hooks", "")
    hooked(patient, "late")
    found = patient.found()["budget"]
    is_(found, CheckStatus.WARNING, "6 late", "memory-mesh daemon start")
    assert "the budget was spent" in found.said
    patient.place.started()
    fix = patient.found()["budget"].fix
    assert "the machine was busy" in fix
    assert "MEMORY_MESH_HOOK_BUDGET_MS" in fix
    assert "daemon start" not in fix
    hooked(patient, *["late"] * 45)
    assert patient.found()["budget"].mark is CheckStatus.FAILED


def test_hooks_that_failed(patient: Patient) -> None:
    hooked(patient, "failed", "answered")
    is_(patient.found()["budget"], CheckStatus.WARNING, "1 failed of the last 2 hooks", "log.jsonl")


def test_only_reasons_of_hooks_that_were_late_or_failed_are_told(patient: Patient) -> None:
    hooked(patient, *["answered"] * 9, reason="not there")
    hooked(patient, "failed", reason="standard input holds no JSON object")
    said = patient.found()["budget"].said
    assert "standard input" in said
    assert "not there" not in said


def test_a_service_that_was_away_is_no_fault_of_hooks_or_capture(patient: Patient) -> None:
    away = {"event": "UserPromptSubmit", "reason": "ServiceIsAway"}
    hooked(patient, *["away"] * 8, **away)
    hooked(patient, *["away"] * 8, what="capture", **away)
    found = patient.found()
    is_(found["budget"], CheckStatus.OK, "8 while the service was away", "")
    is_(found["capture"], CheckStatus.OK, "8 events kept while the service was away", "")


def test_a_service_that_is_away_is_named_with_what_to_do(patient: Patient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    mesh = MemoryMesh(url, key="mm_x", db_dir=patient.place.store, embedder="none")
    case = Case(mesh, patient.place.environment, patient.work, meaning=mesh)
    found = list(examined(case, trials=False))
    mesh.close()
    first = found[0]
    is_(first, CheckStatus.FAILED, "refuses the connection: is the service running?", "unset")
    assert "memory-mesh serve" in first.fix
    assert not [one for one in found[1:] if one.said == first.said]


def test_capture_that_has_stopped(patient: Patient) -> None:
    is_(patient.found()["capture"], CheckStatus.OK, "nothing to learn from yet", "")
    hooked(patient, "answered", "answered", "answered", event="UserPromptSubmit")
    found = patient.found()["capture"]
    is_(found, CheckStatus.FAILED, "nothing was learned from the last 3 events", "type a prompt")
    hooked(patient, "done", what="capture")
    is_(patient.found()["capture"], CheckStatus.OK, "1 event learned from", "")
    hooked(patient, "failed", what="capture")
    is_(patient.found()["capture"], CheckStatus.WARNING, "1 failed", "")


# --- trials -----------------------------------------------------------------------------------


def test_commands_that_do_nothing_fail_their_trials(installed: Patient, tmp_path: Path) -> None:
    for name in ("memory-mesh-hook", "memory-mesh-mcp"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 0\n")
        (tmp_path / name).chmod(0o755)
    rewritten(installed, str(SCRIPT.parent), str(tmp_path))
    found = installed.trials()
    for name in ("hook trial", "MCP trial"):
        assert found[name]["mark"] == "failed"
        assert "install memory-mesh again" in found[name]["fix"]


def test_a_hook_that_is_late_in_its_trial_is_a_warning(installed: Patient) -> None:
    installed.place.variables["MEMORY_MESH_HOOK_BUDGET_MS"] = "1"
    found = installed.trials()["hook trial"]
    assert found["mark"] == "warning"
    assert "memory-mesh daemon start" in found["fix"]
    installed.place.started()
    fix = installed.trials()["hook trial"]["fix"]
    assert "a daemon runs" in fix
    assert "daemon start" not in fix


# --- the page ---------------------------------------------------------------------------------


def test_the_page_shows_every_check_in_its_order_and_the_limits() -> None:
    shown = re.search(r"(?ms)^\$ memory-mesh doctor\n(.*?)^```$", PAGE)
    assert shown is not None
    lines = [re.match(r"(ok|warning|failed) +([^:]+): ", line) for line in shown[1].splitlines()]
    names = [line[2] for line in lines if line is not None]
    assert names == [*CHECKS, *TRIALS]
    assert re.findall(r"(?m)^\| ([^|`]+) \| ", PAGE)[2:] == list(CHECKS)
    for limit in (
        f"{store.MOST_BLOCKS:,}", f"{hooks.MOST_LATE} of the last {hooks.LAST} hooks",
        f"at least {hooks.LEAST}", f"{events.SETTLING_SECONDS:.0f} seconds",
    ):  # fmt: skip
        assert limit in PAGE


# --- helpers ----------------------------------------------------------------------------------


def rewritten(patient: Patient, old: str, new: str) -> None:
    """Replaces a text in the plugin's files."""
    for name in ("hooks/hooks.json", ".mcp.json"):
        path = patient.plugin / name
        path.write_text(path.read_text().replace(old, new))


def ledger(patient: Patient) -> Path:
    [found] = Path(patient.place.store).rglob("default*.db")
    return found


def changed(patient: Patient, statement: str) -> None:
    """Changes the store behind its back."""
    with sqlite3.connect(ledger(patient)) as database:
        database.execute(statement)
    database.close()


def test_another_host_is_looked_at_and_tried(patient: Patient) -> None:
    assert "hosts" not in patient.found()
    (patient.home / ".codex").mkdir()
    found = patient.found()["hosts"]
    assert found.said == "Codex is here, without this memory"
    patient.fixed(CheckResult("", CheckStatus.OK, "", f"{found.fix} --yes"))
    assert "/hooks" in patient.found()["hosts"].fix  # nothing ran yet: they must be trusted

    looked = json.loads(patient("doctor", "--json").out)["checks"]
    tried = [one for one in looked if one["check"] == "hook trial"]
    assert [one["mark"] for one in tried] == ["ok", "ok"]
    assert tried[1]["said"].startswith("Codex: SessionStart gave a planted memory back")
    journal.note(str(patient.place.store), "hook", host="codex", event="Stop", session="s")
    assert "its last event" in patient.found()["hosts"].said

    (patient.home / ".codex/config.toml").write_text("")
    broken = patient.found()["hosts"]
    assert broken.mark is CheckStatus.FAILED
    assert "config.toml says nothing of memory-mesh any more" in broken.said
    for command in broken.fix.split(", then "):
        patient.fixed(CheckResult("", CheckStatus.OK, "", f"{command} --yes"))
    assert patient.found()["hosts"].mark is CheckStatus.OK
