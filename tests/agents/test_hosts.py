"""`memory-mesh init --host` and `--all`: what each host's files hold, and that an undo is exact."""

import json
import os
import stat
import tomllib

import pytest

from memory_mesh.agents.hook.hosts import EVENTS
from memory_mesh.agents.hosts import HOSTS
from tests.surface.command import SCRIPT, CommandLine

OTHERS = [host for host in HOSTS if host.name != "claude-code"]
HOOK, SERVER = SCRIPT.with_name("memory-mesh-hook"), SCRIPT.with_name("memory-mesh-mcp")
MARK = b"\xc3\xa9"  # a letter that no layout of ours would leave as it is written here
FILLED = {
    "codex": {
        "config.toml": b'model = "o"  # mine ' + MARK + b"\n\n[[hooks.Stop]]\nhooks = []",
        "AGENTS.md": b"# Mine\n\nUse tabs.",
    },
    "opencode": {"opencode.json": b'{ // mine\n  "model": "a/b"}', "plugins/mine.js": b"// mine\n"},
    "gemini": {
        "settings.json": b'{"ui":{"theme":"' + MARK + b'"},\n "hooks":{"SessionStart":'
        b'[{"hooks":[{"type":"command","command":"mine"}]}]},"mcpServers":{}}'
    },
    "qwen": {"settings.json": b'{\r\n\t"$version": 4\r\n}'},
    "copilot": {"mcp-config.json": b'{"mcpServers": {"mine": {"command": "x"}}}\n'},
    "cursor": {
        "mcp.json": b"{}",
        "hooks.json": b'{"version":1,"hooks":{"stop":[{"command":"mine"}],"sessionStart":[]}}',
    },
    "cline": {"data/settings/cline_mcp_settings.json": b"", "rules/mine.md": b"Use tabs.\n"},
}


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home with space"
    folder.mkdir()
    return folder


@pytest.fixture
def cli(home):
    return CommandLine(home, start=(str(SCRIPT),), variables={"PATH": "/usr/bin:/bin"})


def _all(folder):
    """Every file with its bytes and mode, and every folder."""
    return {
        path.relative_to(folder): (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
        if path.is_file()
        else None
        for path in folder.rglob("*")
        if ".local" not in path.parts
    }


def _fill(home, host):
    """The host is on this machine, with settings of its user."""
    for name, data in FILLED[host.name].items():
        path = home / host.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


@pytest.mark.parametrize("host", OTHERS, ids=lambda host: host.name)
@pytest.mark.parametrize("filled", [True, False])
def test_an_undo_leaves_every_byte_as_it_was_and_twice_changes_nothing(home, cli, host, filled):
    if filled:
        _fill(home, host)
    else:
        (home / host.folder).mkdir(parents=True)
    before = _all(home)
    looked = cli("init", "--host", host.name, "--dry-run")
    assert looked.code == 0, looked.err
    assert _all(home) == before

    first = cli("init", "--host", host.name, "--yes")
    assert first.code == 0, first.err
    installed = _all(home)
    for path in installed.keys() - before.keys():
        full = home / path
        if full.is_file() and "memory-mesh/" not in f"{path}":
            assert f"+++ {full}" in looked.out  # nothing is written that was not shown
    assert "Nothing to change" in cli("init", "--host", host.name, "--yes").out
    assert _all(home) == installed

    undone = cli("init", "--undo", "--host", host.name, "--yes")
    assert undone.code == 0, undone.err
    assert _all(home) == before
    assert "Nothing to undo" in cli("init", "--undo", "--host", host.name, "--yes").out


@pytest.mark.parametrize("host", OTHERS, ids=lambda host: host.name)
def test_what_a_user_changed_since_is_kept(home, cli, host):
    _fill(home, host)
    before = _all(home)
    cli("init", "--host", host.name, "--yes")
    for name in FILLED[host.name]:
        path = home / host.folder / name
        if path.suffix == ".json":
            held = json.loads(path.read_text()) if b"//" not in path.read_bytes() else None
            if held is not None:
                path.write_text(json.dumps({**held, "since": 1}))
        elif path.suffix == ".toml":
            path.write_bytes(path.read_bytes() + b'\n[projects."/w"]\ntrust_level = "trusted"\n')
        else:
            path.write_bytes(path.read_bytes() + b"\nSince.\n")
    undone = cli("init", "--undo", "--host", host.name, "--yes")
    assert undone.code == 0, undone.err
    for name, data in FILLED[host.name].items():
        path = home / host.folder / name
        now = path.read_bytes()
        if path.suffix == ".json" and b"//" not in data:
            kept = json.loads(now)
            assert kept.pop("since") == 1
            assert kept == (json.loads(data) if data else {})
        elif path.suffix == ".toml":
            assert now == data + b'\n[projects."/w"]\ntrust_level = "trusted"\n'
        elif path.suffix != ".json":
            assert now == data + b"\nSince.\n"
    assert not (home / host.folder / "memory-mesh").exists()
    assert _all(home).keys() == before.keys()


def test_a_line_behind_our_part_stays_a_line(home, cli):
    """Also where the user's own last line had no end."""
    path = home / ".codex/config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('model = "gpt-5"')
    assert cli("init", "--host", "codex", "--yes").code == 0
    path.write_text(path.read_text() + '[projects."/x"]\n')
    assert cli("init", "--undo", "--host", "codex", "--yes").code == 0
    assert path.read_text() == 'model = "gpt-5"\n[projects."/x"]\n'


def test_what_codex_puts_behind_our_part_stays(home, cli):
    """It writes down there which hooks its user trusts."""
    folder = home / ".codex"
    folder.mkdir()
    cli("init", "--host", "codex", "--yes")
    trusted = b'\n[hooks.state."x"]\ntrusted_hash = "sha256:1"\n'
    with (folder / "config.toml").open("ab") as file:
        file.write(trusted)
    assert cli("init", "--host", "codex", "--yes").code == 0  # nothing to change
    cli("init", "--undo", "--host", "codex", "--yes")
    assert (folder / "config.toml").read_bytes() == trusted


def test_each_host_calls_its_own_events_and_its_own_name(home, cli):
    for host in OTHERS:
        (home / host.folder).mkdir(parents=True)
    assert cli("init", "--all", "--yes").code == 0
    codex = tomllib.loads((home / ".codex/config.toml").read_text())
    assert codex["mcp_servers"]["memory-mesh"] == {
        "command": str(SERVER),
        "args": ["--host", "codex"],
    }
    for name, folder, file in (
        ("gemini", ".gemini", "settings.json"),
        ("qwen", ".qwen", "settings.json"),
        ("copilot", ".copilot", "hooks/memory-mesh.json"),
        ("cursor", ".cursor", "hooks.json"),
        ("codex", ".codex", ""),
    ):
        hooks = json.loads((home / folder / file).read_text())["hooks"] if file else codex["hooks"]
        assert set(hooks) == set(EVENTS[name]), name
        for event, entries in hooks.items():
            [entry] = entries
            call = entry["hooks"][0] if "hooks" in entry else entry
            line = call.get("command") or call["bash"]
            assert line.endswith(f"memory-mesh-hook --host {name} {event}")
    for file, top in (
        (".gemini/settings.json", "gemini"),
        (".qwen/settings.json", "qwen"),
        (".copilot/mcp-config.json", "copilot"),
        (".cursor/mcp.json", "cursor"),
        (".cline/data/settings/cline_mcp_settings.json", "cline"),
    ):
        server = json.loads((home / file).read_text())["mcpServers"]["memory-mesh"]
        assert (server["command"], server["args"]) == (str(SERVER), ["--host", top])
    plugin = (home / ".config/opencode/plugins/memory-mesh.js").read_text()
    assert f"const HOOK = {json.dumps(str(HOOK))}" in plugin
    assert f"const SERVER = {json.dumps(str(SERVER))}" in plugin


def test_all_takes_those_that_are_here_and_one_undo_leaves_the_others(home, cli):
    before = _all(home)
    for host in (OTHERS[0], OTHERS[2]):
        _fill(home, host)
    filled = _all(home)
    looked = cli("init", "--all", "--yes", "--json")
    assert looked.code == 0, looked.err
    assert [each["host"] for each in json.loads(looked.out)["hosts"]] == ["codex", "gemini"]
    gemini = (home / ".gemini/settings.json").read_bytes()
    cli("init", "--undo", "--host", "codex", "--yes")
    assert (home / ".gemini/settings.json").read_bytes() == gemini
    assert (home / ".codex/config.toml").read_bytes() == FILLED["codex"]["config.toml"]
    assert cli("init", "--undo", "--all", "--yes").code == 0
    assert _all(home) == filled != before
    assert "no host is set up" in cli("init", "--undo", "--all", "--yes").out


def test_settings_go_with_the_commands_and_a_second_init_takes_their_place(home, cli):
    for host in OTHERS:
        (home / host.folder).mkdir(parents=True)
    cli("init", "--all", "--yes")
    assert cli("--db-dir", str(home / "a store"), "init", "--all", "--yes").code == 0
    for host in OTHERS:
        texts = [
            path.read_text()
            for path in (home / host.folder).rglob("*")
            if path.is_file() and f"{os.sep}memory-mesh{os.sep}" not in str(path)
        ]
        assert "a store" in "".join(texts), host.name
        assert "".join(texts).count("const HOOK") <= 1
    hooks = json.loads((home / ".gemini/settings.json").read_text())["hooks"]
    assert all(len(entries) == 1 for entries in hooks.values())
    assert tomllib.loads((home / ".codex/config.toml").read_text())["mcp_servers"]
    cli("init", "--undo", "--all", "--yes")
    assert not any(path.is_file() for path in home.rglob("*") if ".local" not in path.parts)


@pytest.mark.parametrize(
    ("name", "file", "data"),
    [
        ("codex", ".codex/config.toml", b"not = toml = at all"),
        ("codex", ".codex/config.toml", b'[mcp_servers.memory-mesh]\ncommand = "mine"\n'),
        ("gemini", ".gemini/settings.json", b"{ // mine\n}"),
    ],
)
def test_a_file_that_cannot_be_changed_is_named_and_nothing_is_written(home, cli, name, file, data):
    path = home / file
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    before = _all(home)
    refused = cli("init", "--host", name, "--yes")
    assert refused.code != 0
    assert str(path) in refused.err
    assert _all(home) == before


def test_a_broken_file_of_one_host_does_not_keep_the_others_waiting(home, cli):
    for name in (".codex", ".cursor", ".gemini"):
        (home / name).mkdir()
    (home / ".gemini/settings.json").write_bytes(b"{ // mine\n}")
    done = cli("init", "--all", "--yes")
    assert done.code == 1
    assert "Gemini CLI: " in done.out
    assert (home / ".codex/config.toml").exists()
    assert (home / ".cursor/hooks.json").exists()
    assert (home / ".gemini/settings.json").read_bytes() == b"{ // mine\n}"


def test_a_host_that_is_not_here_and_words_that_do_not_go_together_are_refused(home, cli):
    missing = cli("init", "--host", "codex", "--yes")
    assert missing.code == 1
    assert "Codex was not found" in missing.out
    for words in (
        ("--host", "codex", "--here"),
        ("--host", "gemini", "--host-memory", "off"),
        ("--all", "--here"),
        ("--all", "--host", "codex"),
    ):
        assert cli("init", *words).code == 2
    nothing = cli("init", "--all", "--yes")
    assert nothing.code == 1
    assert "memory-mesh-mcp" in nothing.out  # what any host of MCP servers takes
    (home / ".codex").mkdir()
    assert "memory-mesh init --all" in cli("init", "--yes").out
