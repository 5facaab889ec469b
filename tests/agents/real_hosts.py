"""Real hosts other than Claude Code, each in a home of its own, against the fake APIs."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.agents.fake_api import FakeApi, Recorded, ToolUse
from tests.agents.real_claude import NOWHERE, TOOLS, RealClaude
from tests.surface.command import SCRIPT

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
    }
    return [*(["--continue"] if again else []), "--allow-all-tools", "-p", prompt], variables


LAUNCHES: dict[str, Callable[..., Launch]] = {
    "codex": _codex,
    "opencode": _opencode,
    "gemini": _gemini,
    "qwen": _qwen,
    "copilot": _copilot,
}
__all__ = ["LAUNCHES", "NOWHERE", "RealHost", "binary_of"]
