"""A real Claude Code that reaches a service by its URL: no plugin and no store on its machine."""

import json

import pytest

from tests.agents.fake_api import ToolUse
from tests.agents.real_claude import VERSIONS, RealClaude, binaries
from tests.faults.sample import is_whole
from tests.surface.serving import served

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not is_whole(), reason="the night runs it; MCP over HTTP has its own tests"),
]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_agent_stores_and_finds_by_url_with_the_word_of_its_key(version, tmp_path):
    if (binary := binaries().get(version)) is None:
        pytest.skip(f"no Claude Code ({version}): run .ci/agents, which needs npm")
    agent = RealClaude.in_empty_home(binary, tmp_path)
    with served(tmp_path / "store", embedder="none") as service:
        key = service.new_key("claude", {"team": "editor"})
        server = {
            "type": "http",
            "url": f"{service.url}/mcp",
            "headers": {"Authorization": f"Bearer {key}", "Memory-Mesh-Namespace": "team"},
        }
        config = tmp_path / "mcp.json"
        config.write_text(json.dumps({"mcpServers": {"memory": server}}))
        told = ("--mcp-config", str(config), "--strict-mcp-config", "--allowedTools", "mcp__memory")
        storing = ToolUse("mcp__memory__memory_store", {"content": "The office is in Oslo"})
        session = agent.ask("Note where the office is.", *told, script=[storing, "Noted."])
        assert session.said == "Noted."
        assert {"mcp__memory__memory_store", "mcp__memory__memory_search"} <= {*session.first.tools}
        searching = ToolUse("mcp__memory__memory_search", {"query": "Where is the office?"})
        session = agent.ask("Where is the office?", *told, script=[searching, "In Oslo."])
        messages = session.turns[-1].body["messages"]
        assert isinstance(messages, list)
        assert "The office is in Oslo" in json.dumps(messages[-1])
        (stored,) = service.behind.view(namespace="team").get_all(across=["project", "agent"])
        assert (stored.text, str(stored.source.kind)) == ("The office is in Oslo", "inference")
        assert not agent.store.exists()
        assert service.behind.get_all() == []
