"""What CI runs on macOS and Windows works here."""

from tools import system_check


def test_library_command_line_and_mcp_work_on_this_system(capsys):
    assert system_check.main() == 0
    assert capsys.readouterr().out.endswith(": all works\n")


def test_a_part_that_fails_is_named(capsys, monkeypatch):
    monkeypatch.setattr(system_check, "library", lambda folder: False)
    monkeypatch.setattr(system_check, "mcp", lambda folder: False)
    assert system_check.main() == 1
    assert capsys.readouterr().out.endswith(": library, MCP failed\n")
