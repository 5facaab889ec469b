"""Recognises a shell that an AI agent started, by the variables that agents set in it.

The names were read from the programs themselves where they can be installed: Claude Code 2.1.197,
Codex 0.166.0, Gemini CLI 0.61.0, Qwen Code 0.24.4, OpenCode 1.18.33, Aider 0.86.2. The others are
those that their makers document. A variable that is empty, 0 or false counts as not set.
"""

from collections.abc import Mapping

_VARIABLES = (
    "CLAUDECODE",
    "CODEX_THREAD_ID",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_CI",
    "GEMINI_CLI",
    "QWEN_CODE",
    "OPENCODE",
    "CURSOR_AGENT",
    "COPILOT_CLI",
    "GOOSE_TERMINAL",
    "AMP_CURRENT_THREAD_ID",
    "AUGMENT_AGENT",
    "CLINE_ACTIVE",
    "PI_CODING_AGENT",
    "AI_AGENT",
)
_VALUES = {"OR_APP_NAME": {"aider"}, "AGENT": {"amp", "goose"}}  # set by others as well
_NOT_SET = {"", "0", "false"}


def agent_variables(environment: Mapping[str, str]) -> list[str]:
    """Returns the variables that show that an agent started this shell; none if nothing does."""
    found = [name for name in _VARIABLES if _value(environment, name) not in _NOT_SET]
    named = [name for name, values in _VALUES.items() if _value(environment, name) in values]
    return [*found, *named]


def _value(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name, "").strip().lower()
