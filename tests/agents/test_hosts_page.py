"""docs/reference/hosts.md says what tables and tests say; UPDATE_GOLDEN=1 writes its tables."""

import os
import re
from pathlib import Path

from memory_mesh.agents.hook import hosts
from memory_mesh.agents.hosts import HOSTS
from tests.agents import host_events
from tests.agents.real_hosts import OFFERS, PLACES

PAGE = Path(__file__).parents[2] / "docs/reference/hosts.md"
REAL, GOLDEN, CANNOT = "real binary", "golden", "host cannot"
COLUMNS = ("found", "init", "undo", "start", "prompt", "capture", "failure", "MCP", "doctor")
HEADS = {"start": "recall at start", "prompt": "recall at prompt", "failure": "failure lesson"}
ASKED = {
    "start": (hosts.START,),
    "prompt": (hosts.PROMPT,),
    "capture": (hosts.PROMPT, hosts.STOP),
    "failure": (hosts.FAILED, hosts.RAN),
}
FILES = {
    "claude-code": "a plugin in `~/.claude/memory-mesh`, and its settings",
    "codex": "`~/.codex/config.toml`, a section of `~/.codex/AGENTS.md`",
    "opencode": "`~/.config/opencode/plugins/memory-mesh.js`",
    "gemini": "`~/.gemini/settings.json`",
    "qwen": "`~/.qwen/settings.json`",
    "copilot": "`~/.copilot/mcp-config.json`, `~/.copilot/hooks/memory-mesh.json`",
    "cursor": "`~/.cursor/mcp.json`, `~/.cursor/hooks.json`",
    "cline": "`~/.cline/data/settings/cline_mcp_settings.json`, `~/.cline/rules/memory-mesh.md`",
}


def _cell(host, column):
    events = hosts.EVENTS.get(host.name, {}).values()
    if column in ASKED:
        ours = [each for each in ASKED[column] if each in events]
        if not ours or (column == "prompt" and host.name == "cursor"):
            return CANNOT if host.name != "cline" else "no"
    if column == "doctor":
        return "tried" if events else "files"
    if host.name not in PLACES and host.name != "claude-code":
        return GOLDEN
    unseen = (host.name == "qwen" and column == "start") or (
        column == "MCP" and OFFERS.get(host.name) == 0
    )
    return GOLDEN if unseen else REAL


def _table(heads, rows):
    lines = [f"| {' | '.join(row)} |" for row in (heads, *rows)]
    return "\n".join([lines[0], f"|{'---|' * len(heads)}", *lines[1:], ""])


def _seen(name):
    return host_events.read(name)["version"] if name in host_events.NAMES else "as published"


def _tables():
    heads = ["host", *(HEADS.get(each, each) for each in COLUMNS)]
    yield "table", _table(heads, [[h.title, *(_cell(h, c) for c in COLUMNS)] for h in HOSTS])
    rows = [[host.title, f"`{host.name}`", _seen(host.name), FILES[host.name]] for host in HOSTS]
    yield "files", _table(["host", "`--host`", "version", "files"], rows)
    words = (*hosts.RECALLS, hosts.STOP, hosts.TOOL, hosts.FAILED, hosts.COMPACT, hosts.END)
    rows = []
    for host in HOSTS[:-1]:
        events = hosts.EVENTS[host.name]
        ours = [
            ", ".join(
                f"`{theirs}`"
                for theirs, word in events.items()
                if (hosts.FAILED if word == hosts.RAN else word) == each
            )
            for each in words
        ]
        rows.append([host.title, *(each or "–" for each in ours)])
    heads = ["host", "start", "prompt", "answer", "tool", "failed tool", "compaction", "end"]
    yield "events", _table(heads, rows)


def test_the_tables_are_those_of_the_hosts():
    page = PAGE.read_text(encoding="utf-8")
    made = page
    for name, table in _tables():
        made = re.sub(
            rf"(?s)<!-- {name} -->\n.*?<!-- /{name} -->",
            f"<!-- {name} -->\n{table}<!-- /{name} -->".replace("\\", r"\\"),
            made,
        )
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(made, encoding="utf-8")
    assert page == made


def test_the_files_are_those_that_init_writes(tmp_path):
    from memory_mesh.agents.hosts.places import Commands

    commands = Commands(tmp_path / "hook", tmp_path / "mcp", {})
    for host in HOSTS[1:]:
        for change in host.planned({"HOME": str(tmp_path)}, commands):
            assert f"`~/{change.path.relative_to(tmp_path)}`" in FILES[host.name]
