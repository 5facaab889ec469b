"""Real hosts other than Claude Code, each in a home of its own, against the fake APIs.

A round: one session of a host is told a fact, and the next one, of the same host or of another,
asks for it: it must stand once in its first request. A resumed session must not be given it again.
"""

import json
import random
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from memory_mesh.model import Memory, Status
from memory_mesh.sync import MemoryMesh
from tests.agents.fake_api import FakeApi, Recorded, ToolUse
from tests.agents.real_claude import TOOLS, RealClaude, binaries
from tests.agents.remembering import SERVICES
from tests.faults.report import Progress, Report, Ticker, silent
from tests.surface.command import SCRIPT
from tests.until import until

PLACES = {  # where `.ci/agents` puts each
    "codex": "codex/node_modules/@openai/codex-*/vendor/*/bin/codex",
    "opencode": "opencode/node_modules/opencode-*/bin/opencode",
    "gemini": "gemini/node_modules/.bin/gemini",
    "qwen": "qwen/node_modules/.bin/qwen",
    "copilot": "copilot/node_modules/.bin/copilot",
}
_CODEX = (
    *("--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox"),
    *("--skip-git-repo-check", "-c", "model=fake", "-c", "model_provider=fake"),
)


def binary_of(host: str) -> Path | None:
    """The host's program, if `.ci/agents` could install it."""
    return next((path for path in TOOLS.glob(PLACES[host]) if path.is_file()), None)


RECALLED, RESUMED = "recalled in the first request", "once in a resumed session"
FAILED = "a failed command is a candidate for a lesson"
OFFERED = "our tools in the first request"
OFFERS = {  # Codex names the server alone; Qwen Code has a tool that searches for tools
    "codex": 1,
    "opencode": 8,
    "gemini": 8,
    "qwen": 0,
    "copilot": 8,
}


@dataclass(frozen=True, slots=True)
class RealHost(RealClaude):
    """One installation of a host in an empty home, and one repository to work in."""

    name: str = "codex"

    @classmethod
    def of(cls, name: str, home: Path) -> "RealHost":
        """A host beside others in a home; hooks get the time they need, as for Claude Code."""
        binary = binary_of(name)
        assert binary is not None, name
        (home / "work/the shop/.git").mkdir(parents=True, exist_ok=True)
        if name == "gemini" and not (settings := home / ".gemini/settings.json").exists():
            settings.parent.mkdir()
            settings.write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}')
        return cls(binary, home, patient=True, script=SCRIPT, name=name)

    def turns(
        self,
        prompt: str,
        *,
        again: bool = False,
        script: Sequence[str | ToolUse] = (),
        after: Callable[[], object] = bool,
    ) -> list[Recorded]:
        """What one prompt sends to the model, in a new session or in the last one."""
        with FakeApi(script, after=after) as api:
            words, variables = LAUNCHES[self.name](prompt, api.url, again=again)
            out = self._run([str(self.binary), *words], variables)
            turns = api.turns
        assert turns, f"the model was asked nothing: {out}"
        return turns


SHELLS = {  # of the hosts that tell how a command ended
    "opencode": "bash",
    "gemini": "run_shell_command",
    "qwen": "run_shell_command",
    "copilot": "bash",
}
_BUSY = "Error: listen EADDRINUSE: address already in use :::3000"
_FAILING = {"description": "start", "is_background": False}
Launch = tuple[list[str], dict[str, str]]


def _codex(prompt: str, url: str, *, again: bool) -> Launch:
    provider = f'{{name="f", base_url="{url}/v1", env_key="ANY_KEY", wire_api="responses"}}'
    words = ["exec", *(["resume", "--last"] if again else []), *_CODEX]
    return [*words, "-c", f"model_providers.fake={provider}", prompt], {"ANY_KEY": "dummy"}


def _opencode(prompt: str, url: str, *, again: bool) -> Launch:
    model = {"name": "f", "tool_call": True, "limit": {"context": 100_000, "output": 1_000}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1", "apiKey": "dummy"},
        "models": {"f": model},
    }
    stated = {"model": "f/f", "small_model": "f/f", "provider": {"f": provider}}
    switches = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD")
    variables = {f"OPENCODE_DISABLE_{name}": "1" for name in switches}
    variables |= {
        "OPENCODE_CONFIG_CONTENT": json.dumps(stated),
        "HTTPS_PROXY": "",
        "HTTP_PROXY": "",
    }
    return ["run", *(["--continue"] if again else []), *prompt.split()], variables


def _gemini(prompt: str, url: str, *, again: bool) -> Launch:
    variables = {
        "GEMINI_API_KEY": "dummy",
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }
    model = ["-m", "gemini-2.5-flash", "-y"]  # a named one: no other model is asked which to take
    return [*model, *(["--resume", "latest"] if again else []), "-p", prompt], variables


def _qwen(prompt: str, url: str, *, again: bool) -> Launch:
    variables = {"OPENAI_API_KEY": "dummy", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "f"}
    variables |= {"HTTPS_PROXY": "", "HTTP_PROXY": ""}  # it would send even 127.0.0.1 there
    return [*(["--continue"] if again else []), "-y", "-p", prompt], variables


def _copilot(prompt: str, url: str, *, again: bool) -> Launch:
    variables = {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_API_KEY": "dummy",
        "COPILOT_MODEL": "fake",
        "XDG_CACHE_HOME": str(TOOLS / "copilot/unpacked"),  # it unpacks 190 MB at its first start
    }
    return [*(["--continue"] if again else []), "--allow-all-tools", "-p", prompt], variables


LAUNCHES: dict[str, Callable[..., Launch]] = {
    "codex": _codex,
    "opencode": _opencode,
    "gemini": _gemini,
    "qwen": _qwen,
    "copilot": _copilot,
}


def rounds(
    folder: Path, hosts: Sequence[str], *, count: int, seed: int, progress: Progress = silent
) -> Report:
    """Let the first host be told a fact and the last one asked for it, so many times."""
    report, ticker, numbers = Report(), Ticker(progress, count), random.Random(seed)
    for each in range(count):
        service, port = numbers.choice(SERVICES), str(numbers.randrange(20_000, 60_000))
        agents = [_agent(host, folder / str(each) / "a home") for host in dict.fromkeys(hosts)]
        try:
            for agent, host in zip(agents, dict.fromkeys(hosts), strict=True):
                agent.mesh("init", "--host", host, "--yes")
            told = f"Remember that the {service} service listens on port {port}."
            _told(agents[0], told, report)
            agents[0].stored(port)
            question = f"On which port does the {service} service listen?"
            last, asked = agents[-1], _first(agents[-1], question)
            _happened(report, asked.text.count(port), RECALLED, last)
            if isinstance(last, RealHost):
                again = last.turns(f"Say it again: {question}", again=True)[0]
                _happened(report, again.text.count(port), RESUMED, last)
                tools = sum("memory" in tool for tool in asked.tools)
                _happened(report, tools, OFFERED, last, OFFERS[last.name])
        except (AssertionError, subprocess.TimeoutExpired) as error:
            report.broken("rounds that failed", f"round {each}: {error}")
        finally:
            agents[0].close()
        report.count("rounds")
        ticker.tick(each + 1)
    return report


def _agent(host: str, home: Path) -> RealClaude:
    if host != "claude-code":
        return RealHost.of(host, home)
    (home / "work/the shop/.git").mkdir(parents=True, exist_ok=True)
    (home / ".claude").mkdir()
    return RealClaude(binaries()["newest"], home, patient=True)


def _told(agent: RealClaude, prompt: str, report: Report) -> None:
    """One session that is told something, and whose command fails where the host tells of it."""
    shell = SHELLS.get(agent.name) if isinstance(agent, RealHost) else None
    if not isinstance(agent, RealHost) or shell is None:
        _first(agent, prompt)
        return
    command = f"start-the-shop || (echo '{_BUSY}' >&2; exit 3)"
    agent.turns(prompt, script=[ToolUse(shell, {**_FAILING, "command": command})])
    until(lambda: any("EADDRINUSE" in each.text for each in _candidates(agent)), agent.log())
    report.count(FAILED)


def _candidates(agent: RealClaude) -> list[Memory]:
    with MemoryMesh(db_dir=agent.store, embedder="none") as mesh:
        return mesh.get_all(across=("project", "agent", "session"), include=[Status.QUARANTINED])


def _first(agent: RealClaude, prompt: str) -> Recorded:
    if isinstance(agent, RealHost):
        return agent.turns(prompt)[0]
    return agent.ask(prompt).first


def _happened(report: Report, found: int, what: str, agent: RealClaude, wanted: int = 1) -> None:
    if found == wanted:
        report.count(what)
    else:
        report.broken(f"NOT {what}", f"{found}, not {wanted}. {agent.log()}")
