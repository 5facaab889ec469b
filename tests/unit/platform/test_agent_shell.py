"""Shells that an agent started."""

import pytest

from memory_mesh.platform.agent_shell import agent_variables


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({}, []),
        ({"PATH": "/bin", "TERM": "xterm"}, []),
        ({"CLAUDECODE": "1"}, ["CLAUDECODE"]),
        ({"CODEX_THREAD_ID": "0199"}, ["CODEX_THREAD_ID"]),
        ({"CODEX_SANDBOX": "seatbelt"}, ["CODEX_SANDBOX"]),
        ({"CODEX_SANDBOX_NETWORK_DISABLED": "1"}, ["CODEX_SANDBOX_NETWORK_DISABLED"]),
        ({"CODEX_HOME": "/home/me/.codex"}, []),
        ({"GEMINI_CLI": "1"}, ["GEMINI_CLI"]),
        ({"OPENCODE": "1", "AGENT": "1"}, ["OPENCODE"]),
        ({"OPENCODE_CONFIG": "a.json"}, []),
        ({"CURSOR_AGENT": "1"}, ["CURSOR_AGENT"]),
        ({"CURSOR_TRACE_ID": "1"}, []),
        ({"AI_AGENT": "devin"}, ["AI_AGENT"]),
        ({"OR_APP_NAME": "Aider"}, ["OR_APP_NAME"]),
        ({"OR_APP_NAME": "my app"}, []),
        ({"AGENT": "goose", "GOOSE_TERMINAL": "1"}, ["GOOSE_TERMINAL", "AGENT"]),
        ({"AGENT": "build-7"}, []),
        ({"CLAUDECODE": ""}, []),
        ({"CLAUDECODE": "0", "GEMINI_CLI": "False"}, []),
    ],
)
def test_the_variables_of_an_agent_are_known(environment, found):
    assert agent_variables(environment) == found
